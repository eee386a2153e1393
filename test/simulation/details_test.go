package simulation

import (
	"fmt"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
)

// TestDetailsAgreeWithAnswers: of random systems, executions, messages and nodes in detail are those of which the
// latencies of callbacks, communications and nodes are made, in their order.
func TestDetailsAgreeWithAnswers(t *testing.T) {
	ofNodes := 0
	for seed := uint64(1); seed <= 5; seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			s := New(seed)
			s.Run()
			datasets, err := s.Write(t.TempDir(), 16)
			if err != nil {
				t.Fatal(err)
			}
			q, err := analyze.NewQuery(t.Context(), analyze.Filter{}, datasets...)
			if err != nil {
				t.Fatal(err)
			}
			compareExecutions(t, q)
			ofNodes += compareMessages(t, q)
		})
	}
	if ofNodes == 0 {
		t.Error("no node made anything of what it received")
	}
}

func compareExecutions(t *testing.T, q *analyze.Query) {
	t.Helper()
	var want, got []analyze.CallbackExecution
	latencies, err := q.CallbackLatency(t.Context(), func(some []analyze.CallbackExecution) error {
		want = append(want, some...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	incomplete := make(map[analyze.CallbackLabel]uint64)
	for _, l := range latencies {
		if l.Incomplete > 0 {
			incomplete[l.CallbackLabel] += l.Incomplete
		}
	}
	err = q.Executions(t.Context(), func(some []analyze.DetailedExecution) error {
		for _, e := range some {
			label := analyze.LabelOf(e.Callback)
			if !e.Latency.Valid {
				if incomplete[label]--; incomplete[label] == 0 {
					delete(incomplete, label)
				}
			}
			if e.Start.Valid {
				got = append(got, analyze.CallbackExecution{CallbackLabel: label, TID: e.TID, Begin: e.Start.Value, End: e.End, Latency: e.Latency, Status: e.Status})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("%d executions are not the %d of the latencies", len(got), len(want))
	}
	if len(incomplete) > 0 {
		t.Errorf("the number of incomplete ones differs by %v", incomplete)
	}
}

// compareMessages returns how many instances of nodes it has compared.
func compareMessages(t *testing.T, q *analyze.Query) int {
	t.Helper()
	count := make(map[analyze.CommunicationInstance]int)
	latencies, err := q.CommunicationLatency(t.Context(), func(some []analyze.CommunicationInstance) error {
		for _, i := range some {
			count[i]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	uncertain := false
	for _, l := range latencies {
		uncertain = uncertain || l.ClockUncertainty.Valid
	}
	of := func(name string, node string, m *analyze.DetailedMessage) {
		if name != node {
			t.Errorf("%+v is about %s", m.CommunicationInstance, node)
		}
	}
	var wantNodes, gotNodes []analyze.NodeInstance
	_, err = q.NodeLatency(t.Context(), analyze.LinkOptions{}, func(some []analyze.NodeInstance) error {
		wantNodes = append(wantNodes, some...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	nodes := func(some []analyze.NodeInstance) error {
		gotNodes = append(gotNodes, some...)
		return nil
	}
	messages := func(some []analyze.DetailedMessage) error {
		for _, m := range some {
			if count[m.CommunicationInstance]--; count[m.CommunicationInstance] == 0 {
				delete(count, m.CommunicationInstance)
			}
			of(m.PublisherNode, m.Publisher.Node.Name, &m)
			of(m.SubscriptionNode, m.Subscription.Node.Name, &m)
			if received := m.Fate == analyze.Received; m.CallbackStartTimestamp.Valid != (received && !m.Polled) || m.CallbackStartTimestamp.Valid && m.Callback == nil {
				t.Errorf("%+v has the callback %v", m.CommunicationInstance, m.Callback)
			}
			if m.ClockUncertainty.Valid && (!uncertain || m.Fate != analyze.Received) || m.CallbackEnd.Valid && m.CallbackEnd.Value < m.CallbackStartTimestamp.Value {
				t.Errorf("%+v", m)
			}
		}
		return nil
	}
	if err := q.Detailed(t.Context(), analyze.LinkOptions{}, analyze.Details{Messages: messages, Nodes: nodes}); err != nil {
		t.Fatal(err)
	}
	if len(count) > 0 {
		t.Errorf("messages differ: %v", count)
	}
	if !slices.Equal(gotNodes, wantNodes) {
		t.Errorf("%d of nodes are not the %d of the latencies", len(gotNodes), len(wantNodes))
	}
	return len(gotNodes)
}
