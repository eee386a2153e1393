-- What lived at the address of a callback, and since when: where no begin was seen, since the end of who lived there before.
{{create "callback_life"}}
SELECT boot_id, pid, process_start, callback, coalesce(owner_handle, callback) AS owner, kind, symbol, topic_name, node_name, period,
       init_timestamp, end_timestamp,
       coalesce(init_timestamp, lag(end_timestamp) OVER (PARTITION BY boot_id, pid, process_start, callback ORDER BY end_timestamp NULLS LAST)) AS since
FROM callback_info{{done}}

-- Callback executions with what is known of their callback at the end of the recording.
{{create "callback_execution"}}
SELECT {{of "c" "boot_id pid process_start tid callback"}}, coalesce(l.owner, c.callback) AS owner, l.since AS owner_init_timestamp,
       coalesce(l.node_name, c.node_name) AS node_name,
       replace(coalesce(l.kind, c.kind), 'intra_process_', '') AS kind,
       coalesce(l.topic_name, c.topic_name) AS topic_name,
       coalesce(l.period, c.period) AS period,
       coalesce(l.symbol, c.symbol) AS symbol,
       {{of "c" "status callback_start_timestamp callback_end_timestamp callback_start_time callback_end_time"}},
       c.callback_end_timestamp - c.callback_start_timestamp AS latency,
       {{of "c" "cpu_time preempted_time blocked_time wakeup_latency preemptions migrations"}},
       {{of "c" "source_timestamp publisher_gid rmw_take_timestamp buffer dequeue_index dequeue_timestamp"}}
FROM callback c LEFT JOIN callback_life l
  ON c.boot_id = l.boot_id AND c.pid = l.pid AND c.process_start = l.process_start AND c.callback = l.callback
 AND coalesce(c.callback_start_timestamp, c.callback_end_timestamp) >= coalesce(l.since, -9223372036854775807)
 AND coalesce(c.callback_start_timestamp, c.callback_end_timestamp) < coalesce(l.end_timestamp, 9223372036854775807){{done}}

-- caret-bpf latency callback; caret-bpf info --part callbacks. Durations are in nanoseconds.
{{create "callback_latency"}}
SELECT boot_id, pid, process_start, {{some "node_name"}} AS node_name, {{some "kind"}} AS kind, {{some "topic_name"}} AS topic_name,
       {{some "period"}} AS period, {{some "symbol"}} AS symbol,
       count(*) AS executions, count(latency) AS count,
       CASE WHEN count(callback_start_timestamp) > 1 AND max(callback_start_timestamp) > min(callback_start_timestamp)
            THEN (count(callback_start_timestamp) - 1) * 1e9 / (max(callback_start_timestamp) - min(callback_start_timestamp)) END AS rate,
       {{bigint "sum(latency)"}} AS total_time, min(latency) AS min, {{mean "latency"}} AS mean,
       {{percentile "latency" "0.5"}} AS p50, {{percentile "latency" "0.9"}} AS p90, {{percentile "latency" "0.99"}} AS p99,
       {{percentile "latency" "0.999"}} AS p99_9, max(latency) AS max
FROM callback_execution
GROUP BY boot_id, pid, process_start, owner, owner_init_timestamp{{done}}

-- caret-bpf latency callback --why. Times are means, in nanoseconds, of the executions whose parts are known.
{{create "callback_why"}}
SELECT boot_id, pid, process_start, {{some "node_name"}} AS node_name, {{some "kind"}} AS kind, {{some "topic_name"}} AS topic_name,
       {{some "period"}} AS period, {{some "symbol"}} AS symbol,
       count(cpu_time) AS count, count(*) - count(cpu_time) AS unknown,
       {{mean "CASE WHEN cpu_time IS NOT NULL THEN latency END"}} AS mean, {{mean "cpu_time"}} AS cpu_time,
       {{mean "preempted_time"}} AS preempted_time, {{mean "blocked_time"}} AS blocked_time,
       {{mean "wakeup_latency"}} AS wakeup_latency,
       {{bigint "sum(preemptions)"}} AS preemptions, {{bigint "sum(migrations)"}} AS migrations,
       max(latency) FILTER (WHERE cpu_time IS NOT NULL) AS longest
FROM callback_execution
GROUP BY boot_id, pid, process_start, owner, owner_init_timestamp{{done}}

