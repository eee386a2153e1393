// Answers of the made-up system, in the forms of caret-bpf's.

import { callbacks, nodes, pathNodes, pathTopics, processes, publisherOf, simulate, threads, topics } from "./simulate.mjs";

const bins = 512;
const mostExact = 4000;
const longest = 5e8; // no execution and no message takes longer

function statistics(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const rank = (share) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;
  return {
    count: sorted.length, min: sorted[0] ?? null, mean: sorted.length ? Math.round(sorted.reduce((a, b) => a + b, 0) / sorted.length) : null,
    p50: rank(0.5), p90: rank(0.9), p99: rank(0.99), p99_9: rank(0.999), max: sorted.at(-1) ?? null,
  };
}
const statisticColumns = ["count", "rate", "min", "mean", "p50", "p90", "p99", "p99_9", "max", "percentiles_exact"];
const statisticValues = (s, duration) => [s.count, s.count / duration * 1e9, s.min, s.mean, s.p50, s.p90, s.p99, s.p99_9, s.max, true];
const rowsOf = (columns, objects, extra = {}) => ({ columns, rows: objects, ...extra });

/** The system after so many images, each of which makes about ten callbacks. */
export function makeSystem(rounds = 10000) {
  const { duration, executions, publishes, messages, ways } = simulate(rounds);
  const levels = Math.max(0, Math.ceil(Math.log2(duration / 1e6)));
  const pathText = pathNodes.map((node, i) => `[${nodes[node].name}]${i < pathTopics.length ? `-[${topics[pathTopics[i]].name}]-` : ""}`).join("");
  const lost = new Map();
  for (const { fate, times } of ways) if (fate === "lost") lost.set(pathTopics[(times.length - 1) >> 1], (lost.get(pathTopics[(times.length - 1) >> 1]) ?? 0) + 1);

  const pairs = new Map();
  for (const message of messages) {
    const key = `${message.topic} ${message.subscriber}`;
    if (!pairs.has(key)) pairs.set(key, { ...message, latencies: [], begins: [] });
    pairs.get(key).latencies.push(message.toTime - message.fromTime);
    pairs.get(key).begins.push(message.fromTime);
  }
  const communications = [...pairs.values()].map((pair) => ({ ...pair, statistics: statistics(pair.latencies) })).sort((a, b) => b.statistics.p99 - a.statistics.p99);
  const ofCallback = callbacks.map(({ id }) => executions.filter((execution) => execution.callback === id));
  const latencies = (id) => ofCallback[id].filter(({ end }) => end !== null).map(({ begin, end }) => end - begin);
  const label = (id) => {
    const { name, node, kind, topic, period, symbol } = callbacks[id];
    return [processes[nodes[node].process].pid, nodes[node].name, name, kind, topic === null ? null : topics[topic].name, period, symbol];
  };
  const labels = ["pid", "node_name", "callback_name", "kind", "topic_name", "period", "symbol"];
  const differences = (times) => times.slice(1).map((time, i) => time - times[i]);
  const published = [...publisherOf].map(([topic, { node }]) => ({ topic, node, times: publishes.filter((publish) => publish.topic === topic).map(({ t }) => t) })).filter(({ times }) => times.length > 0);

  const begin = "1763000000123456789";
  const answers = {
    recording: () => ({
      version: "v0-mock", report: false, part: false, begin, duration,
      datasets: [{ path: "rec", host: "robot", begin, end: null, callbacks: executions.length, session: { targets: ["--name pipeline"], profile: "default", attributes: { route: "north", vehicle: "bus-7" } } }],
      baseline: [{ path: "rec-before", host: "robot", begin, end: null, callbacks: 1000, session: {} }],
      scheduling: true, offCpu: true, warnings: ["12 records of perception (4200) were lost: messages may be called lost that were not"],
      lost: { records: 12, blindSpans: 1, text: "12 records were lost, and perception (4200) was not seen for 1.50 s" },
      processes, threads, nodes, topics, callbacks, levels,
    }),
    connections: () => ({ nodes: nodes.map(({ id }) => id), edges: communications.map(({ topic, publisher, subscriber }) => ({ topic, from: publisher, to: subscriber })) }),
    graph: () => ({
      nodes: nodes.map(({ id }) => id),
      edges: communications.map(({ topic, publisher, subscriber, statistics: s }, communication) => ({
        communication,
        topic, from: publisher, to: subscriber, transport: ["inter_process"], count: s.count, rate: s.count / duration * 1e9,
        min: s.min, mean: s.mean, p50: s.p50, p99: s.p99, max: s.max, lost: lost.get(topic) ?? 0, open: 0, unknown: 0,
      })),
    }),
    callbacks: () => {
      const ids = callbacks.map(({ id }) => id).sort((a, b) => (statistics(latencies(b)).p99 ?? 0) - (statistics(latencies(a)).p99 ?? 0));
      const parts = ["cpu_time", "preempted_time", "blocked_time", "wakeup_latency"];
      const preempter = ["preempted_by", "preempted_by_pid", "preempted_by_tid", "preempted_by_time"];
      return {
        ...rowsOf([...labels, ...statisticColumns, "incomplete"], ids.map((id) => [...label(id), ...statisticValues(statistics(latencies(id)), duration), ofCallback[id].filter(({ end }) => end === null).length]), { ids }),
        parts: rowsOf([...labels, "count", "mean", ...parts, ...preempter, "longest", "unknown"], ids.map((id) => {
          const { count, mean, max } = statistics(latencies(id));
          return [...label(id), count, mean, Math.round(mean * 0.7), Math.round(mean * 0.15), Math.round(mean * 0.1), mean - Math.round(mean * 0.7) - Math.round(mean * 0.15) - Math.round(mean * 0.1), "hog", 4200, 4201, Math.round(mean * 0.1), max, 1];
        }), { ids }),
      };
    },
    delays: () => {
      const ids = callbacks.map(({ id }) => id);
      return rowsOf([...labels, "since", "count", "mean", "other_callbacks", "executor", "preempted_time", "blocked_time", "wakeup_latency", "longest", "longest_behind", "longest_behind_time", "unknown"],
        ids.map((id) => [...label(id), "publish", 10, 1e6, 6e5, 1e5, 1e5, 1e5, 1e5, 3e6, "/map_server/callback_0", 2e6, 1]), { ids });
    },
    offcpus: () => {
      const ids = callbacks.map(({ id }) => id);
      return rowsOf([...labels, "off_cpu", "other_command", "count", "total", "mean", "longest"], ids.map((id) => [...label(id), "preempted", "hog", 10, 1e6, 1e5, 3e5]), { ids });
    },
    communications: () => rowsOf(["topic_name", "publisher_node_name", "publisher_pid", "subscription_node_name", "subscription_pid", "transport", ...statisticColumns, "lost", "open", "unknown", "joined_by_topic", "clock_uncertainty"],
      communications.map(({ topic, publisher, subscriber, statistics: s }) => [topics[topic].name, nodes[publisher].name, processes[nodes[publisher].process].pid, nodes[subscriber].name, processes[nodes[subscriber].process].pid, "inter_process",
        ...statisticValues(s, duration), lost.get(topic) ?? 0, 0, 0, 0, null]), { topics: communications.map(({ topic }) => topic) }),
    timers: () => {
      const ids = callbacks.filter(({ kind }) => kind === "timer").map(({ id }) => id);
      return rowsOf(["node_name", "pid", "callback_name", "kind", "timer_period", "measure", ...statisticColumns, "missed"],
        ids.map((id) => [nodes[callbacks[id].node].name, label(id)[0], callbacks[id].name, "timer", callbacks[id].period, "period", ...statisticValues(statistics(differences(ofCallback[id].map((one) => one.begin))), duration), null]), { ids });
    },
    topics: () => rowsOf(["node_name", "pid", "topic_name", "measure", ...statisticColumns],
      published.map(({ topic, node, times }) => [nodes[node].name, processes[nodes[node].process].pid, topics[topic].name, "period", ...statisticValues(statistics(differences(times)), duration)]), { topics: published.map(({ topic }) => topic) }),
    loads: () => rowsOf(["pid", "tid", "node_name", "kind", "topic_name", "count", "busy", "recorded", "share", "peak"], threads.map(({ id, tid, process }) => {
      const own = executions.filter(({ thread, depth }) => thread === id && depth === 0);
      const busy = own.reduce((sum, { begin: from, end }) => sum + ((end ?? from) - from), 0);
      return [processes[process].pid, tid, null, null, null, own.length, busy, duration, busy / duration * 100, Math.min(100, busy / duration * 130)];
    })),
    losses: () => ({
      rows: [
        { begin: Math.round(duration * 0.3), end: Math.round(duration * 0.315), reason: "unarmed", count: null, process: 1, text: "libfoo.so of perception (4200) was mapped before it was probed" },
        { begin: Math.round(duration * 0.6), end: null, reason: "ring_buffer_full", count: 12, process: null, text: "12 records found no room in the ring buffer" },
      ],
    }),
    paths: () => ({
      paths: [{ id: 0, text: pathText, nodes: pathNodes, topics: pathTopics }],
      complete: true,
    }),
    compare: () => ({
      entities: [{ change: "came", kind: "node", name: "/map_server", recordings: 1 }],
      latencies: callbacks.slice(0, 8).map(({ name }, i) => {
        const median = statistics(latencies(i)).p50;
        return {
          kind: "callback", name, recordings_a: 1, recordings_b: 1, count_a: 1000, count_b: ofCallback[i].length, effective_a: 900, effective_b: 950, median_a: median, median_b: Math.round(median * (i === 2 ? 1.4 : 1.01)), medians_exact: true,
          change: Math.round(median * (i === 2 ? 0.4 : 0.01)), percent: i === 2 ? 40 : 1, run_noise_percent: 3, run_noise_from: "assumed", detectable_percent: i === 5 ? null : 16.7, p: i === 2 ? 0.01 : 100, verdict: i === 2 ? "changed" : i === 5 ? "too_short" : "noise",
        };
      }),
      callbacks: callbacks.slice(0, 8).map(({ id }) => id), communications: callbacks.slice(0, 8).map(() => null),
      noise: { recordings_a: 1, recordings_b: 1, assumed_percent: 3, permutation_recordings: 5 }, warnings: [],
    }),
    comparedparts: () => null, // recorded on neither side
    progress: () => ({ read: 1, total: 1 }),
    tile: ({ level, index }) => tile(Number(level), Number(index)),
    offcpu: ({ level, index }) => {
      const [from, to] = spanOf(Number(level), Number(index));
      const own = overlapping(executions, from, to, ({ begin: at }) => at, ({ begin: at, end }) => end ?? at).filter(({ callback }) => callback === 3).slice(0, 4000);
      return { thread: own.map(({ thread }) => thread), kind: own.map((_, i) => ["preempted", "blocked", "woken"][i % 3]), from: own.map(({ begin: at }) => at + 1e5), to: own.map(({ begin: at }) => at + 3e5), other: own.map((_, i) => [null, "hog", "kworker/0:1"][i % 3]) };
    },
    path: () => {
      const hops = pathNodes.slice(1).flatMap((node, i) => [{ kind: "communication", name: topics[pathTopics[i]].name, at: 2 * i }, ...(i + 2 < pathNodes.length ? [{ kind: "node", name: nodes[node].name, at: 2 * i + 1 }] : [])]);
      const whole = ways.filter(({ fate }) => fate === "received");
      const every = Math.max(1, Math.ceil(whole.length / 2000));
      const slow = new Set([...whole].sort((a, b) => b.times.at(-1) - b.times[0] - a.times.at(-1) + a.times[0]).slice(0, 50));
      const shown = whole.filter((way, i) => i % every === 0 || slow.has(way));
      const row = (hop, kind, name, values) => [pathText, hop, kind, name, null, ...statisticValues(statistics(values), duration), ways.length, ways.length - values.length];
      const parts = ["cpu_time", "other_callbacks", "executor", "preempted_time", "blocked_time", "wakeup_latency"];
      const part = (hop, kind, name, values) => {
        const { count, mean, max } = statistics(values);
        const isNode = kind === "node";
        return [pathText, hop, kind, name, count, mean, isNode ? mean : 0, isNode ? 0 : Math.round(mean * 0.8), isNode ? 0 : mean - Math.round(mean * 0.8), 0, 0, 0, max, isNode ? null : "/map_server/callback_0", 0];
      };
      const totals = whole.map(({ times }) => times.at(-1) - times[0]);
      const byHop = hops.map(({ at }) => whole.map(({ times }) => times[at + 1] - times[at]));
      return {
        hops: rowsOf(["path", "hop", "kind", "name", "context", ...statisticColumns, "messages", "dropped_messages"], [row(0, "path", pathText, totals), ...hops.map(({ kind, name }, i) => row(i + 1, kind, name, byHop[i]))]),
        parts: rowsOf(["path", "hop", "kind", "name", "count", "mean", ...parts, "longest", "longest_behind", "unknown"], [part(0, "path", pathText, totals), ...hops.map(({ kind, name }, i) => part(i + 1, kind, name, byHop[i]))]),
        series: [{ t: shown.map(({ times }) => times[0]), hops: hops.map(({ at }) => shown.map(({ times }) => times[at + 1] - times[at])), total: shown.map(({ times }) => times.at(-1) - times[0]) }],
        instances: whole.length, messages: whole.length, ways: whole.length, shown: shown.length, warnings: [],
      };
    },
    flow: ({ from, to }) => {
      const within = ways.filter(({ times }) => times.at(-1) >= Number(from) && times[0] <= Number(to));
      const dropped = within.filter(({ fate }) => fate !== "received");
      const others = within.filter(({ fate }) => fate === "received");
      const every = Math.max(1, Math.ceil(others.length / (1500 - dropped.length)));
      const shown = [...dropped, ...others.filter((_, i) => i % every === 0)];
      const columns = [nodes[pathNodes[0]].name, ...pathNodes.slice(1).flatMap((node, i) => [topics[pathTopics[i]].name, nodes[node].name]).slice(0, -1)];
      return {
        columns, messages: shown, messagesTotal: within.length, ways: within.length, shown: shown.length,
        fates: { received: others.length, lost: dropped.length }, droppedShown: dropped.length, warnings: [],
      };
    },
    series: ({ subject, id, measure, from, to }) => {
      const times = subject === "callback" ? ofCallback[id].map((one) => one.begin) : subject === "communication" ? communications[id].begins : published[id].times;
      const own = subject === "callback" ? ofCallback[id].map(({ begin: at, end }) => (end === null ? null : end - at)) : communications[id]?.latencies;
      const values = measure === "latency" ? own : measure === "period" ? [null, ...differences(times)] : times.map(() => 100);
      const kept = times.map((t, i) => [t, values[i]]).filter(([t, value]) => value !== null && t >= Number(from) && t <= Number(to));
      const v = kept.map(([, value]) => value);
      const s = statistics(v);
      const edges = Array.from({ length: 41 }, (_, i) => s.min + (s.max - s.min + 1) * i / 40);
      const counts = edges.slice(1).map(() => 0);
      for (const value of v) counts[Math.min(39, Math.floor((value - s.min) / (s.max - s.min + 1) * 40))]++;
      const missing = measure === "latency" ? times.filter((_, i) => values[i] === null) : [];
      const common = { missing, missingTotal: missing.length, histogram: { edges, counts }, statistics: s };
      if (kept.length <= 4000) return { exact: true, t: kept.map(([t]) => t), v, ...common };
      const bucket = (Number(to) - Number(from)) / 1000;
      const buckets = Array.from({ length: 1000 }, () => []);
      for (const [t, value] of kept) buckets[Math.min(999, Math.floor((t - Number(from)) / bucket))].push(value);
      const each = buckets.map(statistics);
      return { exact: false, bucket, t: buckets.map((_, i) => Number(from) + i * bucket), count: each.map(({ count }) => count), min: each.map(({ min }) => min), p50: each.map(({ p50 }) => p50), max: each.map(({ max }) => max), ...common };
    },
  };

  function spanOf(level, index) {
    return [duration * (index / 2 ** level), duration * ((index + 1) / 2 ** level)];
  }

  /** What overlaps the span, of a list in the order of its begins. */
  function overlapping(list, from, to, beginOf, endOf) {
    let [low, high] = [0, list.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (beginOf(list[middle]) < from - longest) low = middle + 1;
      else high = middle;
    }
    const found = [];
    for (; low < list.length && beginOf(list[low]) < to; low++) if (endOf(list[low]) >= from) found.push(list[low]);
    return found;
  }

  const byFrom = [...messages].sort((a, b) => a.fromTime - b.fromTime);

  function tile(level, index) {
    const [from, to] = spanOf(level, index);
    const own = overlapping(executions, from, to, ({ begin: at }) => at, ({ begin: at, end }) => end ?? at);
    if (own.length > mostExact) return { exact: false, bins, threads: threads.map(({ id }) => coarse(own.filter(({ thread }) => thread === id), id, from, (to - from) / bins)) };
    const column = (list, name) => list.map((one) => one[name]);
    const sent = overlapping(publishes, from, to, ({ t }) => t, ({ t }) => t);
    const crossing = overlapping(byFrom, from, to, ({ fromTime }) => fromTime, ({ toTime }) => toTime);
    return {
      exact: true,
      callbacks: {
        ...Object.fromEntries(["thread", "callback", "begin", "end", "depth", "status"].map((name) => [name, column(own, name)])),
        until: own.map(({ status }) => (status === "recording_end" ? duration : null)),
      },
      more: false, longMissing: false,
      publishes: Object.fromEntries(["thread", "topic", "t"].map((name) => [name, column(sent, name)])),
      messages: Object.fromEntries(["topic", "fromThread", "fromTime", "toThread", "toTime"].map((name) => [name, column(crossing, name)])),
    };
  }

  function coarse(own, thread, from, bin) {
    const busy = new Array(bins).fill(0);
    const count = new Array(bins).fill(0);
    const longestOf = new Array(bins).fill(null);
    for (const { callback, begin: at, end, depth } of own) {
      const last = Math.min(bins - 1, Math.floor(((end ?? at) - from) / bin));
      for (let i = Math.max(0, Math.floor((at - from) / bin)); i <= last; i++) {
        if (depth === 0) busy[i] += Math.min(end ?? at, from + (i + 1) * bin) - Math.max(at, from + i * bin);
        count[i]++;
        if (!longestOf[i] || (end ?? at) - at > longestOf[i][2] - longestOf[i][1]) longestOf[i] = [callback, at, end];
      }
    }
    return { thread, busy: busy.map((time) => Math.min(255, Math.ceil(time / bin * 255))), count, longest: longestOf };
  }

  /** Every answer of a report: tiles down to a level. */
  function reportKeys(deepest) {
    const keys = ["recording", "graph", "callbacks", "communications", "timers", "topics", "loads", "losses", "delays", "offcpus", "paths", "compare", "comparedparts", `comparedparts?path=${encodeURIComponent(pathText)}`,
      `path?path=${encodeURIComponent(pathText)}`, `flow?path=${encodeURIComponent(pathText)}&from=0&to=${duration}`];
    for (const { id } of callbacks) for (const measure of ["latency", "period", "frequency"]) keys.push(`series?subject=callback&id=${id}&measure=${measure}&from=0&to=${duration}`);
    for (const [id] of communications.entries()) keys.push(`series?subject=communication&id=${id}&measure=latency&from=0&to=${duration}`);
    for (let level = 0; level <= Math.min(levels, deepest); level++) for (let index = 0; index < 2 ** level; index++) keys.push(`tile?level=${level}&index=${index}`);
    return keys;
  }

  return {
    duration, levels, executions, reportKeys,
    answer(key) {
      const [name, query = ""] = key.split("?");
      return answers[name]?.(Object.fromEntries(new URLSearchParams(query)));
    },
  };
}
