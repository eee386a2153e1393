{{/* What was last until an instant is found by windows over all that a thread did and all instants that are asked about. Everything is read once
so: some engines write out a view wherever it is named. off_columns are of times off the CPU: least(preempted_from + t, preempted_to) is how long the
thread was preempted until t, if it began to be off the CPU before, and so on. */ -}}
{{define "until_now"}}(PARTITION BY boot_id, pid, process_start, tid ORDER BY instant, side ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW){{end -}}
{{define "off_rows"}}SELECT boot_id, pid, process_start, tid, off, until, preempted_before - off AS preempted_from, preempted_before - off + preempted_until AS preempted_to,
         blocked_before - off AS blocked_from, blocked_before - off + blocked_until AS blocked_to,
         wakeup_before, wakeup_before - awake_from AS wakeup_from, wakeup_before - awake_from + until AS wakeup_to, unknown_before, unknown
  FROM (SELECT boot_id, pid, process_start, tid, off, until, preempted_until, blocked_until, awake_from, CASE WHEN is_unknown THEN 1 ELSE 0 END AS unknown,
               {{bigint "sum(preempted_until - off) OVER thread"}} - (preempted_until - off) AS preempted_before,
               {{bigint "sum(blocked_until - off) OVER thread"}} - (blocked_until - off) AS blocked_before,
               {{bigint "sum(until - awake_from) OVER thread"}} - (until - awake_from) AS wakeup_before,
               {{bigint "sum(CASE WHEN is_unknown THEN 1 ELSE 0 END) OVER thread"}} - CASE WHEN is_unknown THEN 1 ELSE 0 END AS unknown_before
        FROM off_cpu{{.}}
        WINDOW thread AS (PARTITION BY boot_id, pid, process_start, tid ORDER BY off, until ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)) summed{{end -}}
{{define "off_columns"}}preempted_from, preempted_to, blocked_from, blocked_to, wakeup_before, wakeup_from, wakeup_to, unknown_before, unknown{{end -}}
{{define "no_off_columns"}}{{bigint "NULL"}} AS preempted_from, {{bigint "NULL"}} AS preempted_to, {{bigint "NULL"}} AS blocked_from, {{bigint "NULL"}} AS blocked_to,
         {{bigint "NULL"}} AS wakeup_before, {{bigint "NULL"}} AS wakeup_from, {{bigint "NULL"}} AS wakeup_to, {{bigint "NULL"}} AS unknown_before, {{bigint "NULL"}} AS unknown{{end -}}
{{define "nulls"}}NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL{{end -}}
{{define "last_off_columns"}}{{last "preempted_from"}} OVER until_now AS preempted_from, {{last "preempted_to"}} OVER until_now AS preempted_to,
         {{last "blocked_from"}} OVER until_now AS blocked_from, {{last "blocked_to"}} OVER until_now AS blocked_to,
         {{last "wakeup_before"}} OVER until_now AS wakeup_before, {{last "wakeup_from"}} OVER until_now AS wakeup_from,
         {{last "wakeup_to"}} OVER until_now AS wakeup_to, {{last "unknown_before"}} OVER until_now AS unknown_before, {{last "unknown"}} OVER until_now AS unknown{{end -}}
{{define "off_parts"}}{{bigint "sum(CASE WHEN side = 1 THEN 1 ELSE -1 END * coalesce(least(preempted_from + instant, preempted_to), 0))"}} AS preempted_time,
         {{bigint "sum(CASE WHEN side = 1 THEN 1 ELSE -1 END * coalesce(least(blocked_from + instant, blocked_to), 0))"}} AS blocked_time,
         {{bigint "sum(CASE WHEN side = 1 THEN 1 ELSE -1 END * coalesce(greatest(wakeup_before, least(wakeup_from + instant, wakeup_to)), 0))"}} AS wakeup_latency,
         {{bigint "sum(CASE WHEN side = 1 THEN coalesce(unknown_before + unknown, 0) WHEN wakeup_to - wakeup_from <= instant THEN -unknown_before - unknown ELSE -coalesce(unknown_before, 0) END)"}} AS unknown_times{{end -}}
