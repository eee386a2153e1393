// Package answers has questions about a dataset in SQL and Go's answers to them, value by value. SQL engines are held
// against it.
package answers

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/summary"
	"github.com/caret-bpf/caret-bpf/trace"
)

// An Answer is what a query has to answer.
type Answer struct {
	View  string   `json:"view"`
	Query string   `json:"query"`
	Want  []string `json:"want"` // its rows in any order, each by Line
}

// Line is a row as text: its values, and null for what there is none.
func Line(values ...any) string {
	texts := make([]string, len(values))
	for i, v := range values {
		switch o := v.(type) {
		case trace.Optional[int64]:
			if v = o.Value; !o.Valid {
				v = "null"
			}
		case nil:
			v = "null"
		}
		texts[i] = fmt.Sprint(v)
	}
	return strings.Join(texts, " | ")
}

// Of asks all that the views of every dialect answer. Go's answers have at least that many rows.
func Of(t *testing.T, d *trace.Dataset) []Answer {
	t.Helper()
	query := func() *analyze.Query {
		q, err := analyze.NewQuery(t.Context(), analyze.Filter{}, d)
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	recorded, err := summary.Of(t.Context(), d, nil)
	if err != nil {
		t.Fatal(err)
	}
	all := callbackLatency(t, query(), recorded)
	all = append(all, callbackWhy(t, query()), callbackOffCPU(t, query()), topicSummary(recorded))
	all = append(all, communication(t, query())...)
	all = append(all, node(t, query())...)
	all = append(all, service(t, query()), period(t, query()), frequency(t, query()), lossSummary(t, query()))
	for _, a := range all {
		if len(a.Want) == 0 {
			t.Errorf("Go has no rows of %s", a.View)
		}
	}
	return all
}

// thousandths are a rate, cut so that the last bits of engines' floating-point numbers make no difference.
func thousandths(rate trace.Optional[float64]) any {
	if !rate.Valid {
		return nil
	}
	return int64(math.Floor(rate.Value*1000 + 1e-6))
}

const rateThousandths = "CAST(floor(rate * 1000 + 1e-6) AS BIGINT)"

func callbackLatency(t *testing.T, q *analyze.Query, recorded *summary.Summary) []Answer {
	t.Helper()
	totals := make(map[string]int64)
	for _, c := range recorded.Callbacks {
		totals[c.NodeName] = c.TotalTime
	}
	var series, statistics []string
	results, err := q.CallbackLatency(t.Context(), func(rows []analyze.CallbackExecution) error {
		for _, r := range rows {
			series = append(series, Line(r.Node, r.PID, r.TID, r.Begin, r.Latency))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		statistics = append(statistics, Line(r.Node, r.Kind, r.Topic, r.Symbol, r.Period, r.PID, r.Count, totals[r.Node], r.Min, r.Mean, r.P50, r.P90, r.P99, r.P999, r.Max,
			thousandths(r.Rate)))
	}
	return []Answer{{
		View:  "callback_execution",
		Query: "SELECT node_name, pid, tid, callback_start_timestamp, latency FROM callback_execution",
		Want:  series,
	}, {
		View: "callback_latency",
		Query: `SELECT node_name, kind, coalesce(topic_name, ''), coalesce(symbol, ''), period, pid, count, total_time, min, mean, p50, p90, p99, p99_9, max,
			` + rateThousandths + ` FROM callback_latency`,
		Want: statistics,
	}}
}

func callbackWhy(t *testing.T, q *analyze.Query) Answer {
	t.Helper()
	results, err := q.CallbackParts(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, r := range results {
		want = append(want, Line(r.Node, r.Count, r.Unknown, r.Mean, r.CPUTime, r.PreemptedTime, r.BlockedTime, r.WakeupLatency, r.Preemptions, r.Migrations, r.Longest))
	}
	return Answer{
		View: "callback_why",
		Query: `SELECT node_name, count, unknown, mean, cpu_time, preempted_time, blocked_time, wakeup_latency, preemptions, migrations, longest
			FROM callback_why`,
		Want: want,
	}
}

func callbackOffCPU(t *testing.T, q *analyze.Query) Answer {
	t.Helper()
	results, err := q.CallbackOffCPU(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, r := range results {
		want = append(want, Line(r.Node, r.Kind, r.Other, r.Count, r.Total, r.Mean, r.Longest))
	}
	return Answer{
		View:  "callback_off_cpu",
		Query: "SELECT node_name, off_cpu, coalesce(other_command, ''), count, total, mean, longest FROM callback_off_cpu",
		Want:  want,
	}
}

func topicSummary(recorded *summary.Summary) Answer {
	var want []string
	for _, r := range recorded.Topics {
		want = append(want, Line(r.TopicName, r.Publishes, thousandths(r.Rate), r.Received))
	}
	return Answer{
		View:  "topic_summary",
		Query: "SELECT topic_name, publishes, " + rateThousandths + ", received FROM topic_summary",
		Want:  want,
	}
}

func communication(t *testing.T, q *analyze.Query) []Answer {
	t.Helper()
	var series, statistics []string
	results, err := q.CommunicationLatency(t.Context(), func(rows []analyze.CommunicationInstance) error {
		for _, r := range rows {
			if r.Fate == analyze.Received {
				series = append(series, Line(r.Topic, r.PublisherNode, r.PublisherPID, r.SubscriptionNode, r.SubscriptionPID, r.Transport, r.JoinedBy,
					r.RclcppIntraPublish, r.RclcppPublish, r.RclPublish, r.RMWPublish, r.DDSBindAddrToStamp, r.SourceTimestamp, r.RclcppRingBufferQueue,
					r.Take, r.CallbackStartTimestamp, r.Latency))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Count > 0 {
			statistics = append(statistics, Line(r.Topic, r.PublisherNode, r.PublisherPID, r.SubscriptionNode, r.SubscriptionPID, r.Transport,
				r.Count, r.Min, r.Mean, r.P50, r.P90, r.P99, r.P999, r.Max, r.JoinedByTopic))
		}
	}
	return []Answer{{
		View: "communication",
		Query: `SELECT topic_name, publisher_node_name, publisher_pid, subscription_node_name, subscription_pid, transport, joined_by,
			rclcpp_intra_publish_timestamp, rclcpp_publish_timestamp, rcl_publish_timestamp, rmw_publish_timestamp, dds_bind_addr_to_stamp_timestamp,
			source_timestamp, rclcpp_ring_buffer_enqueue_timestamp, take_timestamp, callback_start_timestamp, latency FROM communication`,
		Want: series,
	}, {
		View: "communication_latency",
		Query: `SELECT topic_name, publisher_node_name, publisher_pid, subscription_node_name, subscription_pid, transport,
			count, min, mean, p50, p90, p99, p99_9, max, joined_by_topic FROM communication_latency`,
		Want: statistics,
	}}
}

func node(t *testing.T, q *analyze.Query) []Answer {
	t.Helper()
	var series, statistics []string
	results, err := q.NodeLatency(t.Context(), analyze.LinkOptions{}, func(rows []analyze.NodeInstance) error {
		for _, r := range rows {
			if r.Latency.Valid {
				series = append(series, Line(r.Node, r.PID, r.SubscriptionTopic, r.PublisherTopic, r.Input, r.InputEnd, r.OutputStart, r.Publish, r.Latency))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		statistics = append(statistics, Line(r.Node, r.PID, r.SubscriptionTopic, r.PublisherTopic, r.Count, r.Min, r.Mean, r.P50, r.P90, r.P99, r.P999, r.Max))
	}
	return []Answer{{
		View: "node_hop",
		Query: `SELECT node_name, pid, subscription_topic_name, publisher_topic_name, callback_start_timestamp, callback_end_timestamp,
			publish_callback_start_timestamp, publish_timestamp, latency FROM node_hop`,
		Want: series,
	}, {
		View:  "node_latency",
		Query: "SELECT node_name, pid, subscription_topic_name, publisher_topic_name, count, min, mean, p50, p90, p99, p99_9, max FROM node_latency",
		Want:  statistics,
	}}
}

func service(t *testing.T, q *analyze.Query) Answer {
	t.Helper()
	var want []string
	if _, err := q.ServiceLatency(t.Context(), func(rows []analyze.ServiceCall) error {
		for _, r := range rows {
			want = append(want, Line(r.Service, r.ClientNode, r.ServerNode, r.ClientGID, r.SequenceNumber,
				r.RequestSent, r.RequestTaken, r.ResponseSent, r.ResponseTaken, r.Latency))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return Answer{
		View: "service_call",
		Query: `SELECT service_name, coalesce(client_node_name, ''), coalesce(server_node_name, ''), coalesce(client_gid, ''), sequence_number,
			request_sent_timestamp, request_taken_timestamp, response_sent_timestamp, response_taken_timestamp, latency FROM service_call`,
		Want: want,
	}
}
