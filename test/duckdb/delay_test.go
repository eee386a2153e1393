package duckdb

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/test/answers"
	"github.com/caret-bpf/caret-bpf/trace"
)

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

// TestDelayViewsEqualGo compares the parts of the time before callbacks, execution by execution, and their means.
func TestDelayViewsEqualGo(t *testing.T) {
	d := busyDataset(t, 2000)
	q, err := analyze.NewQuery(t.Context(), analyze.Filter{}, d)
	if err != nil {
		t.Fatal(err)
	}
	symbols := symbolsByName(q)
	var want, wantMeans []string
	results, err := q.CallbackDelays(t.Context(), func(rows []analyze.DelayedExecution) error {
		for _, r := range rows {
			want = append(want, answers.Line(r.PID, r.Node, r.Kind, r.Symbol, r.TID, r.Begin, r.Latency, r.Since, r.OtherCallbacks, r.Executor, r.PreemptedTime, r.BlockedTime, r.WakeupLatency,
				symbols[r.Behind], r.BehindTime))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	unknown := uint64(0)
	for _, r := range results {
		unknown += r.Unknown
		wantMeans = append(wantMeans, answers.Line(r.Node, r.Kind, r.Period, r.Symbol, r.Since, r.Count, r.Unknown, r.Mean, r.OtherCallbacks, r.Executor, r.PreemptedTime, r.BlockedTime,
			r.WakeupLatency, r.Longest, symbols[r.LongestBehind], r.LongestBehindTime))
	}
	if len(want) < 5000 || unknown < 200 {
		t.Fatalf("%d delays are known, %d are not", len(want), unknown)
	}
	db := openViews(t, d)
	equalLines(t, want, lines(t, db, `SELECT pid, node_name, kind, symbol, tid, callback_start_timestamp, latency, since, other_callbacks, executor, preempted_time, blocked_time,
		wakeup_latency, behind_symbol, behind_time FROM delayed_execution WHERE latency IS NOT NULL`))
	equalLines(t, wantMeans, lines(t, db, `SELECT node_name, kind, period, symbol, since, count, unknown, mean, other_callbacks, executor, preempted_time, blocked_time,
		wakeup_latency, longest, longest_behind_symbol, longest_behind_time FROM callback_delay`))
}

// TestPreemptersInSQLEqualGo compares who preempted callbacks, in all and hop by hop. Callbacks that are nested in
// others are left out: their times off the CPU are named after the outer ones here.
func TestPreemptersInSQLEqualGo(t *testing.T) {
	d := busyDataset(t, 2000)
	q, err := analyze.NewQuery(t.Context(), analyze.Filter{}, d)
	if err != nil {
		t.Fatal(err)
	}
	results, err := q.CallbackParts(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var want, wantHops []string
	for _, r := range results {
		if r.Kind == trace.KindSubscription {
			want = append(want, answers.Line(r.Node, r.Topic, r.PreemptedBy, r.PreemptedByPID.Value, r.PreemptedByTID.Value, r.PreemptedByTime))
		}
	}
	if err := q.LoadActivity(t.Context()); err != nil {
		t.Fatal(err)
	}
	paths, err := q.Architecture.FindPaths("[/sensor]-[/points]-[/filter]-[/objects]-[/actuator]")
	if err != nil {
		t.Fatal(err)
	}
	_, err = q.PathParts(t.Context(), paths, analyze.PathOptions{}, func(hops []analyze.PartedHop) error {
		for _, h := range hops {
			if h.Kind == analyze.HopNode && h.PreemptedBy != "" {
				wantHops = append(wantHops, answers.Line(h.Begin, h.PreemptedBy, h.PreemptedByPID.Value, h.PreemptedByTID.Value, h.PreemptedByTime))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(want) != 2 || len(wantHops) < 200 {
		t.Fatalf("%d callbacks, %d hops", len(want), len(wantHops))
	}
	db := openViews(t, d)
	equalLines(t, want, lines(t, db, `SELECT node_name, topic_name, preempted_by, preempted_by_pid, preempted_by_tid, preempted_by_time
		FROM callback_preempter WHERE kind = 'subscription'`))
	equalLines(t, wantHops, lines(t, db, `SELECT callback_start_timestamp, preempted_by, preempted_by_pid, preempted_by_tid, preempted_by_time
		FROM node_hop_preempter AS hop
		JOIN (SELECT publisher_tid AS tid, publish_number FROM communication) USING (tid, publish_number)
		JOIN (SELECT boot_id, tid, callback_start_timestamp FROM communication) USING (boot_id, tid, callback_start_timestamp)`))
}

// pathParts joins the hops of a path as docs/queries.md does.
const pathParts = `SELECT first.delay_timestamp, first.latency, first.other_callbacks, first.executor, first.preempted_time, first.blocked_time, first.wakeup_latency, first.behind_time,
	hop.latency, hop.cpu_time, hop.preempted_time, hop.blocked_time, hop.wakeup_latency,
	next.latency, next.other_callbacks, next.executor, next.preempted_time, next.blocked_time, next.wakeup_latency, next.behind_time
FROM delayed_execution AS first
JOIN node_hop_parts AS hop USING (boot_id, pid, process_start, tid, callback, callback_start_timestamp)
JOIN communication AS c
  ON c.publisher_boot_id = hop.boot_id AND c.publisher_pid = hop.pid AND c.publisher_process_start = hop.process_start
 AND c.publisher_tid = hop.tid AND c.publish_number = hop.publish_number
JOIN delayed_execution AS next
  ON next.boot_id = c.boot_id AND next.pid = c.subscription_pid AND next.process_start = c.process_start AND next.tid = c.tid
 AND next.callback = c.callback AND next.callback_start_timestamp = c.callback_start_timestamp
WHERE first.topic_name = '/points' AND next.topic_name = '/objects'
  AND first.latency IS NOT NULL AND hop.cpu_time IS NOT NULL AND next.latency IS NOT NULL`

// TestPathPartsInSQLEqualGo compares the parts of a path's hops, way by way.
func TestPathPartsInSQLEqualGo(t *testing.T) {
	d := busyDataset(t, 2000)
	q, err := analyze.NewQuery(t.Context(), analyze.Filter{}, d)
	if err != nil {
		t.Fatal(err)
	}
	if err := q.LoadActivity(t.Context()); err != nil {
		t.Fatal(err)
	}
	paths, err := q.Architecture.FindPaths("[/sensor]-[/points]-[/filter]-[/objects]-[/actuator]")
	if err != nil {
		t.Fatal(err)
	}
	ways := make(map[uint64][]analyze.PartedHop)
	var want, wantHops []string
	results, err := q.PathParts(t.Context(), paths, analyze.PathOptions{}, func(hops []analyze.PartedHop) error {
		for _, h := range hops {
			ways[h.Instance] = append(ways[h.Instance], h)
			if h.Kind == analyze.HopNode {
				wantHops = append(wantHops, answers.Line(h.Begin, h.Latency, h.CPUTime, h.PreemptedTime, h.BlockedTime, h.WakeupLatency))
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
			return answers.Line(h.Latency, h.OtherCallbacks, h.Executor, h.PreemptedTime, h.BlockedTime, h.WakeupLatency, h.BehindTime)
		}
		want = append(want, answers.Line(first.Begin, delay(first), in.Latency, in.CPUTime, in.PreemptedTime, in.BlockedTime, in.WakeupLatency, delay(next)))
	}
	if uint64(len(want)) != results[0].Count || results[0].Count < 500 || results[0].Unknown < 100 {
		t.Fatalf("%d ways, of %+v", len(want), results[0])
	}
	db := openViews(t, d)
	equalLines(t, want, lines(t, db, pathParts))
	equalLines(t, wantHops, lines(t, db, `SELECT callback_start_timestamp, hop.latency, cpu_time, preempted_time, blocked_time, wakeup_latency
		FROM node_hop_parts AS hop
		JOIN (SELECT publisher_tid AS tid, publish_number, topic_name AS publisher_topic_name FROM communication) USING (tid, publish_number, publisher_topic_name)
		JOIN (SELECT boot_id, tid, callback, callback_start_timestamp FROM communication) USING (boot_id, tid, callback, callback_start_timestamp)
		WHERE cpu_time IS NOT NULL`))
}