-- Callbacks that ran in no other one, numbered on their thread, with what tells of the time before: how long others ran, and how many of those have
-- unknown parts, or no end. One without an end takes no time here.
{{create "outermost_callback"}}
WITH begun AS (
  SELECT boot_id, pid, process_start, tid, callback, callback_start_timestamp, coalesce(callback_end_timestamp, callback_start_timestamp) AS until,
         callback_end_timestamp IS NULL AS is_open, callback_end_timestamp IS NOT NULL AND cpu_time IS NOT NULL AS is_known
  FROM callback WHERE depth = 0 AND callback_start_timestamp IS NOT NULL
)
SELECT begun.*, {{bigint "row_number() OVER thread"}} AS number,
       {{bigint "sum(until - callback_start_timestamp) OVER thread"}} - (until - callback_start_timestamp) AS ran_before,
       {{bigint "sum(CASE WHEN is_known THEN 0 ELSE 1 END) OVER thread"}} - CASE WHEN is_known THEN 0 ELSE 1 END AS unknown_before,
       {{bigint "sum(CASE WHEN is_open THEN 1 ELSE 0 END) OVER thread"}} - CASE WHEN is_open THEN 1 ELSE 0 END AS open_before
FROM begun
WINDOW thread AS (PARTITION BY boot_id, pid, process_start, tid ORDER BY callback_start_timestamp, until, callback
                  ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW){{done}}

-- Times off the CPU in their parts: preempted up to preempted_until, blocked up to blocked_until, awake from awake_from on. is_outside: in no callback.
-- One that no callback is named for is in one if it lies in it: that was nested too deep.
{{create "off_cpu"}}
WITH mark AS (
  SELECT boot_id, pid, process_start, tid, callback_start_timestamp AS instant, 0 AS side, until AS ran_until, {{bigint "NULL"}} AS until,
         {{text "NULL"}} AS kind, {{bigint "NULL"}} AS waking_timestamp, {{bigint "NULL"}} AS callback_start_timestamp
  FROM outermost_callback
  UNION ALL
  SELECT boot_id, pid, process_start, tid, sched_out_timestamp, 1, NULL, sched_in_timestamp, kind, waking_timestamp, callback_start_timestamp FROM sched
), placed AS (
  SELECT mark.*, {{last "ran_until"}} OVER {{template "until_now"}} AS last_ran_until FROM mark
), woken AS (
  SELECT boot_id, pid, process_start, tid, instant AS off, until, kind = 'preempted' AS is_preempted,
         CASE WHEN waking_timestamp > until THEN until WHEN waking_timestamp < instant THEN instant ELSE waking_timestamp END AS woken,
         callback_start_timestamp IS NULL AND coalesce(until > last_ran_until, true) AS is_outside
  FROM placed WHERE side = 1
)
SELECT boot_id, pid, process_start, tid, off, until,
       CASE WHEN is_preempted THEN until ELSE off END AS preempted_until,
       CASE WHEN is_preempted THEN off ELSE coalesce(woken, off) END AS blocked_until,
       CASE WHEN is_preempted THEN until ELSE coalesce(woken, until) END AS awake_from,
       NOT is_preempted AND woken IS NULL AS is_unknown, is_outside
FROM woken{{done}}

-- Times in which records of times off the CPU may be missing, each with the last instant of those until then.
{{create "off_cpu_lost"}}
SELECT from_timestamp, max(to_timestamp) OVER (ORDER BY from_timestamp) AS until FROM loss WHERE kind = 'sched' AND reason <> 'missed'{{done}}

