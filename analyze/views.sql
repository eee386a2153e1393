-- What lived at the address of a callback, and since when: where no begin was seen, since the end of who lived there before.
CREATE OR REPLACE VIEW callback_life AS
SELECT boot_id, pid, process_start, callback, coalesce(owner_handle, callback) AS owner, kind, symbol, topic_name, node_name, period,
       init_timestamp, end_timestamp,
       coalesce(init_timestamp, lag(end_timestamp) OVER (PARTITION BY boot_id, pid, process_start, callback ORDER BY end_timestamp NULLS LAST)) AS since
FROM callback_info;

-- Callback executions with what is known of their callback at the end of the recording.
CREATE OR REPLACE VIEW callback_execution AS
SELECT c.boot_id, c.pid, c.process_start, c.tid, c.callback, coalesce(l.owner, c.callback) AS owner, l.since AS owner_init_timestamp,
       coalesce(l.node_name, c.node_name) AS node_name,
       replace(coalesce(l.kind, c.kind), 'intra_process_', '') AS kind,
       coalesce(l.topic_name, c.topic_name) AS topic_name,
       coalesce(l.period, c.period) AS period,
       coalesce(l.symbol, c.symbol) AS symbol,
       c.status, c.callback_start_timestamp, c.callback_end_timestamp, c.callback_start_time, c.callback_end_time,
       c.callback_end_timestamp - c.callback_start_timestamp AS latency,
       c.cpu_time, c.preempted_time, c.blocked_time, c.wakeup_latency, c.preemptions, c.migrations,
       c.source_timestamp, c.publisher_gid, c.rmw_take_timestamp, c.buffer, c.dequeue_index, c.dequeue_timestamp
FROM callback c LEFT JOIN callback_life l
  ON c.boot_id = l.boot_id AND c.pid = l.pid AND c.process_start = l.process_start AND c.callback = l.callback
 AND coalesce(c.callback_start_timestamp, c.callback_end_timestamp) >= coalesce(l.since, -9223372036854775807)
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

-- caret-bpf latency callback --why. Times are means, in nanoseconds, of the executions whose parts are known.
CREATE OR REPLACE VIEW callback_why AS
SELECT boot_id, pid, process_start, any_value(node_name) AS node_name, any_value(kind) AS kind, any_value(topic_name) AS topic_name,
       any_value(period) AS period, any_value(symbol) AS symbol,
       count(cpu_time) AS count, count(*) - count(cpu_time) AS unknown,
       round(avg(latency) FILTER (cpu_time IS NOT NULL))::BIGINT AS mean, round(avg(cpu_time))::BIGINT AS cpu_time,
       round(avg(preempted_time))::BIGINT AS preempted_time, round(avg(blocked_time))::BIGINT AS blocked_time,
       round(avg(wakeup_latency))::BIGINT AS wakeup_latency,
       sum(preemptions)::BIGINT AS preemptions, sum(migrations)::BIGINT AS migrations,
       max(latency) FILTER (cpu_time IS NOT NULL) AS longest
FROM callback_execution
GROUP BY boot_id, pid, process_start, owner, owner_init_timestamp;

-- caret-bpf latency callback --off-cpu. Times are in nanoseconds.
CREATE OR REPLACE VIEW callback_off_cpu AS
SELECT s.boot_id, s.pid, s.process_start, any_value(l.node_name) AS node_name, any_value(replace(l.kind, 'intra_process_', '')) AS kind,
       any_value(l.topic_name) AS topic_name, any_value(l.period) AS period, any_value(l.symbol) AS symbol,
       s.kind AS off_cpu, s.other_command, count(*) AS count,
       sum(s.sched_in_timestamp - s.sched_out_timestamp)::BIGINT AS total,
       round(avg(s.sched_in_timestamp - s.sched_out_timestamp))::BIGINT AS mean,
       max(s.sched_in_timestamp - s.sched_out_timestamp) AS longest
FROM sched s LEFT JOIN callback_life l
  ON s.boot_id = l.boot_id AND s.pid = l.pid AND s.process_start = l.process_start AND s.callback = l.callback
 AND s.callback_start_timestamp >= coalesce(l.since, -9223372036854775807)
 AND s.callback_start_timestamp < coalesce(l.end_timestamp, 9223372036854775807)
WHERE s.callback_start_timestamp IS NOT NULL
GROUP BY s.boot_id, s.pid, s.process_start, coalesce(l.owner, s.callback), l.since, s.kind, s.other_command;