-- caret-bpf period, of callbacks, without how late timers were.
{{create "period"}}
WITH started AS (
  SELECT boot_id, pid, process_start, owner, owner_init_timestamp, node_name, kind, topic_name, period AS timer_period, symbol, callback_start_timestamp,
         callback_start_timestamp - lag(callback_start_timestamp) OVER (PARTITION BY boot_id, pid, process_start, owner, owner_init_timestamp ORDER BY callback_start_timestamp) AS since
  FROM callback_execution WHERE callback_start_timestamp IS NOT NULL
)
SELECT boot_id, pid, process_start, {{some "node_name"}} AS node_name, {{some "kind"}} AS kind, {{some "topic_name"}} AS topic_name,
       {{some "timer_period"}} AS period, {{some "symbol"}} AS symbol, count(since) AS count, min(since) AS min, {{mean "since"}} AS mean,
       {{percentile "since" "0.5"}} AS p50, {{percentile "since" "0.9"}} AS p90, {{percentile "since" "0.99"}} AS p99,
       {{percentile "since" "0.999"}} AS p99_9, max(since) AS max
FROM started
GROUP BY boot_id, pid, process_start, owner, owner_init_timestamp{{done}}

-- caret-bpf frequency, of callbacks: how often they started in each second since their first start, without the last second, which is not whole.
{{create "frequency"}}
WITH started AS (
  SELECT boot_id, pid, process_start, owner, owner_init_timestamp, node_name, kind, topic_name, period, symbol, callback_start_timestamp,
         min(callback_start_timestamp) OVER (PARTITION BY boot_id, pid, process_start, owner, owner_init_timestamp) AS base
  FROM callback_execution WHERE callback_start_timestamp IS NOT NULL
), each_second AS (
  SELECT boot_id, pid, process_start, owner, owner_init_timestamp, {{some "node_name"}} AS node_name, {{some "kind"}} AS kind, {{some "topic_name"}} AS topic_name,
         {{some "period"}} AS period, {{some "symbol"}} AS symbol, {{div "(callback_start_timestamp - base)" "1000000000"}} AS number, count(*) AS starts
  FROM started
  GROUP BY boot_id, pid, process_start, owner, owner_init_timestamp, {{div "(callback_start_timestamp - base)" "1000000000"}}
), numbered AS (
  SELECT each_second.*, max(number) OVER (PARTITION BY boot_id, pid, process_start, owner, owner_init_timestamp) AS last_number FROM each_second
)
SELECT boot_id, pid, process_start, {{some "node_name"}} AS node_name, {{some "kind"}} AS kind, {{some "topic_name"}} AS topic_name,
       {{some "period"}} AS period, {{some "symbol"}} AS symbol, {{bigint "sum(starts)"}} AS count, max(last_number) + 1 AS intervals,
       CASE WHEN max(last_number) > count(CASE WHEN number < last_number THEN 1 END) THEN 0 ELSE min(CASE WHEN number < last_number OR last_number = 0 THEN starts END) END AS min,
       sum(CASE WHEN number < last_number OR last_number = 0 THEN starts ELSE 0 END) * 1e0 / max(CASE WHEN last_number = 0 THEN 1 ELSE last_number END) AS mean,
       max(CASE WHEN number < last_number OR last_number = 0 THEN starts END) AS max
FROM numbered
GROUP BY boot_id, pid, process_start, owner, owner_init_timestamp{{done}}

-- What the recording lacks. lost is how many records or messages, as kind and reason say, of those of which that is known.
{{create "loss_summary"}}
SELECT kind, reason, count(*) AS times, {{bigint "sum(count)"}} AS lost, min(from_timestamp) AS from_timestamp, max(to_timestamp) AS to_timestamp
FROM loss
GROUP BY kind, reason{{done}}

-- caret-bpf latency callback --off-cpu. Times are in nanoseconds.
{{create "callback_off_cpu"}}
SELECT {{of "s" "boot_id pid process_start"}}, {{some "l.node_name"}} AS node_name, {{some "replace(l.kind, 'intra_process_', '')"}} AS kind,
       {{some "l.topic_name"}} AS topic_name, {{some "l.period"}} AS period, {{some "l.symbol"}} AS symbol,
       s.kind AS off_cpu, {{of "s" "other_command"}}, count(*) AS count,
       {{bigint "sum(s.sched_in_timestamp - s.sched_out_timestamp)"}} AS total,
       {{mean "s.sched_in_timestamp - s.sched_out_timestamp"}} AS mean,
       max(s.sched_in_timestamp - s.sched_out_timestamp) AS longest
