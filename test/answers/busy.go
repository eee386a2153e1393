package answers

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
)

// PathParts is the view of the answer that joins several, as docs/queries.md does.
const PathParts = "a path's parts"

// OfBusy asks where the time before callbacks and along a path went, and who preempted them, of a BusyDataset.
func OfBusy(t *testing.T, d *trace.Dataset) []Answer {
	t.Helper()
	q, err := analyze.NewQuery(t.Context(), analyze.Filter{}, d)
	if err != nil {
		t.Fatal(err)
	}
	if err := q.LoadActivity(t.Context()); err != nil {
		t.Fatal(err)
	}
	return append(append(delays(t, q), preempters(t, q)), pathParts(t, q)...)
}

// symbolsByName are the functions of the callbacks that Go names.
func symbolsByName(q *analyze.Query) map[string]string {
	symbols := map[string]string{"": "null"}
	for _, n := range q.Architecture.Nodes {
		for _, c := range n.Callbacks {
			symbols[c.Name] = c.Symbol
		}
	}
	return symbols
}

// delays asks for the parts of the time before callbacks, execution by execution, and their means.
func delays(t *testing.T, q *analyze.Query) []Answer {
	t.Helper()
	symbols := symbolsByName(q)
	var series, means []string
	results, err := q.CallbackDelays(t.Context(), func(rows []analyze.DelayedExecution) error {
		for _, r := range rows {
			series = append(series, Line(r.PID, r.Node, r.Kind, r.Symbol, r.TID, r.Begin, r.Latency, r.Since, r.OtherCallbacks, r.Executor, r.PreemptedTime, r.BlockedTime,
				r.WakeupLatency, symbols[r.Behind], r.BehindTime))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	unknown := uint64(0)
	for _, r := range results {
		unknown += r.Unknown
		means = append(means, Line(r.Node, r.Kind, r.Period, r.Symbol, r.Since, r.Count, r.Unknown, r.Mean, r.OtherCallbacks, r.Executor, r.PreemptedTime, r.BlockedTime,
			r.WakeupLatency, r.Longest, symbols[r.LongestBehind], r.LongestBehindTime))
	}
	if unknown*50 < uint64(len(series)) {
		t.Errorf("%d delays are known, %d are not", len(series), unknown)
	}
	return []Answer{{
		View: "delayed_execution",
		Query: `SELECT pid, node_name, kind, symbol, tid, callback_start_timestamp, latency, since, other_callbacks, executor, preempted_time, blocked_time,
			wakeup_latency, behind_symbol, behind_time FROM delayed_execution WHERE latency IS NOT NULL`,
		Want: series,
	}, {
		View: "callback_delay",
		Query: `SELECT node_name, kind, period, symbol, since, count, unknown, mean, other_callbacks, executor, preempted_time, blocked_time,
			wakeup_latency, longest, longest_behind_symbol, longest_behind_time FROM callback_delay`,
		Want: means,
	}}
}

// preempters asks who preempted callbacks. Callbacks that are nested in others are left out: their times off the CPU
// are named after the outer ones here.
func preempters(t *testing.T, q *analyze.Query) Answer {
	t.Helper()
	results, err := q.CallbackParts(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, r := range results {
		if r.Kind == trace.KindSubscription {
			want = append(want, Line(r.Node, r.Topic, r.PreemptedBy, r.PreemptedByPID.Value, r.PreemptedByTID.Value, r.PreemptedByTime))
		}
	}
	return Answer{
		View: "callback_preempter",
		Query: `SELECT node_name, topic_name, preempted_by, preempted_by_pid, preempted_by_tid, preempted_by_time
			FROM callback_preempter WHERE kind = 'subscription'`,
		Want: want,
	}
}

// wayParts joins the hops of a path as docs/queries.md does.
const wayParts = `SELECT first.delay_timestamp, first.latency, first.other_callbacks, first.executor, first.preempted_time, first.blocked_time, first.wakeup_latency, first.behind_time,
	hop.latency, hop.cpu_time, hop.preempted_time, hop.blocked_time, hop.wakeup_latency,
	next.latency, next.other_callbacks, next.executor, next.preempted_time, next.blocked_time, next.wakeup_latency, next.behind_time
FROM delayed_execution AS first
JOIN node_hop_parts AS hop
  ON hop.boot_id = first.boot_id AND hop.pid = first.pid AND hop.process_start = first.process_start AND hop.tid = first.tid
 AND hop.callback = first.callback AND hop.callback_start_timestamp = first.callback_start_timestamp
JOIN communication AS c
  ON c.publisher_boot_id = hop.boot_id AND c.publisher_pid = hop.pid AND c.publisher_process_start = hop.process_start
 AND c.publisher_tid = hop.tid AND c.publish_number = hop.publish_number
JOIN delayed_execution AS next
  ON next.boot_id = c.boot_id AND next.pid = c.subscription_pid AND next.process_start = c.process_start AND next.tid = c.tid
 AND next.callback = c.callback AND next.callback_start_timestamp = c.callback_start_timestamp
WHERE first.topic_name = '/points' AND next.topic_name = '/objects'
  AND first.latency IS NOT NULL AND hop.cpu_time IS NOT NULL AND next.latency IS NOT NULL`

// ofTheWay are hops in nodes that follow a message on the path.
const ofTheWay = ` AS hop
	JOIN (SELECT publisher_tid AS tid, publish_number FROM communication) AS sent ON sent.tid = hop.tid AND sent.publish_number = hop.publish_number
	JOIN (SELECT tid, callback, callback_start_timestamp FROM communication) AS received
	  ON received.tid = hop.tid AND received.callback = hop.callback AND received.callback_start_timestamp = hop.callback_start_timestamp`

// pathParts asks for the parts of a path's hops, way by way, and who preempted them.
func pathParts(t *testing.T, q *analyze.Query) []Answer {
	t.Helper()
	paths, err := q.Architecture.FindPaths("[/sensor]-[/points]-[/filter]-[/objects]-[/actuator]")
	if err != nil {
		t.Fatal(err)
	}
	ways := make(map[uint64][]analyze.PartedHop)
	var whole, hopParts, hopPreempters []string
	results, err := q.PathParts(t.Context(), paths, analyze.PathOptions{}, func(hops []analyze.PartedHop) error {
		for _, h := range hops {
			ways[h.Instance] = append(ways[h.Instance], h)
			if h.Kind != analyze.HopNode {
				continue
			}
			hopParts = append(hopParts, Line(h.Begin, h.Latency, h.CPUTime, h.PreemptedTime, h.BlockedTime, h.WakeupLatency))
			if h.PreemptedBy != "" {
				hopPreempters = append(hopPreempters, Line(h.Begin, h.PreemptedBy, h.PreemptedByPID.Value, h.PreemptedByTID.Value, h.PreemptedByTime))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, hops := range ways {
		if len(hops) < 3 {
			continue
		}
		first, in, next := hops[0], hops[1], hops[2]
		delay := func(h analyze.PartedHop) string {
			return Line(h.Latency, h.OtherCallbacks, h.Executor, h.PreemptedTime, h.BlockedTime, h.WakeupLatency, h.BehindTime)
		}
		whole = append(whole, Line(first.Begin, delay(first), in.Latency, in.CPUTime, in.PreemptedTime, in.BlockedTime, in.WakeupLatency, delay(next)))
	}
	if uint64(len(whole)) != results[0].Count || len(hopPreempters)*10 < len(whole) || results[0].Unknown*20 < results[0].Count {
		t.Errorf("%d ways, %d hops with a preempter, of %+v", len(whole), len(hopPreempters), results[0])
	}
	return []Answer{
		{View: PathParts, Query: wayParts, Want: whole},
		{
			View: "node_hop_parts",
			Query: `SELECT hop.callback_start_timestamp, hop.latency, hop.cpu_time, hop.preempted_time, hop.blocked_time, hop.wakeup_latency
				FROM node_hop_parts` + ofTheWay + ` WHERE hop.cpu_time IS NOT NULL`,
			Want: hopParts,
		},
		{
			View: "node_hop_preempter",
			Query: `SELECT hop.callback_start_timestamp, hop.preempted_by, hop.preempted_by_pid, hop.preempted_by_tid, hop.preempted_by_time
				FROM (SELECT p.*, h.callback FROM node_hop_preempter AS p JOIN node_hop AS h
				      ON h.boot_id = p.boot_id AND h.pid = p.pid AND h.process_start = p.process_start AND h.tid = p.tid
				     AND h.publish_number = p.publish_number AND h.subscription_topic_name = p.subscription_topic_name)` + ofTheWay,
			Want: hopPreempters,
		},
	}
}