-- Subscriptions by what takes name them by, their rcl handles and their intra-process buffers, and when they lived, as in callback_life.
CREATE OR REPLACE VIEW subscription_life AS
WITH named AS (
  SELECT DISTINCT boot_id, pid, process_start, 'handle' AS kind, subscription_handle AS address, topic_name, node_name, init_timestamp, end_timestamp
  FROM subscription WHERE subscription_handle IS NOT NULL
  UNION ALL
  SELECT DISTINCT boot_id, pid, process_start, 'buffer', buffer, topic_name, node_name, init_timestamp, end_timestamp
  FROM subscription WHERE buffer IS NOT NULL
)
SELECT *, coalesce(init_timestamp, lag(end_timestamp) OVER (PARTITION BY boot_id, pid, process_start, kind, address ORDER BY end_timestamp NULLS LAST)) AS since
FROM named;

-- Takes with what is known of their subscription at the end of the recording, where it was not known yet.
CREATE OR REPLACE VIEW taken AS
SELECT t.* REPLACE (coalesce(t.topic_name, h.topic_name, b.topic_name) AS topic_name, coalesce(t.node_name, h.node_name, b.node_name) AS node_name)
FROM take t
LEFT JOIN subscription_life h
  ON t.topic_name IS NULL AND h.kind = 'handle' AND t.boot_id = h.boot_id AND t.pid = h.pid AND t.process_start = h.process_start
 AND t.subscription_handle = h.address
 AND coalesce(t.dequeue_timestamp, t.rmw_take_timestamp) >= coalesce(h.since, -9223372036854775807)
 AND coalesce(t.dequeue_timestamp, t.rmw_take_timestamp) < coalesce(h.end_timestamp, 9223372036854775807)
LEFT JOIN subscription_life b
  ON t.topic_name IS NULL AND b.kind = 'buffer' AND t.boot_id = b.boot_id AND t.pid = b.pid AND t.process_start = b.process_start
 AND t.buffer = b.address
 AND coalesce(t.dequeue_timestamp, t.rmw_take_timestamp) >= coalesce(b.since, -9223372036854775807)
 AND coalesce(t.dequeue_timestamp, t.rmw_take_timestamp) < coalesce(b.end_timestamp, 9223372036854775807)
QUALIFY row_number() OVER (PARTITION BY t.filename, t.file_row_number ORDER BY coalesce(h.since, b.since) DESC NULLS LAST) = 1;

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
    UNION ALL SELECT topic_name FROM taken WHERE kind NOT IN ('ignored', 'unattributed'))
  WHERE topic_name IS NOT NULL GROUP BY topic_name
)
SELECT topic_name, coalesce(publishes, 0) AS publishes,
       CASE WHEN timed > 1 AND last > first THEN (timed - 1) * 1e9 / (last - first) END AS rate,
       coalesce(received, 0) AS received
FROM published FULL JOIN received USING (topic_name);

-- Publishers, and when they lived, as in callback_life.
CREATE OR REPLACE VIEW publisher_life AS
SELECT boot_id, pid, process_start, publisher_handle, topic_name, node_name, gid, init_timestamp, end_timestamp,
       coalesce(init_timestamp, lag(end_timestamp) OVER (PARTITION BY boot_id, pid, process_start, publisher_handle ORDER BY end_timestamp NULLS LAST)) AS since
FROM publisher;

-- Publishes with what is known of their publisher at the end of the recording. publish_timestamp is the begin of a latency.
CREATE OR REPLACE VIEW published AS
SELECT p.* REPLACE (coalesce(l.topic_name, p.topic_name) AS topic_name, coalesce(l.node_name, p.node_name) AS node_name), l.gid,
       coalesce(least(p.rclcpp_intra_publish_timestamp, p.rclcpp_publish_timestamp), least(p.rcl_publish_timestamp, p.rmw_publish_timestamp)) AS publish_timestamp
FROM publish p LEFT JOIN publisher_life l
  ON p.boot_id = l.boot_id AND p.pid = l.pid AND p.process_start = l.process_start AND p.publisher_handle = l.publisher_handle
 AND coalesce(p.rclcpp_intra_publish_timestamp, p.rclcpp_publish_timestamp, p.rcl_publish_timestamp, p.rmw_publish_timestamp)
     >= coalesce(l.since, -9223372036854775807)
 AND coalesce(p.rclcpp_intra_publish_timestamp, p.rclcpp_publish_timestamp, p.rcl_publish_timestamp, p.rmw_publish_timestamp)
     < coalesce(l.end_timestamp, 9223372036854775807);

-- Messages that a callback got or that were polled, or taken for somebody who is not known. input_timestamp is the start of the callback, or the take;
-- callback and callback_start_timestamp are the callback that it started, or in which it was polled; null of what was taken for somebody unknown.
CREATE OR REPLACE VIEW received AS
SELECT boot_id, pid, process_start, tid, topic_name, node_name, false AS polled, callback, callback_start_timestamp, callback_end_timestamp,
       callback_start_timestamp AS input_timestamp, source_timestamp, publisher_gid, buffer, dequeue_index,
       CASE WHEN dequeue_timestamp IS NULL THEN rmw_take_timestamp ELSE dequeue_timestamp END AS take_timestamp
