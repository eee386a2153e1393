-- What lived at the address of a callback: the last row of each life. A life is told apart by its begin.
CREATE OR REPLACE VIEW callback_life AS
SELECT boot_id, pid, process_start, callback, coalesce(owner_handle, callback) AS owner, kind, symbol, topic_name, node_name, period,
       init_timestamp, end_timestamp
FROM callback_info
QUALIFY row_number() OVER (PARTITION BY boot_id, pid, process_start, callback, init_timestamp ORDER BY filename DESC, file_row_number DESC) = 1;

-- Callback executions with what is known of their callback at the end of the recording.
CREATE OR REPLACE VIEW callback_execution AS
SELECT c.boot_id, c.pid, c.process_start, c.tid, c.callback, coalesce(l.owner, c.callback) AS owner, l.init_timestamp AS owner_init_timestamp,
       coalesce(l.node_name, c.node_name) AS node_name,
       replace(coalesce(l.kind, c.kind), 'intra_process_', '') AS kind,
       coalesce(l.topic_name, c.topic_name) AS topic_name,
       coalesce(l.period, c.period) AS period,
       coalesce(l.symbol, c.symbol) AS symbol,
       c.status, c.callback_start_timestamp, c.callback_end_timestamp, c.callback_start_time, c.callback_end_time,
       c.callback_end_timestamp - c.callback_start_timestamp AS latency
FROM callback c LEFT JOIN callback_life l
  ON c.boot_id = l.boot_id AND c.pid = l.pid AND c.process_start = l.process_start AND c.callback = l.callback
 AND coalesce(c.callback_start_timestamp, c.callback_end_timestamp) >= coalesce(l.init_timestamp, -9223372036854775807)
 AND coalesce(c.callback_start_timestamp, c.callback_end_timestamp) < coalesce(l.end_timestamp, 9223372036854775807);

-- caret-bpf latency callback; caret-bpf info --part callbacks. Durations are in nanoseconds.
CREATE OR REPLACE VIEW callback_latency AS
SELECT boot_id, pid, process_start, any_value(node_name) AS node_name, any_value(kind) AS kind, any_value(topic_name) AS topic_name,
       any_value(period) AS period, any_value(symbol) AS symbol,
       count(*) AS executions, count(latency) AS count,
       CASE WHEN count(callback_start_timestamp) > 1 AND max(callback_start_timestamp) > min(callback_start_timestamp)
            THEN (count(callback_start_timestamp) - 1) * 1e9 / (max(callback_start_timestamp) - min(callback_start_timestamp)) END AS rate,
       sum(latency)::BIGINT AS total_time, min(latency) AS min, round(avg(latency))::BIGINT AS mean,
       quantile_disc(latency, 0.5) AS p50, quantile_disc(latency, 0.9) AS p90, quantile_disc(latency, 0.99) AS p99,
       quantile_disc(latency, 0.999) AS p99_9, max(latency) AS max
FROM callback_execution
GROUP BY boot_id, pid, process_start, owner, owner_init_timestamp;

-- caret-bpf info --part topics.
CREATE OR REPLACE VIEW topic_summary AS
WITH published AS (
  SELECT topic_name, count(*) AS publishes, count(published_at) AS timed, min(published_at) AS first, max(published_at) AS last
  FROM (SELECT topic_name,
               coalesce(rclcpp_intra_publish_timestamp, rclcpp_publish_timestamp, rcl_publish_timestamp, rmw_publish_timestamp) AS published_at
        FROM publish)
  GROUP BY topic_name
), received AS (
  SELECT topic_name, count(*) AS received FROM (
    SELECT topic_name FROM callback_execution WHERE kind = 'subscription' AND callback_start_timestamp IS NOT NULL
    UNION ALL SELECT topic_name FROM take)
  WHERE topic_name IS NOT NULL GROUP BY topic_name
)
SELECT topic_name, coalesce(publishes, 0) AS publishes,
       CASE WHEN timed > 1 AND last > first THEN (timed - 1) * 1e9 / (last - first) END AS rate,
       coalesce(received, 0) AS received
FROM published FULL JOIN received USING (topic_name);

-- The messages between processes that a callback received, each with its publish: caret-bpf latency communication --series without
-- those that were lost, polled, or went through a buffer. joined_by says whether the publisher was known by its gid.
CREATE OR REPLACE VIEW communication AS
WITH known AS (
  SELECT DISTINCT boot_id, pid, process_start, publisher_handle, gid FROM publisher WHERE gid IS NOT NULL
), sent AS (
  SELECT p.*, known.gid FROM publish p LEFT JOIN known USING (boot_id, pid, process_start, publisher_handle)
)
SELECT c.topic_name, p.node_name AS publisher_node_name, p.pid AS publisher_pid, c.node_name AS subscription_node_name, c.pid AS subscription_pid,
       CASE WHEN c.publisher_gid IS NULL OR p.gid IS NULL THEN 'topic' ELSE 'gid' END AS joined_by,
       p.rclcpp_publish_timestamp, p.rcl_publish_timestamp, p.rmw_publish_timestamp, p.source_timestamp,
       c.rmw_take_timestamp, c.callback_start_timestamp, c.callback_start_time,
       c.callback_start_timestamp - coalesce(p.rclcpp_publish_timestamp, p.rcl_publish_timestamp, p.rmw_publish_timestamp) AS latency
FROM callback c JOIN sent p
  ON c.topic_name = p.topic_name AND c.source_timestamp = p.source_timestamp
 AND (c.publisher_gid IS NULL OR p.gid IS NULL OR c.publisher_gid = p.gid)
WHERE c.callback_start_timestamp IS NOT NULL;
