-- caret-bpf latency callback. Durations are in nanoseconds.
{{create "callback_latency"}}
SELECT {{keys}}, host, pid, process_start, callback_id, {{some "node_name"}} AS node_name, {{some "kind"}} AS kind, {{some "topic_name"}} AS topic_name,
       {{some "period"}} AS period, {{some "symbol"}} AS symbol,
       count(*) AS executions, count(latency) AS count,
       CASE WHEN count(callback_start_timestamp) > 1 AND max(callback_start_timestamp) > min(callback_start_timestamp)
            THEN (count(callback_start_timestamp) - 1) * 1e9 / (max(callback_start_timestamp) - min(callback_start_timestamp)) END AS rate,
       {{bigint "sum(latency)"}} AS total_time, min(latency) AS min, {{mean "latency"}} AS mean,
       {{percentile "latency" "0.5"}} AS p50, {{percentile "latency" "0.9"}} AS p90, {{percentile "latency" "0.99"}} AS p99,
       {{percentile "latency" "0.999"}} AS p99_9, max(latency) AS max
FROM callback_fact
GROUP BY {{keys}}, host, pid, process_start, callback_id{{done}}

-- caret-bpf latency callback --why. Times are means, in nanoseconds, of the executions whose parts are known.
{{create "callback_why"}}
SELECT {{keys}}, host, pid, process_start, callback_id, {{some "node_name"}} AS node_name, {{some "kind"}} AS kind, {{some "topic_name"}} AS topic_name,
       {{some "period"}} AS period, {{some "symbol"}} AS symbol,
       count(cpu_time) AS count, count(*) - count(cpu_time) AS unknown,
       {{mean "CASE WHEN cpu_time IS NOT NULL THEN latency END"}} AS mean, {{mean "cpu_time"}} AS cpu_time,
       {{mean "preempted_time"}} AS preempted_time, {{mean "blocked_time"}} AS blocked_time,
       {{mean "wakeup_latency"}} AS wakeup_latency,
       {{bigint "sum(preemptions)"}} AS preemptions, {{bigint "sum(migrations)"}} AS migrations,
       max(latency) FILTER (WHERE cpu_time IS NOT NULL) AS longest
FROM callback_fact
GROUP BY {{keys}}, host, pid, process_start, callback_id{{done}}

-- caret-bpf latency communication: of the messages that were received, and how many were not.
{{create "communication_latency"}}
SELECT {{keys}}, topic_name, publisher_host, publisher_node AS publisher_node_name, publisher_pid, publisher_id, host,
       subscription_node AS subscription_node_name, subscription_pid, subscription_id, CASE WHEN is_intra_process THEN 'intra_process' ELSE 'inter_process' END AS transport,
       count(latency) AS count, min(latency) AS min, {{mean "latency"}} AS mean,
       {{percentile "latency" "0.5"}} AS p50, {{percentile "latency" "0.9"}} AS p90, {{percentile "latency" "0.99"}} AS p99,
       {{percentile "latency" "0.999"}} AS p99_9, max(latency) AS max,
       count(CASE WHEN fate = 'received' AND joined_by = 'topic' THEN 1 END) AS joined_by_topic,
       count(CASE WHEN fate = 'lost' THEN 1 END) AS lost, count(CASE WHEN fate = 'open' THEN 1 END) AS still_open,
       count(CASE WHEN fate = 'unknown' THEN 1 END) AS unknown
FROM message_fact
GROUP BY {{keys}}, topic_name, publisher_host, publisher_node, publisher_pid, publisher_id, host, subscription_node, subscription_pid, subscription_id,
         is_intra_process{{done}}

-- caret-bpf latency path: of the messages that went all the way; hop 0 is the whole path.
{{create "path_latency"}}
WITH way AS (
  SELECT {{keys}}, path, 0 AS hop, 'path' AS kind, path AS name, latency FROM path_fact
  UNION ALL
  SELECT {{keys}}, path, hop, kind, name, latency FROM hop_fact WHERE instance IS NOT NULL
)
SELECT {{keys}}, path, hop, kind, name, count(latency) AS count, min(latency) AS min, {{mean "latency"}} AS mean,
       {{percentile "latency" "0.5"}} AS p50, {{percentile "latency" "0.9"}} AS p90, {{percentile "latency" "0.99"}} AS p99,
       {{percentile "latency" "0.999"}} AS p99_9, max(latency) AS max
FROM way
GROUP BY {{keys}}, path, hop, kind, name{{done}}

-- caret-bpf latency response-time: of the paths that were published.
{{create "response_time"}}
SELECT {{keys}}, path, kind, count(latency) AS count, min(latency) AS min, {{mean "latency"}} AS mean,
       {{percentile "latency" "0.5"}} AS p50, {{percentile "latency" "0.9"}} AS p90, {{percentile "latency" "0.99"}} AS p99,
       {{percentile "latency" "0.999"}} AS p99_9, max(latency) AS max
FROM response_fact
GROUP BY {{keys}}, path, kind{{done}}

-- caret-bpf latency node. unused are inputs that led to no output, without_input are outputs that came from no input.
{{create "node_latency"}}
SELECT {{keys}}, host, node_name, pid, subscription_topic_name, publisher_topic_name, context,
       count(latency) AS count, min(latency) AS min, {{mean "latency"}} AS mean,
       {{percentile "latency" "0.5"}} AS p50, {{percentile "latency" "0.9"}} AS p90, {{percentile "latency" "0.99"}} AS p99,
       {{percentile "latency" "0.999"}} AS p99_9, max(latency) AS max,
       count(CASE WHEN publish_timestamp IS NULL THEN 1 END) AS unused, count(CASE WHEN callback_start_timestamp IS NULL THEN 1 END) AS without_input