FROM callback_execution
WHERE callback_start_timestamp IS NOT NULL AND (source_timestamp IS NOT NULL OR dequeue_timestamp IS NOT NULL)
UNION ALL
SELECT boot_id, pid, process_start, tid, topic_name, node_name, true, CASE WHEN kind <> 'unattributed' THEN callback END,
       CASE WHEN kind <> 'unattributed' THEN callback_start_timestamp END, NULL,
       CASE WHEN dequeue_timestamp IS NULL THEN rmw_take_timestamp ELSE dequeue_timestamp END, source_timestamp, publisher_gid, buffer, dequeue_index,
       CASE WHEN dequeue_timestamp IS NULL THEN rmw_take_timestamp ELSE dequeue_timestamp END
FROM taken WHERE kind <> 'ignored';

-- Messages that were received, each with its publish: the received ones of caret-bpf latency communication --series. Through the middleware they are
-- joined by the publisher's gid and the source timestamp, or by topic and source timestamp where a gid is unknown (joined_by);
-- through an intra-process buffer by the slot: an enqueue belongs to the first dequeue of its slot before the next enqueue there, or before
-- one whose slot is unknown.
CREATE OR REPLACE VIEW communication AS
WITH slot AS (
  SELECT e.*, least(lead(e.enqueue_timestamp) OVER (PARTITION BY e.boot_id, e.pid, e.process_start, e.buffer, e."index" ORDER BY e.enqueue_timestamp),
                    u.enqueue_timestamp) AS next_enqueue_timestamp
  FROM enqueue e ASOF LEFT JOIN (SELECT boot_id, pid, process_start, buffer, enqueue_timestamp FROM enqueue WHERE "index" IS NULL) u
    ON e.boot_id = u.boot_id AND e.pid = u.pid AND e.process_start = u.process_start AND e.buffer = u.buffer
   AND e.enqueue_timestamp <= u.enqueue_timestamp
), passage AS (
  SELECT r.*, e.tid AS publisher_tid, e.publish_number, e.enqueue_timestamp
  FROM slot e JOIN received r
    ON r.boot_id = e.boot_id AND r.pid = e.pid AND r.process_start = e.process_start AND r.buffer = e.buffer AND r.dequeue_index = e."index"
   AND coalesce(r.take_timestamp, r.input_timestamp) >= e.enqueue_timestamp
   AND coalesce(r.take_timestamp, r.input_timestamp) < coalesce(e.next_enqueue_timestamp, 9223372036854775807)
  QUALIFY row_number() OVER (PARTITION BY e.filename, e.file_row_number ORDER BY coalesce(r.take_timestamp, r.input_timestamp)) = 1
)
SELECT p.topic_name, p.node_name AS publisher_node_name, p.pid AS publisher_pid,
       r.node_name AS subscription_node_name, r.pid AS subscription_pid, 'inter_process' AS transport,
       CASE WHEN r.publisher_gid IS NULL OR p.gid IS NULL THEN 'topic' ELSE 'gid' END AS joined_by,
       p.rclcpp_intra_publish_timestamp, p.rclcpp_publish_timestamp, p.rcl_publish_timestamp, p.rmw_publish_timestamp,
       p.dds_bind_addr_to_stamp_timestamp, p.source_timestamp, NULL::BIGINT AS rclcpp_ring_buffer_enqueue_timestamp,
       r.take_timestamp, CASE WHEN NOT r.polled THEN r.callback_start_timestamp END AS callback_start_timestamp,
       make_timestamp_ns(r.input_timestamp) AS input_time,
       r.input_timestamp - p.publish_timestamp AS latency,
       p.boot_id AS publisher_boot_id, p.process_start AS publisher_process_start, p.tid AS publisher_tid, p.publish_number,
       r.boot_id, r.process_start, r.tid, r.callback, r.input_timestamp
FROM published p JOIN received r
  ON p.topic_name = r.topic_name AND p.source_timestamp = r.source_timestamp AND r.dequeue_index IS NULL
 AND (r.publisher_gid IS NULL OR p.gid IS NULL OR p.gid = r.publisher_gid)