-- Executions of timers and subscriptions, with the time before each since delay_timestamp, when its timer was due or its message was published, and the
-- parts of that time: caret-bpf latency callback --before --series. Where it is not known, the parts are null. behind_… is the callback
-- that ran longest meanwhile, if fewer than {{mostBehind}} ran.
{{create "delayed_execution"}}
WITH execution AS (
  SELECT {{of "c" "boot_id pid process_start tid callback callback_start_timestamp"}}, {{of "l" "owner"}}, l.since AS owner_init_timestamp,
         {{of "l" "node_name"}}, replace(l.kind, 'intra_process_', '') AS kind, {{of "l" "topic_name period symbol"}}, t.init_timestamp AS origin
  FROM callback c
  JOIN callback_life l
    ON {{equal "c" "l" "boot_id pid process_start callback"}}
   AND c.callback_start_timestamp >= coalesce(l.since, -9223372036854775807) AND c.callback_start_timestamp < coalesce(l.end_timestamp, 9223372036854775807)
  LEFT JOIN (SELECT DISTINCT boot_id, pid, process_start, callback, init_timestamp FROM timer) t
    ON {{equal "l" "t" "boot_id pid process_start callback init_timestamp"}}
  WHERE l.kind IN ('timer', 'subscription', 'intra_process_subscription')
), first_start AS (
  SELECT execution.*, min(callback_start_timestamp) OVER (PARTITION BY boot_id, pid, process_start, owner, owner_init_timestamp) AS first_start
  FROM execution WHERE kind = 'timer' AND period > 0
), late AS ( -- after the last point of the timer's grid
  SELECT first_start.*,
         CASE WHEN origin IS NULL THEN (callback_start_timestamp - first_start + {{div "period" "2"}}) % period - {{div "period" "2"}}
              ELSE (callback_start_timestamp - origin + least(1000, {{div "period" "2"}})) % period - least(1000, {{div "period" "2"}}) END AS late
  FROM first_start
), lateness AS (
  SELECT late.*, min(late) OVER (PARTITION BY boot_id, pid, process_start, owner, owner_init_timestamp) AS least_late,
         max(late) OVER (PARTITION BY boot_id, pid, process_start, owner, owner_init_timestamp) AS most_late
  FROM late
), delay AS (
  SELECT boot_id, pid, process_start, tid, callback, callback_start_timestamp,
         callback_start_timestamp - greatest(0, late - CASE WHEN origin IS NULL THEN least_late ELSE 0 END) AS delay_timestamp
  FROM lateness WHERE origin IS NOT NULL OR most_late - least_late < {{div "period" "2"}}
  UNION ALL
  SELECT boot_id, subscription_pid, process_start, tid, callback, callback_start_timestamp, max(input_timestamp - latency)
  FROM communication WHERE callback_start_timestamp IS NOT NULL AND latency >= 0
  GROUP BY boot_id, subscription_pid, process_start, tid, callback, callback_start_timestamp
), thread AS ( -- since when it is known what it did
  SELECT outermost_callback.*,
         min(CASE WHEN is_known THEN until END)
           OVER (PARTITION BY boot_id, pid, process_start, tid, open_before ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS known_since
  FROM outermost_callback
), asked AS (
  SELECT {{of "o" "boot_id pid process_start tid callback callback_start_timestamp number ran_before unknown_before"}}, {{of "d" "delay_timestamp"}}
  FROM thread o JOIN delay d ON {{equal "o" "d" "boot_id pid process_start tid callback callback_start_timestamp"}}
  WHERE o.is_known AND o.callback_start_timestamp >= d.delay_timestamp AND d.delay_timestamp >= o.known_since
), outside AS (
  {{template "off_rows" " WHERE is_outside"}}
), mark AS ( -- what threads did, and the two instants of each delay
  SELECT boot_id, pid, process_start, tid, callback_start_timestamp AS instant, 0 AS side,
         number AS first_number, ran_before - callback_start_timestamp AS ran_from, ran_before - callback_start_timestamp + until AS ran_to,
         unknown_before AS unknown_callbacks, CASE WHEN is_known THEN 0 ELSE 1 END AS is_unknown,
         {{template "no_off_columns"}}, {{bigint "NULL"}} AS lost_until, {{bigint "NULL"}} AS number, {{bigint "NULL"}} AS callback,
         {{bigint "NULL"}} AS callback_start_timestamp, {{bigint "NULL"}} AS delay_timestamp, {{bigint "NULL"}} AS ran_before, {{bigint "NULL"}} AS unknown_callbacks_before
  FROM outermost_callback
  UNION ALL
  SELECT {{of "t" "boot_id pid process_start tid"}}, l.from_timestamp, 0, NULL, NULL, NULL, NULL, NULL, {{template "nulls"}}, l.until, NULL, NULL, NULL, NULL, NULL, NULL
  FROM (SELECT DISTINCT boot_id, pid, process_start, tid FROM callback) t CROSS JOIN off_cpu_lost l
  UNION ALL
  SELECT boot_id, pid, process_start, tid, off, 2, NULL, NULL, NULL, NULL, NULL, {{template "off_columns"}}, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM outside
  UNION ALL
  SELECT {{of "d" "boot_id pid process_start tid"}}, CASE WHEN s.side = 1 THEN d.callback_start_timestamp ELSE d.delay_timestamp END, {{of "s" "side"}},
         NULL, NULL, NULL, NULL, NULL, {{template "nulls"}}, NULL, d.number, d.callback, d.callback_start_timestamp, d.delay_timestamp, d.ran_before, d.unknown_before
  FROM asked d CROSS JOIN (SELECT 1 AS side UNION ALL SELECT 3 AS side) s
), marked AS (
  SELECT boot_id, pid, process_start, tid, instant, side, number, callback, callback_start_timestamp, delay_timestamp, ran_before, unknown_callbacks_before,
         {{last "first_number"}} OVER until_now AS first_number, {{last "ran_from"}} OVER until_now AS ran_from, {{last "ran_to"}} OVER until_now AS ran_to,
         {{last "unknown_callbacks"}} OVER until_now AS unknown_callbacks, {{last "is_unknown"}} OVER until_now AS is_unknown,
         {{template "last_off_columns"}}, max(lost_until) OVER until_now AS lost_until
  FROM mark WINDOW until_now AS {{template "until_now"}}
), part AS ( -- the first callback in the time before may have begun earlier
  SELECT boot_id, pid, process_start, tid, number, callback, callback_start_timestamp, delay_timestamp, callback_start_timestamp - delay_timestamp AS latency,
         max(CASE WHEN side = 3 THEN first_number END) AS first_number,
         max(CASE WHEN side = 3 THEN ran_before - least(ran_from + instant, ran_to) END) AS other_callbacks,
         max(CASE WHEN side = 3 THEN unknown_callbacks_before - unknown_callbacks - CASE WHEN ran_to - ran_from <= instant THEN is_unknown ELSE 0 END END) AS unknown_callbacks,
         {{template "off_parts"}}, max(CASE WHEN side = 1 THEN lost_until END) AS lost_until
  FROM marked WHERE number IS NOT NULL
  GROUP BY boot_id, pid, process_start, tid, number, callback, callback_start_timestamp, delay_timestamp
), known AS (
  SELECT part.*, latency - other_callbacks - preempted_time - blocked_time - wakeup_latency AS executor,
         CASE WHEN number - first_number < {{mostBehind}} THEN first_number ELSE number END AS from_number
  FROM part WHERE unknown_callbacks <= 0 AND unknown_times <= 0 AND coalesce(lost_until < delay_timestamp, true)
), meanwhile AS ( -- each with the callbacks since the first one, and itself
  SELECT known.*, behind_number FROM known {{each "from_number" "number" "behind_number"}} WHERE executor >= 0
), ran AS (
  SELECT {{of "m" "boot_id pid process_start tid callback callback_start_timestamp delay_timestamp latency other_callbacks executor"}},
         {{of "m" "preempted_time blocked_time wakeup_latency"}}, o.callback AS behind_callback, o.callback_start_timestamp AS behind_start, {{of "m" "behind_number"}},
         CASE WHEN m.behind_number < m.number AND o.until > m.delay_timestamp
              THEN o.until - greatest(o.callback_start_timestamp, m.delay_timestamp) ELSE 0 END AS behind_time
  FROM meanwhile m JOIN outermost_callback o ON {{equal "m" "o" "boot_id pid process_start tid"}} AND m.behind_number = o.number
), ranked AS (
  SELECT ran.*, row_number() OVER (PARTITION BY boot_id, pid, process_start, tid, callback, callback_start_timestamp
                                   ORDER BY behind_time DESC, behind_number DESC) AS choice
  FROM ran
), longest AS (
  SELECT boot_id, pid, process_start, tid, callback, callback_start_timestamp, delay_timestamp, latency, other_callbacks, executor,
         preempted_time, blocked_time, wakeup_latency, nullif(behind_time, 0) AS behind_time,
         CASE WHEN behind_time > 0 THEN behind_callback END AS behind_callback, CASE WHEN behind_time > 0 THEN behind_start END AS behind_start
  FROM ranked WHERE choice = 1
)
SELECT {{of "e" "boot_id pid process_start tid callback callback_start_timestamp owner owner_init_timestamp node_name kind topic_name period symbol"}},
       {{time "e.callback_start_timestamp"}} AS callback_start_time, CASE WHEN e.kind = 'timer' THEN 'due' ELSE 'publish' END AS since,
       {{of "k" "delay_timestamp latency other_callbacks executor preempted_time blocked_time wakeup_latency behind_time"}},
       x.callback AS behind_callback, x.node_name AS behind_node_name, x.kind AS behind_kind, x.topic_name AS behind_topic_name, x.symbol AS behind_symbol
FROM execution e
LEFT JOIN longest k ON {{equal "e" "k" "boot_id pid process_start tid callback callback_start_timestamp"}}
LEFT JOIN callback_execution x
  ON {{equal "k" "x" "boot_id pid process_start tid"}} AND k.behind_callback = x.callback AND k.behind_start = x.callback_start_timestamp{{done}}

-- caret-bpf latency callback --before. Times are means, in nanoseconds, of the executions before which the parts are known.
{{create "callback_delay"}}
WITH ranked AS (
  SELECT delayed_execution.*,
         row_number() OVER (PARTITION BY boot_id, pid, process_start, owner, owner_init_timestamp
                            ORDER BY latency DESC NULLS LAST, callback_start_timestamp) AS choice
  FROM delayed_execution
)
SELECT boot_id, pid, process_start, {{some "node_name"}} AS node_name, {{some "kind"}} AS kind, {{some "topic_name"}} AS topic_name,
       {{some "period"}} AS period, {{some "symbol"}} AS symbol, {{some "since"}} AS since,
       count(latency) AS count, count(*) - count(latency) AS unknown, {{mean "latency"}} AS mean,
       {{mean "other_callbacks"}} AS other_callbacks, {{mean "executor"}} AS executor,
       {{mean "preempted_time"}} AS preempted_time, {{mean "blocked_time"}} AS blocked_time,
       {{mean "wakeup_latency"}} AS wakeup_latency, max(latency) AS longest,
       max(CASE WHEN choice = 1 THEN behind_node_name END) AS longest_behind_node_name,
       max(CASE WHEN choice = 1 THEN behind_topic_name END) AS longest_behind_topic_name,
       max(CASE WHEN choice = 1 THEN behind_symbol END) AS longest_behind_symbol, max(CASE WHEN choice = 1 THEN behind_time END) AS longest_behind_time
FROM ranked
GROUP BY boot_id, pid, process_start, owner, owner_init_timestamp{{done}}

-- Publishes of a node, as in node_hop, with the parts of the time since the callback started: caret-bpf latency path --why, of hops in nodes. Where it
-- is not known, and of a message that the callback had polled, the parts are null.
{{create "node_hop_parts"}}
WITH off AS (
  {{template "off_rows" ""}}
), mark AS ( -- what threads did, and the two instants of each hop
  SELECT boot_id, pid, process_start, tid, callback_start_timestamp AS instant, 0 AS side,
         callback_start_timestamp AS ran_from, until AS ran_until, CASE WHEN is_known THEN 0 ELSE 1 END AS is_unknown,
         {{template "no_off_columns"}}, {{bigint "NULL"}} AS lost_until, {{bigint "NULL"}} AS publish_number, {{text "NULL"}} AS subscription_topic_name,
         {{bigint "NULL"}} AS callback_start_timestamp, {{bigint "NULL"}} AS latency
  FROM outermost_callback
  UNION ALL
  SELECT {{of "t" "boot_id pid process_start tid"}}, l.from_timestamp, 0, NULL, NULL, NULL, {{template "nulls"}}, l.until, NULL, NULL, NULL, NULL
  FROM (SELECT DISTINCT boot_id, pid, process_start, tid FROM callback) t CROSS JOIN off_cpu_lost l
  UNION ALL
  SELECT boot_id, pid, process_start, tid, off, 2, NULL, NULL, NULL, {{template "off_columns"}}, NULL, NULL, NULL, NULL, NULL FROM off
  UNION ALL
  SELECT {{of "h" "boot_id pid process_start tid"}}, CASE WHEN s.side = 1 THEN h.publish_timestamp ELSE h.callback_start_timestamp END, {{of "s" "side"}},
         NULL, NULL, NULL, {{template "nulls"}}, NULL, h.publish_number, h.subscription_topic_name, h.callback_start_timestamp, h.latency
  FROM node_hop h CROSS JOIN (SELECT 1 AS side UNION ALL SELECT 3 AS side) s
  WHERE h.callback_start_timestamp = h.publish_callback_start_timestamp
), marked AS (
  SELECT boot_id, pid, process_start, tid, instant, side, publish_number, subscription_topic_name, callback_start_timestamp, latency,
         {{last "ran_from"}} OVER until_now AS ran_from, {{last "ran_until"}} OVER until_now AS ran_until, {{last "is_unknown"}} OVER until_now AS is_unknown,
         {{template "last_off_columns"}}, max(lost_until) OVER until_now AS lost_until
  FROM mark WINDOW until_now AS {{template "until_now"}}
), part AS (
  SELECT boot_id, pid, process_start, tid, publish_number, subscription_topic_name, callback_start_timestamp, latency,
         max(CASE WHEN side = 1 AND is_unknown = 0 AND instant <= ran_until AND callback_start_timestamp >= ran_from
                   AND coalesce(lost_until < callback_start_timestamp, true) THEN 1 END) AS is_known,
         {{template "off_parts"}}
  FROM marked WHERE publish_number IS NOT NULL
  GROUP BY boot_id, pid, process_start, tid, publish_number, subscription_topic_name, callback_start_timestamp, latency
), known AS (
  SELECT part.*, latency - preempted_time - blocked_time - wakeup_latency AS cpu_time FROM part WHERE is_known = 1 AND unknown_times <= 0
)
SELECT {{of "h" "node_name pid subscription_topic_name publisher_topic_name callback_start_timestamp callback_end_timestamp"}},
       {{of "h" "publish_callback_start_timestamp publish_timestamp publish_time latency boot_id process_start tid callback publish_number"}},
       {{of "p" "cpu_time preempted_time blocked_time wakeup_latency"}}
FROM node_hop h
LEFT JOIN (SELECT * FROM known WHERE cpu_time >= 0) p
  ON {{equal "h" "p" "boot_id pid process_start tid publish_number subscription_topic_name"}}{{done}}

-- Times at which callbacks were preempted, by a thread that is known: those of each callback that ran in no other one, also within the ones that were
-- nested in it, and of each nested one those that name it.
{{create "preemption"}}
WITH mark AS (
  SELECT boot_id, pid, process_start, tid, callback_start_timestamp AS instant, 0 AS side, callback, callback_start_timestamp, until,
         {{bigint "NULL"}} AS sched_in_timestamp, {{text "NULL"}} AS other_command, {{integer "NULL"}} AS other_pid, {{integer "NULL"}} AS other_tid
  FROM outermost_callback
  UNION ALL
  SELECT boot_id, pid, process_start, tid, sched_out_timestamp, 1, NULL, NULL, NULL, sched_in_timestamp, other_command, other_pid, other_tid
  FROM sched WHERE kind = 'preempted' AND other_command IS NOT NULL
), placed AS (
  SELECT boot_id, pid, process_start, tid, instant, side, sched_in_timestamp, other_command, other_pid, other_tid, {{last "callback"}} OVER until_now AS callback,
         {{last "callback_start_timestamp"}} OVER until_now AS callback_start_timestamp, {{last "until"}} OVER until_now AS until
  FROM mark WINDOW until_now AS {{template "until_now"}}
)
SELECT boot_id, pid, process_start, tid, callback, callback_start_timestamp, instant AS sched_out_timestamp,
       CASE WHEN sched_in_timestamp < until THEN sched_in_timestamp ELSE until END AS sched_in_timestamp, other_command, other_pid, other_tid
FROM placed WHERE side = 1 AND instant < until
UNION ALL
SELECT {{of "s" "boot_id pid process_start tid callback callback_start_timestamp sched_out_timestamp sched_in_timestamp other_command other_pid other_tid"}}
FROM sched s JOIN callback c ON {{equal "s" "c" "boot_id pid process_start tid callback callback_start_timestamp"}}
WHERE c.depth > 0 AND s.kind = 'preempted' AND s.other_command IS NOT NULL{{done}}

-- The thread that had the CPU for most of the preempted time of a callback: caret-bpf latency callback --why, but for times within callbacks that were
-- nested in one that was nested itself. preempted_by_time is its part of the mean preempted_time.
{{create "callback_preempter"}}
WITH known AS (
  SELECT callback_execution.*, count(*) OVER (PARTITION BY boot_id, pid, process_start, owner, owner_init_timestamp) AS executions
  FROM callback_execution WHERE cpu_time IS NOT NULL
), total AS (
  SELECT {{of "k" "boot_id pid process_start owner owner_init_timestamp"}}, {{some "k.node_name"}} AS node_name, {{some "k.kind"}} AS kind,
         {{some "k.topic_name"}} AS topic_name, {{some "k.period"}} AS period, {{some "k.symbol"}} AS symbol, max(k.executions) AS executions,
         {{of "p" "other_command other_pid other_tid"}}, {{bigint "sum(p.sched_in_timestamp - p.sched_out_timestamp)"}} AS total
  FROM known k JOIN preemption p ON {{equal "k" "p" "boot_id pid process_start tid callback callback_start_timestamp"}}
  GROUP BY k.boot_id, k.pid, k.process_start, k.owner, k.owner_init_timestamp, p.other_command, p.other_pid, p.other_tid
), ranked AS (
  SELECT total.*, row_number() OVER (PARTITION BY boot_id, pid, process_start, owner, owner_init_timestamp
                                     ORDER BY total DESC, other_pid, other_tid, other_command) AS choice
  FROM total
)
SELECT boot_id, pid, process_start, node_name, kind, topic_name, period, symbol, other_command AS preempted_by, other_pid AS preempted_by_pid,
       other_tid AS preempted_by_tid, {{bigint (div "(2 * total + executions)" "(2 * executions)")}} AS preempted_by_time
FROM ranked WHERE choice = 1{{done}}

-- The same of each hop in node_hop_parts of which the parts are known. preempted_by_time is its part of the preempted_time.
{{create "node_hop_preempter"}}
WITH total AS (
  SELECT {{of "h" "boot_id pid process_start tid publish_number subscription_topic_name callback_start_timestamp"}},
         {{of "p" "other_command other_pid other_tid"}},
         {{bigint "sum(CASE WHEN p.sched_in_timestamp < h.publish_timestamp THEN p.sched_in_timestamp ELSE h.publish_timestamp END - p.sched_out_timestamp)"}} AS total
  FROM node_hop_parts h JOIN preemption p ON {{equal "h" "p" "boot_id pid process_start tid callback callback_start_timestamp"}}
  WHERE h.cpu_time IS NOT NULL AND p.sched_out_timestamp < h.publish_timestamp
  GROUP BY h.boot_id, h.pid, h.process_start, h.tid, h.publish_number, h.subscription_topic_name, h.callback_start_timestamp,
           p.other_command, p.other_pid, p.other_tid
), ranked AS (
  SELECT total.*, row_number() OVER (PARTITION BY boot_id, pid, process_start, tid, publish_number, subscription_topic_name
                                     ORDER BY total DESC, other_pid, other_tid, other_command) AS choice
  FROM total
)
SELECT boot_id, pid, process_start, tid, publish_number, subscription_topic_name, callback_start_timestamp, other_command AS preempted_by,
       other_pid AS preempted_by_pid, other_tid AS preempted_by_tid, total AS preempted_by_time
FROM ranked WHERE choice = 1{{done}}
