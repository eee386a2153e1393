package answers

import (
	"math"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// OfLake asks of the views of a lake what they answer about a recording that was published with these paths.
func OfLake(t *testing.T, d *trace.Dataset, recording, vehicle string, paths func(*analyze.Query) ([]*system.Path, error), options analyze.PathOptions) []Answer {
	t.Helper()
	query := func() *analyze.Query {
		q, err := analyze.NewQuery(t.Context(), analyze.Filter{}, d)
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	all := []Answer{
		lakeCallbackLatency(t, query()), callbackWhy(t, query()), lakeCommunicationLatency(t, query()), pathLatency(t, query(), paths, options),
		responseTime(t, query(), paths, options), lakeNodeLatency(t, query()), lakeServiceLatency(t, query()),
		period(t, query()), frequency(t, query()), lossSummary(t, query()),
	}
	for i := range all {
		a := &all[i]
		if len(a.Want) == 0 {
			t.Errorf("Go has no rows of %s", a.View)
		}
		for row := range a.Want {
			a.Want[row] = vehicle + " | " + a.Want[row]
		}
		a.Query = strings.Replace(a.Query, "SELECT ", "SELECT coalesce(vehicle, ''), ", 1) + " WHERE recording_id = '" + recording + "'"
	}
	return all
}

func lakeCallbackLatency(t *testing.T, q *analyze.Query) Answer {
	t.Helper()
	results, err := q.CallbackLatency(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, r := range results {
		want = append(want, Line(r.Node, r.Kind, r.Topic, r.Symbol, r.Period, r.PID, r.Count, r.Min, r.Mean, r.P50, r.P90, r.P99, r.P999, r.Max, thousandths(r.Rate)))
	}
	return Answer{
		View: "callback_latency",
		Query: `SELECT node_name, kind, coalesce(topic_name, ''), coalesce(symbol, ''), period, pid, count, min, mean, p50, p90, p99, p99_9, max,
			` + rateThousandths + ` FROM callback_latency`,
		Want: want,
	}
}

func lakeCommunicationLatency(t *testing.T, q *analyze.Query) Answer {
	t.Helper()
	results, err := q.CommunicationLatency(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, r := range results {
		if r.Count+r.Lost+r.Open+r.Unknown > 0 {
			want = append(want, Line(r.Topic, r.PublisherNode, r.PublisherPID, r.SubscriptionNode, r.SubscriptionPID, r.Transport,
				r.Count, r.Min, r.Mean, r.P50, r.P90, r.P99, r.P999, r.Max, r.JoinedByTopic, r.Lost, r.Open, r.Unknown))
		}
	}
	return Answer{
		View: "communication_latency",
		Query: `SELECT topic_name, publisher_node_name, publisher_pid, subscription_node_name, subscription_pid, transport,
			count, min, mean, p50, p90, p99, p99_9, max, joined_by_topic, lost, still_open, unknown FROM communication_latency`,
		Want: want,
	}
}

func pathLatency(t *testing.T, q *analyze.Query, find func(*analyze.Query) ([]*system.Path, error), options analyze.PathOptions) Answer {
	t.Helper()
	paths, err := find(q)
	if err != nil {
		t.Fatal(err)
	}
	results, err := q.PathLatency(t.Context(), paths, options, nil)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, r := range results {
		if r.Count > 0 {
			want = append(want, Line(r.Path, r.Hop, r.Count, r.Min, r.Mean, r.P50, r.P90, r.P99, r.P999, r.Max))
		}
	}
	return Answer{
		View:  "path_latency",
		Query: "SELECT path, hop, count, min, mean, p50, p90, p99, p99_9, max FROM path_latency",
		Want:  want,
	}
}

func responseTime(t *testing.T, q *analyze.Query, find func(*analyze.Query) ([]*system.Path, error), options analyze.PathOptions) Answer {
	t.Helper()
	paths, err := find(q)
	if err != nil {
		t.Fatal(err)
	}
	results, err := q.ResponseTime(t.Context(), paths, options, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, r := range results {
		if r.Count > 0 {
			want = append(want, Line(r.Path, r.Case, r.Count, r.Min, r.Mean, r.P50, r.P90, r.P99, r.P999, r.Max))
		}
	}
	return Answer{
		View:  "response_time",
		Query: "SELECT path, kind, count, min, mean, p50, p90, p99, p99_9, max FROM response_time",
		Want:  want,
	}
}

func lakeNodeLatency(t *testing.T, q *analyze.Query) Answer {
	t.Helper()
	results, err := q.NodeLatency(t.Context(), analyze.LinkOptions{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, r := range results {
		if r.Count+r.Unused+r.WithoutInput > 0 {
			want = append(want, Line(r.Node, r.PID, r.SubscriptionTopic, r.PublisherTopic, r.Context, r.Count, r.Min, r.Mean, r.P50, r.P90, r.P99, r.P999, r.Max, r.Unused, r.WithoutInput))
		}
	}
	return Answer{
		View: "node_latency",
		Query: `SELECT node_name, pid, subscription_topic_name, publisher_topic_name, context, count, min, mean, p50, p90, p99, p99_9, max, unused, without_input
			FROM node_latency`,
		Want: want,
	}
}

func lakeServiceLatency(t *testing.T, q *analyze.Query) Answer {
	t.Helper()
	results, err := q.ServiceLatency(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, r := range results {
		want = append(want, Line(r.Service, r.ClientNode, r.ClientPID, r.ServerNode, r.ServerPID, r.Part, r.Count, r.Min, r.Mean, r.P50, r.P90, r.P99, r.P999, r.Max, r.Unanswered))
	}
	return Answer{
		View: "service_latency",
		Query: `SELECT service_name, coalesce(client_node_name, ''), coalesce(client_pid, 0), coalesce(server_node_name, ''), coalesce(server_pid, 0), part,
			count, min, mean, p50, p90, p99, p99_9, max, unanswered FROM service_latency`,
		Want: want,
	}
}

func period(t *testing.T, q *analyze.Query) Answer {
	t.Helper()
	results, err := q.Periods(t.Context(), analyze.Callbacks, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, r := range results {
		if r.Measure == analyze.MeasurePeriod {
			want = append(want, Line(r.Node, r.PID, r.Kind, r.Topic, r.TimerPeriod, r.Count, r.Min, r.Mean, r.P50, r.P90, r.P99, r.P999, r.Max))
		}
	}
	return Answer{
		View:  "period",
		Query: "SELECT node_name, pid, kind, coalesce(topic_name, ''), period, count, min, mean, p50, p90, p99, p99_9, max FROM period",
		Want:  want,
	}
}

func frequency(t *testing.T, q *analyze.Query) Answer {
	t.Helper()
	const second = 1_000_000_000
	results, err := q.Frequencies(t.Context(), analyze.Callbacks, false, analyze.Intervals{Length: second}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, r := range results {
		want = append(want, Line(r.Node, r.PID, r.Kind, r.Topic, r.TimerPeriod, r.Count, r.Intervals, int64(r.Min), int64(math.Floor(r.Mean*1000+1e-6)), int64(r.Max)))
	}
	return Answer{
		View: "frequency",
		Query: `SELECT node_name, pid, kind, coalesce(topic_name, ''), period, count, intervals, min, CAST(floor(mean * 1000 + 1e-6) AS BIGINT), max
			FROM frequency`,
		Want: want,
	}
}

func lossSummary(t *testing.T, q *analyze.Query) Answer {
	t.Helper()
	type of struct {
		kind   trace.LossKind
		reason trace.LossReason
	}
	type sum struct{ times, lost, from, to int64 }
	sums := make(map[of]*sum)
	if err := q.Losses(t.Context(), func(rows []trace.Loss) error {
		for _, r := range rows {
			s := sums[of{r.Kind, r.Reason}]
			if s == nil {
				s = &sum{from: math.MaxInt64}
				sums[of{r.Kind, r.Reason}] = s
			}
			*s = sum{s.times + 1, s.lost + int64(r.Count), min(s.from, r.FromTimestamp), max(s.to, r.ToTimestamp)}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	var want []string
	for l, s := range sums {
		want = append(want, Line(l.kind, l.reason, s.times, s.lost, s.from, s.to))
	}
	return Answer{View: "loss_summary", Query: "SELECT kind, reason, times, lost, from_timestamp, to_timestamp FROM loss_summary", Want: want}
}