UNION ALL
SELECT p.topic_name, p.node_name AS publisher_node_name, p.pid AS publisher_pid,
       r.node_name AS subscription_node_name, r.pid AS subscription_pid, 'intra_process' AS transport,
       'buffer' AS joined_by,
       p.rclcpp_intra_publish_timestamp, p.rclcpp_publish_timestamp, p.rcl_publish_timestamp, p.rmw_publish_timestamp,
       p.dds_bind_addr_to_stamp_timestamp, p.source_timestamp, r.enqueue_timestamp AS rclcpp_ring_buffer_enqueue_timestamp,
       r.take_timestamp, CASE WHEN NOT r.polled THEN r.callback_start_timestamp END AS callback_start_timestamp,
       make_timestamp_ns(r.input_timestamp) AS input_time,
       r.input_timestamp - p.publish_timestamp AS latency,
       p.boot_id AS publisher_boot_id, p.process_start AS publisher_process_start, p.tid AS publisher_tid, p.publish_number,
       r.boot_id, r.process_start, r.tid, r.callback, r.input_timestamp
FROM passage r JOIN published p
  ON p.boot_id = r.boot_id AND p.pid = r.pid AND p.process_start = r.process_start AND p.tid = r.publisher_tid AND p.publish_number = r.publish_number;

-- caret-bpf latency communication, without what was lost or is open.
CREATE OR REPLACE VIEW communication_latency AS
SELECT topic_name, publisher_node_name, publisher_pid, subscription_node_name, subscription_pid, transport,
       count(*) AS count, min(latency) AS min, round(avg(latency))::BIGINT AS mean,
       quantile_disc(latency, 0.5) AS p50, quantile_disc(latency, 0.9) AS p90, quantile_disc(latency, 0.99) AS p99,
       quantile_disc(latency, 0.999) AS p99_9, max(latency) AS max, count(*) FILTER (WHERE joined_by = 'topic') AS joined_by_topic
FROM communication GROUP BY ALL;

-- Publishes of a node with the message that they were made of: the newest, by topic, that the callback in which they were recorded had got.
-- caret-bpf latency node --series, without inputs that led to no publish and without what an architecture file adds.
CREATE OR REPLACE VIEW node_hop AS
SELECT r.node_name, r.pid, r.topic_name AS subscription_topic_name, p.topic_name AS publisher_topic_name,
       r.input_timestamp AS callback_start_timestamp, r.callback_end_timestamp, p.callback_start_timestamp AS publish_callback_start_timestamp,
       p.publish_timestamp, make_timestamp_ns(p.publish_timestamp) AS publish_time, p.publish_timestamp - r.input_timestamp AS latency,
       p.boot_id, p.process_start, p.tid, p.callback, p.publish_number
FROM published p JOIN received r
  ON p.boot_id = r.boot_id AND p.pid = r.pid AND p.process_start = r.process_start AND p.callback = r.callback
 AND p.callback_start_timestamp = r.callback_start_timestamp AND p.tid = r.tid AND p.node_name = r.node_name AND r.input_timestamp <= p.publish_timestamp
WHERE p.topic_name IS NOT NULL AND r.topic_name IS NOT NULL
QUALIFY row_number() OVER (PARTITION BY p.filename, p.file_row_number, r.topic_name ORDER BY r.input_timestamp DESC) = 1;

-- caret-bpf latency node.
CREATE OR REPLACE VIEW node_latency AS
SELECT node_name, pid, subscription_topic_name, publisher_topic_name,
       count(*) AS count, min(latency) AS min, round(avg(latency))::BIGINT AS mean,
       quantile_disc(latency, 0.5) AS p50, quantile_disc(latency, 0.9) AS p90, quantile_disc(latency, 0.99) AS p99,
       quantile_disc(latency, 0.999) AS p99_9, max(latency) AS max
FROM node_hop GROUP BY ALL;

