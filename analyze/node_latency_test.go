package analyze_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// nodeOf lists instances as "callback_start, callback_end, start of the publishing callback, publish"; Lost is what
// there is not.
func nodeOf(t *testing.T, q *analyze.Query, options analyze.LinkOptions) []string {
	t.Helper()
	text := func(at trace.Optional[int64]) string {
		if !at.Valid {
			return "Lost"
		}
		return fmt.Sprint(at.Value)
	}
	var lines []string
	_, err := q.NodeLatency(t.Context(), options, func(instances []analyze.NodeInstance) error {
		for _, i := range instances {
			lines = append(lines, fmt.Sprintf("%s, %s, %s, %s", text(i.Input), text(i.InputEnd), text(i.OutputStart), text(i.Publish)))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return lines
}

// chained makes a node whose subscription's callback hands messages on to a timer's, as an architecture file would say.
func chained(t *testing.T, context system.ContextType, build func(s *recording, sub testSubscription, timer trace.Address, pub testPublisher)) *analyze.Query {
	t.Helper()
	s := newRecording(t)
	n := s.node("/n")
	sub, pub, timer := s.subscription(n, "/in"), s.publisher(n, "/out", "aa"), s.timer(n, 50)
	build(s, sub, timer, pub)
	q := s.query(analyze.Filter{})
	node := q.Architecture.FindNodes("/n")[0]
	of := system.MessageContext{Type: context, Subscription: node.Subscriptions[0], Publisher: node.Publishers[0]}
	if context == system.ContextCallbackChain {
		of.Callbacks = []*system.Callback{node.Subscriptions[0].Callback, node.Timers[0].Callback}
	}
	node.MessageContexts = append(node.MessageContexts, of)
	return q
}

// The worked example of CARET's documentation of the callback chain: cb_A = (start 0, end 4), (2, 6), (4, 8) and cb_B =
// (start 4, publish 8), (8, 12), (10, 14). caret_analyze joins every start with the last end before it.
func TestCallbackChain(t *testing.T) {
	build := func(s *recording, sub testSubscription, timer trace.Address, pub testPublisher) {
		for _, a := range [][2]int64{{0, 4}, {2, 6}, {4, 8}} {
			s.receives(sub, "bb", a[0], a[0], a[1])
		}
		for _, b := range [][2]int64{{4, 8}, {8, 12}, {10, 14}} {
			s.runs(sub.node, timer, b[0], b[1])
			s.publishes(pub, b[1], b[1], timer, b[0])
		}
	}
	for name, test := range map[string]struct {
		options analyze.LinkOptions
		want    []string
	}{
		"the first start": {analyze.LinkOptions{}, []string{"0, 4, 4, 8", "2, 6, Lost, Lost", "4, 8, 8, 12", "Lost, Lost, 10, 14"}},
		"every start":     {analyze.LinkOptions{EveryStart: true}, []string{"0, 4, 4, 8", "2, 6, Lost, Lost", "4, 8, 10, 14", "4, 8, 8, 12"}},
	} {
		t.Run(name, func(t *testing.T) {
			wantLines(t, nodeOf(t, chained(t, system.ContextCallbackChain, build), test.options), test.want...)
		})
	}
}

// A chain of three callbacks. The second one reads twice what the first has left; only what the second time leaves is
// read. The input is used then, and counts once.
func TestCallbackChainBranches(t *testing.T) {
	for name, test := range map[string]struct {
		options analyze.LinkOptions
		want    []string
		unused  uint64
	}{
		"the first start": {analyze.LinkOptions{}, []string{"0, 10, Lost, Lost", "Lost, Lost, 50, 55"}, 1},
		"every start":     {analyze.LinkOptions{EveryStart: true}, []string{"0, 10, 50, 55"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newRecording(t)
			n := s.node("/n")
			sub, pub, second, third := s.subscription(n, "/in"), s.publisher(n, "/out", "aa"), s.timer(n, 50), s.timer(n, 60)
			s.receives(sub, "bb", 0, 0, 10)
			s.runs(n, second, 20, 25)
			s.runs(n, second, 30, 35)
			s.runs(n, third, 50, 60)
			s.publishes(pub, 55, 55, third, 50)
			q := s.query(analyze.Filter{})
			node := q.Architecture.FindNodes("/n")[0]
			node.MessageContexts = append(node.MessageContexts, system.MessageContext{
				Type: system.ContextCallbackChain, Subscription: node.Subscriptions[0], Publisher: node.Publishers[0],
				Callbacks: []*system.Callback{node.Subscriptions[0].Callback, node.Timers[0].Callback, node.Timers[1].Callback},
			})
			wantLines(t, nodeOf(t, q, test.options), test.want...)
			results, err := q.NodeLatency(t.Context(), test.options, nil)
			if err != nil || len(results) != 1 || results[0].Unused != test.unused {
				t.Errorf("results %+v, %v, want %d unused", results, err, test.unused)
			}
		})
	}
}

// Of a chain of three, the middle is named, and outputs that no input led to have rows and are counted.
func TestCallbackChainOfThree(t *testing.T) {
	s := newRecording(t)
	n := s.node("/n")
	sub, pub := s.subscription(n, "/in"), s.publisher(n, "/out", "aa")
	middle, last := s.timer(n, 50), s.timer(n, 60)
	for _, at := range []int64{100, 200, 500} {
		s.receives(sub, "bb", at, at, at+10)
	}
	for _, at := range []int64{50, 120, 300} { // the first one has nothing to read
		s.runs(n, middle, at, at+10)
	}
	for _, at := range []int64{70, 140, 160} { // likewise the last one
		s.runs(n, last, at, at+10)
		s.publishes(pub, at+5, at+5, last, at)
	}
	q := s.query(analyze.Filter{})
	node := q.Architecture.FindNodes("/n")[0]
	node.MessageContexts = []system.MessageContext{{
		Type: system.ContextCallbackChain, Subscription: node.Subscriptions[0], Publisher: node.Publishers[0],
		Callbacks: []*system.Callback{node.Subscriptions[0].Callback, node.Timers[0].Callback, node.Timers[1].Callback},
	}}
	var lines []string
	results, err := q.NodeLatency(t.Context(), analyze.LinkOptions{}, func(instances []analyze.NodeInstance) error {
		for _, i := range instances {
			lines = append(lines, fmt.Sprintf("%d [%s] %d", i.Input.Value, i.Middle, i.Publish.Value))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	wantLines(t, lines,
		"0 [/n/callback_0 50 60] 75", "0 [] 165", "100 [/n/callback_0 120 130] 145", "200 [/n/callback_0 300 310] 0", "500 [] 0")
	if r := results[0]; r.Count != 1 || r.Unused != 2 || r.WithoutInput != 2 {
		t.Errorf("%d with both, %d unused inputs, %d outputs without input", r.Count, r.Unused, r.WithoutInput)
	}
}

func TestUseLatestMessage(t *testing.T) {
	q := chained(t, system.ContextUseLatestMessage, func(s *recording, sub testSubscription, timer trace.Address, pub testPublisher) {
		for _, a := range [][2]int64{{0, 4}, {2, 6}, {8, 9}} {
			s.receives(sub, "bb", a[0], a[0], a[1])
		}
		for _, at := range []int64{8, 12, 14} {
			s.publishes(pub, at, at, timer, at-1)
		}
		s.polls(sub, "bb", 13, 13, 0, 0)
	})
	wantLines(t, nodeOf(t, q, analyze.LinkOptions{}), "0, 4, Lost, Lost", "13, Lost, 13, 14", "2, 6, Lost, Lost", "8, 9, 11, 12", "8, 9, 7, 8")
}

// What a file names and nobody computes is not left out in silence.
func TestContextsThatAreNotComputed(t *testing.T) {
	for _, context := range []system.ContextType{system.ContextInheritUniqueStamp, system.ContextTilde} {
		t.Run(string(context), func(t *testing.T) {
			q := chained(t, context, func(s *recording, sub testSubscription, timer trace.Address, pub testPublisher) {
				s.receives(sub, "bb", 0, 0, 4)
				s.publishes(pub, 8, 8, timer, 7)
			})
			wantLines(t, nodeOf(t, q, analyze.LinkOptions{Latest: true}))
			if want := "/n from /in to /out (" + string(context) + ")"; len(q.Warnings) != 1 || !strings.Contains(q.Warnings[0], want) {
				t.Errorf("warnings %q, want one of %s", q.Warnings, want)
			}
			paths, err := q.Architecture.FindPaths("[/in]-[/n]-[/out]")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := q.PathLatency(t.Context(), paths, analyze.PathOptions{LinkOptions: analyze.LinkOptions{Latest: true}}, nil); !errors.Is(err, analyze.ErrNothingSelected) || !strings.Contains(err.Error(), "by the context "+string(context)) {
				t.Errorf("the path's latency: %v", err)
			}
		})
	}
}

// Without any context the recorded callback of each publish tells.
func TestRecordedCallback(t *testing.T) {
	s := newRecording(t)
	n := s.node("/n")
	sub, polled := s.subscription(n, "/in"), s.subscription(n, "/polled")
	pub, timer := s.publisher(n, "/out", "aa"), s.timer(n, 50)
	s.receives(sub, "bb", 10, 10, 20)
	s.publishes(pub, 15, 15, sub.callback, 10)
	s.publishes(pub, 16, 16, sub.callback, 10)
	s.receives(sub, "bb", 30, 30, 40)
	s.runs(n, timer, 50, 60)
	s.polls(polled, "bb", 51, 51, timer, 50)
	s.polls(polled, "bb", 53, 53, timer, 50)
	s.publishes(pub, 55, 55, timer, 50)
	s.publishes(pub, 70, 70, 0, 0)
	wantLines(t, nodeOf(t, s.query(analyze.Filter{}), analyze.LinkOptions{}), "10, 20, 10, 15", "10, 20, 10, 16", "30, 40, Lost, Lost", "51, Lost, Lost, Lost", "53, Lost, 50, 55")
}

// By a coarse clock a reentrant callback starts on two threads at once: the thread tells in which execution was
// published.
func TestExecutionsThatStartAtOnceAreToldApartByTheThread(t *testing.T) {
	for name, context := range map[string]system.ContextType{"recorded": system.ContextUndefined, "fused": system.ContextFused} {
		t.Run(name, func(t *testing.T) {
			s := newRecording(t)
			n := s.node("/n")
			sub, pub := s.subscription(n, "/in"), s.publisher(n, "/out", "aa")
			for i, end := range []int64{130, 140} {
				s.receives(sub, "bb", int64(i), 100, end)
				s.publishes(pub, 120-int64(i), 0, sub.callback, 100)
				s.rows.Callbacks[i].TID, s.rows.Publishes[i].TID = int32(i), int32(i)
			}
			q := s.query(analyze.Filter{})
			node := q.Architecture.FindNodes("/n")[0]
			node.MessageContexts = []system.MessageContext{{Type: context, Subscription: node.Subscriptions[0], Publisher: node.Publishers[0]}}
			wantLines(t, nodeOf(t, q, analyze.LinkOptions{}), "100, 130, 100, 120", "100, 140, 100, 119")
		})
	}
}