FROM sched s LEFT JOIN callback_life l
  ON s.boot_id = l.boot_id AND s.pid = l.pid AND s.process_start = l.process_start AND s.callback = l.callback
 AND s.callback_start_timestamp >= coalesce(l.since, -9223372036854775807)
 AND s.callback_start_timestamp < coalesce(l.end_timestamp, 9223372036854775807)
WHERE s.callback_start_timestamp IS NOT NULL
GROUP BY s.boot_id, s.pid, s.process_start, coalesce(l.owner, s.callback), l.since, s.kind, s.other_command{{done}}

-- Subscriptions by what takes name them by, their rcl handles and their intra-process buffers, and when they lived, as in callback_life.
{{create "subscription_life"}}
WITH named AS (
  SELECT DISTINCT boot_id, pid, process_start, 'handle' AS kind, subscription_handle AS address, topic_name, node_name, init_timestamp, end_timestamp
  FROM subscription WHERE subscription_handle IS NOT NULL
  UNION ALL
  SELECT DISTINCT boot_id, pid, process_start, 'buffer', buffer, topic_name, node_name, init_timestamp, end_timestamp
  FROM subscription WHERE buffer IS NOT NULL
)
SELECT *, coalesce(init_timestamp, lag(end_timestamp) OVER (PARTITION BY boot_id, pid, process_start, kind, address ORDER BY end_timestamp NULLS LAST)) AS since
FROM named{{done}}

-- Takes with what is known of their subscription at the end of the recording, where it was not known yet.
{{create "taken"}}
SELECT {{columns "take" "" "topic_name" "node_name"}}, known_topic_name AS topic_name, known_node_name AS node_name
FROM (
SELECT {{columns "take" "t"}},
       coalesce(t.topic_name, h.topic_name, b.topic_name) AS known_topic_name, coalesce(t.node_name, h.node_name, b.node_name) AS known_node_name,
       row_number() OVER (PARTITION BY t.filename, t.file_row_number ORDER BY coalesce(h.since, b.since) DESC NULLS LAST) AS choice
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
) taken WHERE choice = 1{{done}}

