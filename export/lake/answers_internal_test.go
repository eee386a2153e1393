package lake

import (
	"fmt"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
)

// compareAnswers compares what nodes and services did, and how fast paths reacted.
func compareAnswers(t *testing.T, dir string, q *analyze.Query) {
	t.Helper()
	requireEqual(t, "nodes' outputs", nodeFacts(t, dir), nodeAnswers(t, q))
	requireEqual(t, "calls", serviceFacts(t, dir), serviceAnswers(t, q))
	requireEqual(t, "response times", responseFacts(t, dir), responseAnswers(t, q))
}

func nodeFacts(t *testing.T, dir string) map[string]int {
	t.Helper()
	got := make(map[string]int)
	for _, r := range rowsOf(t, dir, TableNodeFact) {
		got[fmt.Sprint(r.number("pid").Value, r.text("node_name"), r.text("subscription_topic_name"), r.text("publisher_topic_name"), r.text("context"),
			r.number("callback_start_timestamp"), r.number("callback_end_timestamp"), r.number("publish_callback_start_timestamp"), r.number("publish_timestamp"), r.number("latency"))]++
	}
	return got
}

func nodeAnswers(t *testing.T, q *analyze.Query) map[string]int {
	t.Helper()
	want := make(map[string]int)
	_, err := q.NodeLatency(t.Context(), analyze.LinkOptions{}, func(some []analyze.NodeInstance) error {
		for _, i := range some {
			want[fmt.Sprint(int64(i.PID), i.Node, i.SubscriptionTopic, i.PublisherTopic, i.Context, i.Input, i.InputEnd, i.OutputStart, i.Publish, i.Latency)]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return want
}

func serviceFacts(t *testing.T, dir string) map[string]int {
	t.Helper()
	got := make(map[string]int)
	for _, r := range rowsOf(t, dir, TableServiceFact) {
		got[fmt.Sprint(r.text("service_name"), r.text("client_node"), r.number("client_pid").Value, r.text("server_node"), r.number("server_pid").Value, r.text("client_gid"),
			r.number("sequence_number").Value, r.number("request_sent_timestamp"), r.number("request_taken_timestamp"), r.number("response_sent_timestamp"),
			r.number("response_taken_timestamp"), r.number("latency"))]++
	}
	return got
}

func serviceAnswers(t *testing.T, q *analyze.Query) map[string]int {
	t.Helper()
	want := make(map[string]int)
	_, err := q.ServiceLatency(t.Context(), func(some []analyze.ServiceCall) error {
		for _, c := range some {
			want[fmt.Sprint(c.Service, c.ClientNode, int64(c.ClientPID), c.ServerNode, int64(c.ServerPID), c.ClientGID,
				c.SequenceNumber, c.RequestSent, c.RequestTaken, c.ResponseSent, c.ResponseTaken, c.Latency)]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return want
}

func responseFacts(t *testing.T, dir string) map[string]int {
	t.Helper()
	got := make(map[string]int)
	for _, r := range rowsOf(t, dir, TableResponseFact) {
		begin, end, latency := r.number("begin_timestamp").Value, r.number("end_timestamp").Value, r.number("latency").Value
		if end-begin != latency {
			t.Errorf("%v takes another time", r)
		}
		got[fmt.Sprint(r.text("path"), r.text("kind"), end, latency)]++
	}
	return got
}

func responseAnswers(t *testing.T, q *analyze.Query) map[string]int {
	t.Helper()
	paths, err := allPaths(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[string]int)
	if len(paths) == 0 {
		return want
	}
	_, err = q.ResponseTime(t.Context(), paths, pathOptions, func(some []analyze.ResponseTimeInstance) error {
		for _, i := range some {
			want[fmt.Sprint(i.Path, analyze.ResponseBest, i.Output, i.Best)]++
			want[fmt.Sprint(i.Path, analyze.ResponseWorst, i.Output, i.Worst)]++
			want[fmt.Sprint(i.Path, analyze.ResponseWorstWithExternalLatency, i.Output, i.WorstWithExternalLatency)]++
		}
		return nil
	}, func(some []analyze.ResponseTimeInputInstance) error {
		for _, i := range some {
			want[fmt.Sprint(i.Path, analyze.ResponseAll, i.Output, i.ResponseTime)]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return want
}