FROM node_fact
GROUP BY {{keys}}, host, node_name, pid, subscription_topic_name, publisher_topic_name, context{{done}}

-- caret-bpf latency service: of the parts of calls. unanswered are those of which the begin was seen, and not the end.
{{create "service_latency"}}
WITH part AS (
  SELECT {{keys}}, host, service_name, client_node, client_pid, server_node, server_pid, 'call' AS part,
         request_sent_timestamp AS begin_timestamp, response_taken_timestamp AS end_timestamp FROM service_fact
  UNION ALL
  SELECT {{keys}}, host, service_name, client_node, client_pid, server_node, server_pid, 'request', request_sent_timestamp, request_taken_timestamp FROM service_fact
  UNION ALL
  SELECT {{keys}}, host, service_name, client_node, client_pid, server_node, server_pid, 'server', request_taken_timestamp, response_sent_timestamp FROM service_fact
  UNION ALL
  SELECT {{keys}}, host, service_name, client_node, client_pid, server_node, server_pid, 'response', response_sent_timestamp, response_taken_timestamp FROM service_fact
), timed AS (
  SELECT part.*, end_timestamp - begin_timestamp AS latency FROM part WHERE begin_timestamp IS NOT NULL
)
SELECT {{keys}}, host, service_name, client_node AS client_node_name, client_pid, server_node AS server_node_name, server_pid, part,
       count(latency) AS count, min(latency) AS min, {{mean "latency"}} AS mean,
       {{percentile "latency" "0.5"}} AS p50, {{percentile "latency" "0.9"}} AS p90, {{percentile "latency" "0.99"}} AS p99,
       {{percentile "latency" "0.999"}} AS p99_9, max(latency) AS max, count(*) - count(latency) AS unanswered
FROM timed
GROUP BY {{keys}}, host, service_name, client_node, client_pid, server_node, server_pid, part{{done}}

-- caret-bpf period, of callbacks, without how late timers were.
{{create "period"}}
WITH started AS (
  SELECT {{keys}}, host, pid, process_start, callback_id, node_name, kind, topic_name, period AS timer_period, symbol, callback_start_timestamp,
         callback_start_timestamp - lag(callback_start_timestamp) OVER (PARTITION BY recording_id, callback_id ORDER BY callback_start_timestamp) AS since
  FROM callback_fact WHERE callback_start_timestamp IS NOT NULL
)
SELECT {{keys}}, host, pid, process_start, callback_id, {{some "node_name"}} AS node_name, {{some "kind"}} AS kind, {{some "topic_name"}} AS topic_name,
       {{some "timer_period"}} AS period, {{some "symbol"}} AS symbol, count(since) AS count, min(since) AS min, {{mean "since"}} AS mean,
       {{percentile "since" "0.5"}} AS p50, {{percentile "since" "0.9"}} AS p90, {{percentile "since" "0.99"}} AS p99,
       {{percentile "since" "0.999"}} AS p99_9, max(since) AS max
FROM started
GROUP BY {{keys}}, host, pid, process_start, callback_id{{done}}

-- caret-bpf frequency, of callbacks: how often they started in each second since their first start, without the last second, which is not whole.
{{create "frequency"}}
WITH started AS (
  SELECT {{keys}}, host, pid, process_start, callback_id, node_name, kind, topic_name, period, symbol, callback_start_timestamp,
         min(callback_start_timestamp) OVER (PARTITION BY recording_id, callback_id) AS base
  FROM callback_fact WHERE callback_start_timestamp IS NOT NULL
), each_second AS (
  SELECT {{keys}}, host, pid, process_start, callback_id, {{some "node_name"}} AS node_name, {{some "kind"}} AS kind, {{some "topic_name"}} AS topic_name,
         {{some "period"}} AS period, {{some "symbol"}} AS symbol, {{div "(callback_start_timestamp - base)" "1000000000"}} AS number, count(*) AS starts
  FROM started
  GROUP BY {{keys}}, host, pid, process_start, callback_id, {{div "(callback_start_timestamp - base)" "1000000000"}}
), numbered AS (
  SELECT each_second.*, max(number) OVER (PARTITION BY recording_id, callback_id) AS last_number FROM each_second
)
SELECT {{keys}}, host, pid, process_start, callback_id, {{some "node_name"}} AS node_name, {{some "kind"}} AS kind, {{some "topic_name"}} AS topic_name,
       {{some "period"}} AS period, {{some "symbol"}} AS symbol, {{bigint "sum(starts)"}} AS count, max(last_number) + 1 AS intervals,
       CASE WHEN max(last_number) > count(CASE WHEN number < last_number THEN 1 END) THEN 0 ELSE min(CASE WHEN number < last_number OR last_number = 0 THEN starts END) END AS min,
       sum(CASE WHEN number < last_number OR last_number = 0 THEN starts ELSE 0 END) * 1e0 / max(CASE WHEN last_number = 0 THEN 1 ELSE last_number END) AS mean,
       max(CASE WHEN number < last_number OR last_number = 0 THEN starts END) AS max
FROM numbered
GROUP BY {{keys}}, host, pid, process_start, callback_id{{done}}

-- What recordings lack. lost is how many records or messages, as kind and reason say; null if that is not known.
{{create "loss_summary"}}
SELECT {{keys}}, kind, reason, count(*) AS times, {{bigint "sum(count)"}} AS lost, min(from_timestamp) AS from_timestamp, max(to_timestamp) AS to_timestamp
FROM loss
GROUP BY {{keys}}, kind, reason{{done}}