-- Calls of services and actions: caret-bpf latency service --series. Where a client's gid and sequence number come again, a new call
-- begins with each request sent; where several servers have taken a request, there is a call for each, and the answer that was sent first was taken first.
-- A step of a client that is not known stands alone.
CREATE OR REPLACE VIEW service_call AS
WITH step AS (
  SELECT *, coalesce(client_gid, CASE WHEN client_handle IS NULL THEN concat_ws('/', filename, file_row_number)
                               ELSE concat_ws('/', boot_id, pid, process_start, client_handle) END) AS client,
         CASE WHEN step IN ('request_taken', 'response_sent') THEN concat_ws('/', boot_id, pid, process_start, service_handle) END AS server
  FROM service
), turned AS (
  SELECT *, struct_pack(service := coalesce(service_name, ''), client := client, sequence_number := sequence_number, turn := count(*) FILTER (WHERE step = 'request_sent')
                        OVER (PARTITION BY service_name, client, sequence_number ORDER BY step_timestamp)) AS request
  FROM step
), numbered AS (
  SELECT *, row_number() OVER (PARTITION BY request, server, step ORDER BY step_timestamp) AS occurrence FROM turned
), served AS (
  SELECT request, occurrence, any_value(service_name) AS service_name, any_value(client_gid) AS client_gid, any_value(node_name) AS node_name, any_value(pid) AS pid,
         min(step_timestamp) FILTER (WHERE step = 'request_taken') AS request_taken_timestamp,
         min(step_timestamp) FILTER (WHERE step = 'response_sent') AS response_sent_timestamp,
         row_number() OVER (PARTITION BY request ORDER BY min(step_timestamp) FILTER (WHERE step = 'response_sent') NULLS LAST, min(step_timestamp)) AS answer
  FROM numbered WHERE server IS NOT NULL GROUP BY request, server, occurrence
), begun AS (
  SELECT coalesce(v.request, s.request) AS request, coalesce(s.service_name, v.service_name) AS service_name, coalesce(s.client_gid, v.client_gid) AS client_gid,
         s.node_name AS client_node_name, s.pid AS client_pid, v.node_name AS server_node_name, v.pid AS server_pid,
         s.step_timestamp AS request_sent_timestamp, v.request_taken_timestamp, v.response_sent_timestamp,
         coalesce(v.answer, 1) AS answer
  FROM served v FULL JOIN (FROM numbered WHERE step = 'request_sent') s ON s.request = v.request
), call AS (
  SELECT coalesce(b.service_name, t.service_name) AS service_name, coalesce(b.client_node_name, t.node_name) AS client_node_name,
         coalesce(b.client_pid, t.pid) AS client_pid, b.server_node_name, b.server_pid,
         coalesce(b.client_gid, t.client_gid) AS client_gid, coalesce(b.request, t.request).sequence_number AS sequence_number,
         b.request_sent_timestamp, b.request_taken_timestamp, b.response_sent_timestamp, t.step_timestamp AS response_taken_timestamp
  FROM begun b FULL JOIN (FROM numbered WHERE step = 'response_taken') t ON t.request = b.request AND t.occurrence = b.answer
)
SELECT *, make_timestamp_ns(coalesce(request_sent_timestamp, request_taken_timestamp)) AS begin_time,
       response_taken_timestamp - request_sent_timestamp AS latency
FROM call;

-- Callbacks that ran in no other one, numbered on their thread, with what tells of the time before: how long others ran, and how many of those have
-- unknown parts, or no end. One without an end takes no time here.
CREATE OR REPLACE VIEW outermost_callback AS
WITH begun AS (
  SELECT boot_id, pid, process_start, tid, callback, callback_start_timestamp, coalesce(callback_end_timestamp, callback_start_timestamp) AS until,
         callback_end_timestamp IS NULL AS is_open, callback_end_timestamp IS NOT NULL AND cpu_time IS NOT NULL AS is_known
  FROM callback WHERE depth = 0 AND callback_start_timestamp IS NOT NULL
)
SELECT *, row_number() OVER thread AS number,
       (sum(until - callback_start_timestamp) OVER thread)::BIGINT - (until - callback_start_timestamp) AS ran_before,
       (sum((NOT is_known)::INT) OVER thread)::BIGINT - (NOT is_known)::INT AS unknown_before,
       (sum(is_open::INT) OVER thread)::BIGINT - is_open::INT AS open_before
FROM begun
WINDOW thread AS (PARTITION BY boot_id, pid, process_start, tid ORDER BY callback_start_timestamp, until ROWS UNBOUNDED PRECEDING);

-- Times off the CPU in their parts: preempted up to preempted_until, blocked up to blocked_until, awake from awake_from on. is_outside: in no callback.
-- One that no callback is named for is in one if it lies in it: that was nested too deep.
CREATE OR REPLACE VIEW off_cpu AS
SELECT s.boot_id, s.pid, s.process_start, s.tid, s.sched_out_timestamp AS off, s.sched_in_timestamp AS until,
       CASE WHEN s.kind = 'preempted' THEN s.sched_in_timestamp ELSE s.sched_out_timestamp END AS preempted_until,
       CASE WHEN s.kind = 'preempted' OR s.waking_timestamp IS NULL THEN s.sched_out_timestamp
            ELSE least(greatest(s.waking_timestamp, s.sched_out_timestamp), s.sched_in_timestamp) END AS blocked_until,
       CASE WHEN s.kind = 'preempted' OR s.waking_timestamp IS NULL THEN s.sched_in_timestamp
            ELSE least(greatest(s.waking_timestamp, s.sched_out_timestamp), s.sched_in_timestamp) END AS awake_from,
       s.kind <> 'preempted' AND s.waking_timestamp IS NULL AS is_unknown,
       s.callback_start_timestamp IS NULL AND coalesce(s.sched_in_timestamp > c.until, true) AS is_outside
