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

-- Times at which callbacks were preempted, by a thread that is known: those of each callback that ran in no other one, also within the ones that were
-- nested in it, and of each nested one those that name it.
CREATE OR REPLACE VIEW preemption AS
WITH preempted AS (
  FROM sched WHERE kind = 'preempted' AND other_command IS NOT NULL
)
SELECT s.boot_id, s.pid, s.process_start, s.tid, c.callback, c.callback_start_timestamp, s.sched_out_timestamp,
       least(s.sched_in_timestamp, c.until) AS sched_in_timestamp, s.other_command, s.other_pid, s.other_tid
FROM preempted s ASOF JOIN outermost_callback c
  ON s.boot_id = c.boot_id AND s.pid = c.pid AND s.process_start = c.process_start AND s.tid = c.tid AND s.sched_out_timestamp >= c.callback_start_timestamp
WHERE s.sched_out_timestamp < c.until
UNION ALL
SELECT s.boot_id, s.pid, s.process_start, s.tid, s.callback, s.callback_start_timestamp, s.sched_out_timestamp, s.sched_in_timestamp,
       s.other_command, s.other_pid, s.other_tid
FROM preempted s JOIN callback c USING (boot_id, pid, process_start, tid, callback, callback_start_timestamp)
WHERE c.depth > 0;

-- The thread that had the CPU for most of the preempted time of a callback: caret-bpf latency callback --why, but for times within callbacks that were
-- nested in one that was nested itself. preempted_by_time is its part of the mean preempted_time.
CREATE OR REPLACE VIEW callback_preempter AS
WITH known AS (
  SELECT * FROM callback_execution WHERE cpu_time IS NOT NULL
), counted AS (
  SELECT boot_id, pid, process_start, owner, owner_init_timestamp, any_value(node_name) AS node_name, any_value(kind) AS kind,
         any_value(topic_name) AS topic_name, any_value(period) AS period, any_value(symbol) AS symbol, count(*) AS executions
  FROM known GROUP BY ALL
), total AS (
  SELECT boot_id, pid, process_start, k.owner, k.owner_init_timestamp, p.other_command, p.other_pid, p.other_tid,
         sum(p.sched_in_timestamp - p.sched_out_timestamp)::BIGINT AS total
  FROM known k JOIN preemption p USING (boot_id, pid, process_start, tid, callback, callback_start_timestamp)
  GROUP BY ALL
)
SELECT c.boot_id, c.pid, c.process_start, c.node_name, c.kind, c.topic_name, c.period, c.symbol,
       t.other_command AS preempted_by, t.other_pid AS preempted_by_pid, t.other_tid AS preempted_by_tid, round(t.total / c.executions)::BIGINT AS preempted_by_time
FROM counted c JOIN total t
  ON c.boot_id = t.boot_id AND c.pid = t.pid AND c.process_start = t.process_start AND c.owner = t.owner
 AND c.owner_init_timestamp IS NOT DISTINCT FROM t.owner_init_timestamp
QUALIFY row_number() OVER (PARTITION BY c.boot_id, c.pid, c.process_start, c.owner, c.owner_init_timestamp
                           ORDER BY t.total DESC, t.other_pid, t.other_tid, t.other_command) = 1;

-- The same of each hop in node_hop_parts of which the parts are known. preempted_by_time is its part of the preempted_time.
CREATE OR REPLACE VIEW node_hop_preempter AS
SELECT h.boot_id, h.pid, h.process_start, h.tid, h.publish_number, h.subscription_topic_name, h.callback_start_timestamp,
       p.other_command AS preempted_by, p.other_pid AS preempted_by_pid, p.other_tid AS preempted_by_tid,
       sum(least(p.sched_in_timestamp, h.publish_timestamp) - p.sched_out_timestamp)::BIGINT AS preempted_by_time
FROM node_hop_parts h JOIN preemption p USING (boot_id, pid, process_start, tid, callback, callback_start_timestamp)
WHERE h.cpu_time IS NOT NULL AND p.sched_out_timestamp < h.publish_timestamp
GROUP BY h.boot_id, h.pid, h.process_start, h.tid, h.publish_number, h.subscription_topic_name, h.callback_start_timestamp, p.other_command, p.other_pid, p.other_tid
QUALIFY row_number() OVER (PARTITION BY h.boot_id, h.pid, h.process_start, h.tid, h.publish_number, h.subscription_topic_name
                           ORDER BY preempted_by_time DESC, preempted_by_pid, preempted_by_tid, preempted_by) = 1;