-- caret-bpf info --part topics.
{{create "topic_summary"}}
WITH published AS (
  SELECT topic_name, count(*) AS publishes, count(published_at) AS timed, min(published_at) AS since, max(published_at) AS until
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
SELECT coalesce(p.topic_name, r.topic_name) AS topic_name, coalesce(p.publishes, 0) AS publishes,
       CASE WHEN p.timed > 1 AND p.until > p.since THEN (p.timed - 1) * 1e9 / (p.until - p.since) END AS rate,
       coalesce(r.received, 0) AS received
FROM published p FULL JOIN received r ON p.topic_name = r.topic_name{{done}}

-- Publishers, and when they lived, as in callback_life.
{{create "publisher_life"}}
SELECT boot_id, pid, process_start, publisher_handle, topic_name, node_name, gid, init_timestamp, end_timestamp,
       coalesce(init_timestamp, lag(end_timestamp) OVER (PARTITION BY boot_id, pid, process_start, publisher_handle ORDER BY end_timestamp NULLS LAST)) AS since
FROM publisher{{done}}

-- Publishes with what is known of their publisher at the end of the recording. publish_timestamp is the begin of a latency.
{{create "published"}}
SELECT {{columns "publish" "p" "topic_name" "node_name"}},
       coalesce(l.topic_name, p.topic_name) AS topic_name, coalesce(l.node_name, p.node_name) AS node_name, {{of "l" "gid"}},
       coalesce({{least "p.rclcpp_intra_publish_timestamp" "p.rclcpp_publish_timestamp"}}, {{least "p.rcl_publish_timestamp" "p.rmw_publish_timestamp"}}) AS publish_timestamp
FROM publish p LEFT JOIN publisher_life l
  ON p.boot_id = l.boot_id AND p.pid = l.pid AND p.process_start = l.process_start AND p.publisher_handle = l.publisher_handle
 AND coalesce(p.rclcpp_intra_publish_timestamp, p.rclcpp_publish_timestamp, p.rcl_publish_timestamp, p.rmw_publish_timestamp)
     >= coalesce(l.since, -9223372036854775807)
 AND coalesce(p.rclcpp_intra_publish_timestamp, p.rclcpp_publish_timestamp, p.rcl_publish_timestamp, p.rmw_publish_timestamp)
     < coalesce(l.end_timestamp, 9223372036854775807){{done}}

-- Messages that a callback got or that were polled, or taken for somebody who is not known. input_timestamp is the start of the callback, or the take;
-- callback and callback_start_timestamp are the callback that it started, or in which it was polled; null of what was taken for somebody unknown.
{{create "received"}}
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
FROM taken WHERE kind <> 'ignored'{{done}}

-- Messages that were received, each with its publish: the received ones of caret-bpf latency communication --series. Through the middleware they are
-- joined by the publisher's gid and the source timestamp, or by topic and source timestamp where a gid is unknown (joined_by);
-- through an intra-process buffer by the slot: an enqueue belongs to the first dequeue of its slot before the next enqueue there, or before
-- one whose slot is unknown.
{{create "communication"}}
WITH next AS (
  SELECT e.*,
         lead(e.enqueue_timestamp) OVER (PARTITION BY e.boot_id, e.pid, e.process_start, e.buffer, e.index ORDER BY e.enqueue_timestamp) AS same_slot,
         min(CASE WHEN e.index IS NULL THEN e.enqueue_timestamp END) OVER (PARTITION BY e.boot_id, e.pid, e.process_start, e.buffer
           ORDER BY e.enqueue_timestamp RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS unknown_slot
  FROM enqueue e
), slot AS (
  SELECT next.*, {{least "same_slot" "unknown_slot"}} AS next_enqueue_timestamp FROM next
), passage AS (
  SELECT {{of "r" "boot_id pid process_start tid node_name polled callback callback_start_timestamp input_timestamp take_timestamp"}},
         e.tid AS publisher_tid, {{of "e" "publish_number enqueue_timestamp"}},
         row_number() OVER (PARTITION BY e.filename, e.file_row_number ORDER BY coalesce(r.take_timestamp, r.input_timestamp)) AS choice
  FROM slot e JOIN received r
    ON r.boot_id = e.boot_id AND r.pid = e.pid AND r.process_start = e.process_start AND r.buffer = e.buffer AND r.dequeue_index = e.index
   AND coalesce(r.take_timestamp, r.input_timestamp) >= e.enqueue_timestamp
   AND coalesce(r.take_timestamp, r.input_timestamp) < coalesce(e.next_enqueue_timestamp, 9223372036854775807)
)
SELECT {{of "p" "topic_name"}}, p.node_name AS publisher_node_name, p.pid AS publisher_pid,
       r.node_name AS subscription_node_name, r.pid AS subscription_pid, 'inter_process' AS transport,
       CASE WHEN r.publisher_gid IS NULL OR p.gid IS NULL THEN 'topic' ELSE 'gid' END AS joined_by,
       {{of "p" "rclcpp_intra_publish_timestamp rclcpp_publish_timestamp rcl_publish_timestamp rmw_publish_timestamp"}},
       {{of "p" "dds_bind_addr_to_stamp_timestamp source_timestamp"}}, {{bigint "NULL"}} AS rclcpp_ring_buffer_enqueue_timestamp,
       {{of "r" "take_timestamp"}}, CASE WHEN NOT r.polled THEN r.callback_start_timestamp END AS callback_start_timestamp,
       {{time "r.input_timestamp"}} AS input_time,
       r.input_timestamp - p.publish_timestamp AS latency,
       p.boot_id AS publisher_boot_id, p.process_start AS publisher_process_start, p.tid AS publisher_tid, {{of "p" "publish_number"}},
       {{of "r" "boot_id process_start tid callback input_timestamp"}}
FROM published p JOIN received r
  ON p.topic_name = r.topic_name AND p.source_timestamp = r.source_timestamp AND r.dequeue_index IS NULL
 AND (r.publisher_gid IS NULL OR p.gid IS NULL OR p.gid = r.publisher_gid)
UNION ALL
SELECT {{of "p" "topic_name"}}, p.node_name AS publisher_node_name, p.pid AS publisher_pid,
       r.node_name AS subscription_node_name, r.pid AS subscription_pid, 'intra_process' AS transport,
       'buffer' AS joined_by,
       {{of "p" "rclcpp_intra_publish_timestamp rclcpp_publish_timestamp rcl_publish_timestamp rmw_publish_timestamp"}},
       {{of "p" "dds_bind_addr_to_stamp_timestamp source_timestamp"}}, r.enqueue_timestamp AS rclcpp_ring_buffer_enqueue_timestamp,
       {{of "r" "take_timestamp"}}, CASE WHEN NOT r.polled THEN r.callback_start_timestamp END AS callback_start_timestamp,
       {{time "r.input_timestamp"}} AS input_time,
       r.input_timestamp - p.publish_timestamp AS latency,
       p.boot_id AS publisher_boot_id, p.process_start AS publisher_process_start, p.tid AS publisher_tid, {{of "p" "publish_number"}},
       {{of "r" "boot_id process_start tid callback input_timestamp"}}
FROM passage r JOIN published p
  ON p.boot_id = r.boot_id AND p.pid = r.pid AND p.process_start = r.process_start AND p.tid = r.publisher_tid AND p.publish_number = r.publish_number
WHERE r.choice = 1{{done}}

-- caret-bpf latency communication, without what was lost or is open.
{{create "communication_latency"}}
SELECT topic_name, publisher_node_name, publisher_pid, subscription_node_name, subscription_pid, transport,
       count(*) AS count, min(latency) AS min, {{mean "latency"}} AS mean,
       {{percentile "latency" "0.5"}} AS p50, {{percentile "latency" "0.9"}} AS p90, {{percentile "latency" "0.99"}} AS p99,
       {{percentile "latency" "0.999"}} AS p99_9, max(latency) AS max, count(*) FILTER (WHERE joined_by = 'topic') AS joined_by_topic
FROM communication
GROUP BY topic_name, publisher_node_name, publisher_pid, subscription_node_name, subscription_pid, transport{{done}}

-- Publishes of a node with the message that they were made of: the newest, by topic, that the callback in which they were recorded had got.
-- caret-bpf latency node --series, without inputs that led to no publish and without what an architecture file adds.
{{create "node_hop"}}
SELECT node_name, pid, subscription_topic_name, publisher_topic_name, callback_start_timestamp, callback_end_timestamp, publish_callback_start_timestamp,
       publish_timestamp, publish_time, latency, boot_id, process_start, tid, callback, publish_number
FROM (
SELECT {{of "r" "node_name pid"}}, r.topic_name AS subscription_topic_name, p.topic_name AS publisher_topic_name,
       r.input_timestamp AS callback_start_timestamp, {{of "r" "callback_end_timestamp"}}, p.callback_start_timestamp AS publish_callback_start_timestamp,
       {{of "p" "publish_timestamp"}}, {{time "p.publish_timestamp"}} AS publish_time, p.publish_timestamp - r.input_timestamp AS latency,
       {{of "p" "boot_id process_start tid callback publish_number"}},
       row_number() OVER (PARTITION BY p.filename, p.file_row_number, r.topic_name ORDER BY r.input_timestamp DESC) AS choice
FROM published p JOIN received r
  ON p.boot_id = r.boot_id AND p.pid = r.pid AND p.process_start = r.process_start AND p.callback = r.callback
 AND p.callback_start_timestamp = r.callback_start_timestamp AND p.tid = r.tid AND p.node_name = r.node_name AND r.input_timestamp <= p.publish_timestamp
WHERE p.topic_name IS NOT NULL AND r.topic_name IS NOT NULL
) hop WHERE choice = 1{{done}}

-- caret-bpf latency node.
{{create "node_latency"}}
SELECT node_name, pid, subscription_topic_name, publisher_topic_name,
       count(*) AS count, min(latency) AS min, {{mean "latency"}} AS mean,
       {{percentile "latency" "0.5"}} AS p50, {{percentile "latency" "0.9"}} AS p90, {{percentile "latency" "0.99"}} AS p99,
       {{percentile "latency" "0.999"}} AS p99_9, max(latency) AS max
FROM node_hop
GROUP BY node_name, pid, subscription_topic_name, publisher_topic_name{{done}}

-- Calls of services and actions: caret-bpf latency service --series. Where a client's gid and sequence number come again, a new call
-- begins with each request sent; where several servers have taken a request, there is a call for each, and the answer that was sent first was taken first.
-- A step of a client that is not known stands alone.
{{create "service_call"}}
WITH step AS (
  SELECT s.*, coalesce(service_name, '') AS service,
         coalesce(client_gid, CASE WHEN client_handle IS NULL THEN concat(boot_id, '/', {{text "pid"}}, '/', {{text "process_start"}}, '/', {{text "tid"}}, '/', step, '/', {{text "step_timestamp"}})
                              ELSE concat(boot_id, '/', {{text "pid"}}, '/', {{text "process_start"}}, '/', {{text "client_handle"}}) END) AS client,
         CASE WHEN step IN ('request_taken', 'response_sent')
              THEN concat(boot_id, '/', {{text "pid"}}, '/', {{text "process_start"}}, '/', coalesce({{text "service_handle"}}, '')) END AS server
  FROM service s
), turned AS (
  SELECT step.*, count(CASE WHEN step.step = 'request_sent' THEN 1 END)
                   OVER (PARTITION BY service, client, sequence_number ORDER BY step_timestamp) AS turn
  FROM step
), numbered AS (
  SELECT turned.*, row_number() OVER (PARTITION BY service, client, sequence_number, turn, server, step ORDER BY step_timestamp) AS occurrence FROM turned
), serving AS (
  SELECT service, client, sequence_number, turn, server, occurrence,
         {{some "service_name"}} AS service_name, {{some "client_gid"}} AS client_gid, {{some "node_name"}} AS node_name, {{some "pid"}} AS pid,
         min(CASE WHEN step = 'request_taken' THEN step_timestamp END) AS request_taken_timestamp,
         min(CASE WHEN step = 'response_sent' THEN step_timestamp END) AS response_sent_timestamp,
         min(step_timestamp) AS first_timestamp
  FROM numbered WHERE server IS NOT NULL GROUP BY service, client, sequence_number, turn, server, occurrence
), served AS (
  SELECT serving.*, row_number() OVER (PARTITION BY service, client, sequence_number, turn
                                       ORDER BY response_sent_timestamp NULLS LAST, first_timestamp) AS answer
  FROM serving
), begun AS (
  SELECT coalesce(v.service, s.service) AS service, coalesce(v.client, s.client) AS client,
         coalesce(v.sequence_number, s.sequence_number) AS sequence_number, coalesce(v.turn, s.turn) AS turn,
         coalesce(s.service_name, v.service_name) AS service_name, coalesce(s.client_gid, v.client_gid) AS client_gid,
         s.node_name AS client_node_name, s.pid AS client_pid, v.node_name AS server_node_name, v.pid AS server_pid,
         s.step_timestamp AS request_sent_timestamp, {{of "v" "request_taken_timestamp response_sent_timestamp"}},
         coalesce(v.answer, 1) AS answer
  FROM served v FULL JOIN (SELECT * FROM numbered WHERE step = 'request_sent') s
    ON s.service = v.service AND s.client = v.client AND s.sequence_number = v.sequence_number AND s.turn = v.turn
), call AS (
  SELECT coalesce(b.service_name, t.service_name) AS service_name, coalesce(b.client_node_name, t.node_name) AS client_node_name,
         coalesce(b.client_pid, t.pid) AS client_pid, {{of "b" "server_node_name server_pid"}},
         coalesce(b.client_gid, t.client_gid) AS client_gid, coalesce(b.sequence_number, t.sequence_number) AS sequence_number,
         {{of "b" "request_sent_timestamp request_taken_timestamp response_sent_timestamp"}}, t.step_timestamp AS response_taken_timestamp
  FROM begun b FULL JOIN (SELECT * FROM numbered WHERE step = 'response_taken') t
    ON t.service = b.service AND t.client = b.client AND t.sequence_number = b.sequence_number AND t.turn = b.turn AND t.occurrence = b.answer
)
SELECT call.*, {{time "coalesce(request_sent_timestamp, request_taken_timestamp)"}} AS begin_time,
       response_taken_timestamp - request_sent_timestamp AS latency
FROM call{{done}}