FROM sched s ASOF LEFT JOIN outermost_callback c
  ON s.boot_id = c.boot_id AND s.pid = c.pid AND s.process_start = c.process_start AND s.tid = c.tid AND s.sched_out_timestamp >= c.callback_start_timestamp;

-- Times in which records of times off the CPU may be missing, each with the last instant of those until then.
CREATE OR REPLACE VIEW off_cpu_lost AS
SELECT from_timestamp, max(to_timestamp) OVER (ORDER BY from_timestamp) AS until FROM loss WHERE kind = 'sched' AND reason <> 'missed';

-- Executions of timers and subscriptions, with the time before each since delay_timestamp, when its timer was due or its message was published, and the
-- parts of that time: caret-bpf latency callback --before --series. Where it is not known, the parts are null. behind_… is the callback
-- that ran longest meanwhile.
CREATE OR REPLACE VIEW delayed_execution AS
WITH execution AS (
  SELECT c.boot_id, c.pid, c.process_start, c.tid, c.callback, c.callback_start_timestamp, c.depth, c.cpu_time, l.owner, l.since AS owner_init_timestamp,
         l.node_name, replace(l.kind, 'intra_process_', '') AS kind, l.topic_name, l.period, l.symbol, t.init_timestamp AS origin
  FROM callback c
  JOIN callback_life l
    ON c.boot_id = l.boot_id AND c.pid = l.pid AND c.process_start = l.process_start AND c.callback = l.callback
   AND c.callback_start_timestamp >= coalesce(l.since, -9223372036854775807) AND c.callback_start_timestamp < coalesce(l.end_timestamp, 9223372036854775807)
  LEFT JOIN (SELECT DISTINCT boot_id, pid, process_start, callback, init_timestamp FROM timer) t
    ON l.boot_id = t.boot_id AND l.pid = t.pid AND l.process_start = t.process_start AND l.callback = t.callback AND l.init_timestamp = t.init_timestamp
  WHERE l.kind IN ('timer', 'subscription', 'intra_process_subscription')
), first_start AS (
  SELECT *, min(callback_start_timestamp) OVER (PARTITION BY boot_id, pid, process_start, owner, owner_init_timestamp) AS first
  FROM execution WHERE kind = 'timer' AND period > 0
), late AS ( -- after the last point of the timer's grid
  SELECT *, CASE WHEN origin IS NULL THEN (callback_start_timestamp - first + period // 2) % period - period // 2
                 ELSE (callback_start_timestamp - origin + least(1000, period // 2)) % period - least(1000, period // 2) END AS late
  FROM first_start
), due AS (
  SELECT boot_id, pid, process_start, tid, callback, callback_start_timestamp,
         callback_start_timestamp - greatest(0, late - CASE WHEN origin IS NULL THEN min(late) OVER timer ELSE 0 END) AS delay_timestamp
  FROM late
  WINDOW timer AS (PARTITION BY boot_id, pid, process_start, owner, owner_init_timestamp)
  QUALIFY origin IS NOT NULL OR max(late) OVER timer - min(late) OVER timer < period // 2
), begin AS (
  FROM due
  UNION ALL
  SELECT boot_id, subscription_pid, process_start, tid, callback, callback_start_timestamp, max(input_timestamp - latency)
  FROM communication WHERE callback_start_timestamp IS NOT NULL AND latency >= 0
  GROUP BY boot_id, subscription_pid, process_start, tid, callback, callback_start_timestamp
), thread AS ( -- what a thread did: since when it is known, until the callback
  SELECT o.*, b.delay_timestamp,
         min(CASE WHEN o.is_known THEN o.until END)
           OVER (PARTITION BY o.boot_id, o.pid, o.process_start, o.tid, o.open_before ORDER BY o.number ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS known_since
  FROM outermost_callback o LEFT JOIN begin b USING (boot_id, pid, process_start, tid, callback, callback_start_timestamp)
), ran AS ( -- the callbacks in the time before: the first one may have begun earlier
  SELECT t.*, f.number AS first_number, CASE WHEN f.number < t.number THEN greatest(0, f.until - t.delay_timestamp) ELSE 0 END AS first_ran,
         t.ran_before - f.ran_before - least(t.delay_timestamp, f.until) + f.callback_start_timestamp AS other_callbacks,
         t.unknown_before - f.unknown_before - (NOT f.is_known AND f.until <= t.delay_timestamp)::INT AS unknown_callbacks
  FROM thread t ASOF LEFT JOIN outermost_callback f
    ON t.boot_id = f.boot_id AND t.pid = f.pid AND t.process_start = f.process_start AND t.tid = f.tid AND t.delay_timestamp >= f.callback_start_timestamp
), longest AS (
  SELECT *, max(struct_pack(ran := until - callback_start_timestamp, number := number))
              OVER (PARTITION BY boot_id, pid, process_start, tid ORDER BY number
                    ROWS BETWEEN greatest(0, coalesce(number - first_number - 1, 0)) PRECEDING AND 1 PRECEDING) AS longest
  FROM ran
), outside AS MATERIALIZED (
  SELECT *, (sum(preempted_until - off) OVER thread)::BIGINT - (preempted_until - off) AS preempted_before,
         (sum(blocked_until - off) OVER thread)::BIGINT - (blocked_until - off) AS blocked_before,
         (sum(until - awake_from) OVER thread)::BIGINT - (until - awake_from) AS wakeup_before, (sum(is_unknown::INT) OVER thread)::BIGINT - is_unknown::INT AS unknown_before
  FROM off_cpu WHERE is_outside
  WINDOW thread AS (PARTITION BY boot_id, pid, process_start, tid ORDER BY off, until ROWS UNBOUNDED PRECEDING)
), part AS (
  SELECT l.*, l.callback_start_timestamp - l.delay_timestamp AS latency,
         CASE WHEN l.longest.ran > 0 AND l.longest.ran >= l.first_ran THEN l.longest.number WHEN l.first_ran > 0 THEN l.first_number END AS behind_number,
         CASE WHEN greatest(l.longest.ran, l.first_ran) > 0 THEN greatest(l.longest.ran, l.first_ran) END AS behind_time,
         coalesce(b.preempted_before + least(b.preempted_until, l.callback_start_timestamp) - b.off, 0)
         - coalesce(a.preempted_before + least(a.preempted_until, l.delay_timestamp) - a.off, 0) AS preempted_time,
         coalesce(b.blocked_before + least(b.blocked_until, l.callback_start_timestamp) - b.off, 0)
         - coalesce(a.blocked_before + least(a.blocked_until, l.delay_timestamp) - a.off, 0) AS blocked_time,
         coalesce(b.wakeup_before + greatest(0, least(b.until, l.callback_start_timestamp) - b.awake_from), 0)
         - coalesce(a.wakeup_before + greatest(0, least(a.until, l.delay_timestamp) - a.awake_from), 0) AS wakeup_latency,
         coalesce(b.unknown_before + b.is_unknown::INT, 0)
         - coalesce(a.unknown_before + (a.is_unknown AND a.until <= l.delay_timestamp)::INT, 0) AS unknown_times
  FROM longest l
  ASOF LEFT JOIN outside a
    ON l.boot_id = a.boot_id AND l.pid = a.pid AND l.process_start = a.process_start AND l.tid = a.tid AND l.delay_timestamp >= a.off
  ASOF LEFT JOIN outside b
    ON l.boot_id = b.boot_id AND l.pid = b.pid AND l.process_start = b.process_start AND l.tid = b.tid AND l.callback_start_timestamp > b.off
), known AS (
  SELECT p.*, p.latency - p.other_callbacks - p.preempted_time - p.blocked_time - p.wakeup_latency AS executor
  FROM part p ASOF LEFT JOIN off_cpu_lost l ON p.callback_start_timestamp >= l.from_timestamp
  WHERE p.is_known AND p.latency >= 0 AND p.delay_timestamp >= p.known_since AND p.unknown_callbacks <= 0 AND p.unknown_times <= 0
    AND coalesce(l.until < p.delay_timestamp, true)
)
SELECT e.* EXCLUDE (depth, cpu_time, origin), make_timestamp_ns(e.callback_start_timestamp) AS callback_start_time,
       CASE WHEN e.kind = 'timer' THEN 'due' ELSE 'publish' END AS since, k.delay_timestamp, k.latency,
       k.other_callbacks, k.executor, k.preempted_time, k.blocked_time, k.wakeup_latency, k.behind_time,
       x.callback AS behind_callback, x.node_name AS behind_node_name, x.kind AS behind_kind, x.topic_name AS behind_topic_name, x.symbol AS behind_symbol
FROM execution e
LEFT JOIN (FROM known WHERE executor >= 0) k USING (boot_id, pid, process_start, tid, callback, callback_start_timestamp)
LEFT JOIN outermost_callback o
  ON k.boot_id = o.boot_id AND k.pid = o.pid AND k.process_start = o.process_start AND k.tid = o.tid AND k.behind_number = o.number
LEFT JOIN callback_execution x
  ON o.boot_id = x.boot_id AND o.pid = x.pid AND o.process_start = x.process_start AND o.tid = x.tid AND o.callback = x.callback
 AND o.callback_start_timestamp = x.callback_start_timestamp;

-- caret-bpf latency callback --before. Times are means, in nanoseconds, of the executions before which the parts are known.
CREATE OR REPLACE VIEW callback_delay AS
SELECT boot_id, pid, process_start, any_value(node_name) AS node_name, any_value(kind) AS kind, any_value(topic_name) AS topic_name,
       any_value(period) AS period, any_value(symbol) AS symbol, any_value(since) AS since,
       count(latency) AS count, count(*) - count(latency) AS unknown, round(avg(latency))::BIGINT AS mean,
       round(avg(other_callbacks))::BIGINT AS other_callbacks, round(avg(executor))::BIGINT AS executor,
       round(avg(preempted_time))::BIGINT AS preempted_time, round(avg(blocked_time))::BIGINT AS blocked_time,
       round(avg(wakeup_latency))::BIGINT AS wakeup_latency, max(latency) AS longest,
       arg_max(behind, latency).node_name AS longest_behind_node_name, arg_max(behind, latency).topic_name AS longest_behind_topic_name,
       arg_max(behind, latency).symbol AS longest_behind_symbol, arg_max(behind, latency).ran AS longest_behind_time
FROM (SELECT *, struct_pack(node_name := behind_node_name, topic_name := behind_topic_name, symbol := behind_symbol, ran := behind_time) AS behind
      FROM delayed_execution)
GROUP BY boot_id, pid, process_start, owner, owner_init_timestamp;

-- Publishes of a node, as in node_hop, with the parts of the time since the callback started: caret-bpf latency path --why, of hops in nodes. Where it
-- is not known, and of a message that the callback had polled, the parts are null.
CREATE OR REPLACE VIEW node_hop_parts AS
WITH before AS MATERIALIZED (
  SELECT *, (sum(preempted_until - off) OVER thread)::BIGINT - (preempted_until - off) AS preempted_before,
         (sum(blocked_until - off) OVER thread)::BIGINT - (blocked_until - off) AS blocked_before,
         (sum(until - awake_from) OVER thread)::BIGINT - (until - awake_from) AS wakeup_before, (sum(is_unknown::INT) OVER thread)::BIGINT - is_unknown::INT AS unknown_before
  FROM off_cpu
  WINDOW thread AS (PARTITION BY boot_id, pid, process_start, tid ORDER BY off, until ROWS UNBOUNDED PRECEDING)
), part AS (
  SELECT h.boot_id, h.pid, h.process_start, h.tid, h.publish_number, h.subscription_topic_name, h.latency,
         coalesce(b.preempted_before + least(b.preempted_until, h.publish_timestamp) - b.off, 0)
         - coalesce(a.preempted_before + least(a.preempted_until, h.callback_start_timestamp) - a.off, 0) AS preempted_time,
         coalesce(b.blocked_before + least(b.blocked_until, h.publish_timestamp) - b.off, 0)
         - coalesce(a.blocked_before + least(a.blocked_until, h.callback_start_timestamp) - a.off, 0) AS blocked_time,
         coalesce(b.wakeup_before + greatest(0, least(b.until, h.publish_timestamp) - b.awake_from), 0)
         - coalesce(a.wakeup_before + greatest(0, least(a.until, h.callback_start_timestamp) - a.awake_from), 0) AS wakeup_latency,
         coalesce(b.unknown_before + b.is_unknown::INT, 0)
         - coalesce(a.unknown_before + (a.is_unknown AND a.until <= h.callback_start_timestamp)::INT, 0) AS unknown_times
  FROM node_hop h
  ASOF JOIN outermost_callback c
    ON h.boot_id = c.boot_id AND h.pid = c.pid AND h.process_start = c.process_start AND h.tid = c.tid AND h.publish_timestamp >= c.callback_start_timestamp
  ASOF LEFT JOIN before a
    ON h.boot_id = a.boot_id AND h.pid = a.pid AND h.process_start = a.process_start AND h.tid = a.tid AND h.callback_start_timestamp >= a.off
  ASOF LEFT JOIN before b
    ON h.boot_id = b.boot_id AND h.pid = b.pid AND h.process_start = b.process_start AND h.tid = b.tid AND h.publish_timestamp > b.off
  ASOF LEFT JOIN off_cpu_lost l ON h.publish_timestamp >= l.from_timestamp
  WHERE h.callback_start_timestamp = h.publish_callback_start_timestamp AND c.is_known AND h.publish_timestamp <= c.until
    AND h.callback_start_timestamp >= c.callback_start_timestamp AND coalesce(l.until < h.callback_start_timestamp, true)
)
SELECT h.*, p.latency - p.preempted_time - p.blocked_time - p.wakeup_latency AS cpu_time, p.preempted_time, p.blocked_time, p.wakeup_latency
FROM node_hop h
LEFT JOIN (FROM part WHERE unknown_times <= 0 AND preempted_time + blocked_time + wakeup_latency <= latency) p
USING (boot_id, pid, process_start, tid, publish_number, subscription_topic_name);
