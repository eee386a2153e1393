package analyze_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// fusing is a node of three lidars, /a to /c, whose messages come in some order in each cycle of 100 ns.
type fusing struct {
	*recording
	node   testNode
	inputs map[byte]testSubscription
	output testPublisher
	cycles int64
}

func newFusing(t *testing.T) *fusing {
	s := newRecording(t)
	f := &fusing{recording: s, node: s.node("/concat"), inputs: make(map[byte]testSubscription)}
	for _, topic := range "abc" {
		f.inputs[byte(topic)] = s.subscription(f.node, "/"+string(topic))
	}
	for i := range s.rows.Subscriptions {
		s.rows.Subscriptions[i].MessageType = "sensor_msgs/msg/PointCloud2"
	}
	f.output = s.publisher(f.node, "/out", "ff")
	return f
}

// cycle has messages come in the order of their topics, 10 ns apart. The callback of one in upper case publishes.
func (f *fusing) cycle(topics string) {
	at := 1000 + 100*f.cycles
	f.cycles++
	for i, topic := range []byte(topics) {
		start := at + 10*int64(i)
		sub := f.inputs[topic|' ']
		f.receives(sub, "", start, start, start+5)
		if topic < 'a' {
			f.publishes(f.output, start+3, start+4, sub.callback, start)
		}
	}
}

// alternate makes 20 cycles in which /c and /a publish in turn.
func (f *fusing) alternate() {
	for range 10 {
		f.cycle("abC")
		f.cycle("cbA")
	}
}

// contextsOf lists "topic context outputs/unused" of each input.
func contextsOf(t *testing.T, q *analyze.Query) (lines []string) {
	t.Helper()
	rows, err := q.NodeLatency(t.Context(), analyze.LinkOptions{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		lines = append(lines, fmt.Sprintf("%s %s %d/%d", row.SubscriptionTopic, row.Context, row.Count, row.Unused))
	}
	return lines
}

func TestWhichNodesFuse(t *testing.T) {
	times := func(n int, cycles ...string) []string { return slices.Repeat(cycles, n) }
	for name, c := range map[string]struct {
		cycles []string
		want   []string
	}{
		"whichever is last publishes": {times(10, "abC", "bcA", "caB"), []string{"/a fused 30/0", "/b fused 30/0", "/c fused 30/0"}},
		"one is never last":           {times(10, "abC", "acB"), []string{"/a fused 20/0", "/b fused 20/0", "/c fused 20/0"}},
		// Without /c, its message of the former cycle is the newest one that could be in it. Of two messages of /a the first
		// is in none.
		"one does not come now and then": {
			times(5, "abC", "bcA", "caB", "cbA", "bA"), []string{"/a fused 25/0", "/b fused 25/0", "/c fused 25/0"},
		},
		"one comes twice now and then": {
			times(5, "abC", "bcA", "caB", "abaC"), []string{"/a fused 20/5", "/b fused 20/0", "/c fused 20/0"},
		},
		"what comes is passed on":         {times(10, "ABC"), []string{"/a callback_chain 10/0", "/b callback_chain 10/0", "/c callback_chain 10/0"}},
		"every other message":             {times(10, "ABC", "abc"), []string{"/a callback_chain 10/10", "/b callback_chain 10/10", "/c callback_chain 10/10"}},
		"two are passed on":               {times(10, "ABc"), []string{"/a callback_chain 10/0", "/b callback_chain 10/0"}},
		"one publishes, of the others it": {times(10, "abC"), []string{"/c callback_chain 10/0"}},
		"too few to tell":                 {times(1, "abC", "bcA", "caB", "abC", "bcA"), []string{"/a callback_chain 2/3", "/b callback_chain 1/4", "/c callback_chain 2/3"}},
		"just enough to tell":             {times(2, "abC", "bcA", "caB"), []string{"/a fused 6/0", "/b fused 6/0", "/c fused 6/0"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFusing(t)
			for _, topics := range c.cycles {
				f.cycle(topics)
			}
			wantLines(t, contextsOf(t, f.query(analyze.Filter{})), c.want...)
		})
	}
}

// A subscription of another type, or whose callback publishes something else, is not taken for an input.
func TestWhatIsNotFused(t *testing.T) {
	for name, change := range map[string]func(*fusing){
		"another type": func(f *fusing) { f.rows.Subscriptions[0].MessageType = "geometry_msgs/msg/Twist" },
		"unknown type": func(f *fusing) { f.rows.Subscriptions[0].MessageType = "" },
		"published elsewhere": func(f *fusing) {
			a := f.inputs['a']
			f.publishes(f.publisher(f.node, "/else", "ee"), 1003, 1004, a.callback, 1000)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFusing(t)
			for range 10 {
				f.cycle("abC")
				f.cycle("acB")
			}
			change(f)
			lines := slices.DeleteFunc(contextsOf(t, f.query(analyze.Filter{})), func(line string) bool { return strings.HasPrefix(line, "/a callback_chain 1/19") })
			wantLines(t, lines, "/b fused 20/0", "/c fused 20/0")
		})
	}
}

// What a node does is inferred from all that was recorded, and not from the time that is asked for.
func TestFusionOfAShortTime(t *testing.T) {
	f := newFusing(t)
	f.alternate()
	last := analyze.Filter{From: trace.Some(int64(1000 + 100*18))}
	wantLines(t, contextsOf(t, f.query(last)), "/a fused 2/0", "/b fused 2/0", "/c fused 2/0")
}

// Log messages of several callbacks are not made of their inputs.
func TestLoggingIsNoFusion(t *testing.T) {
	f := newFusing(t)
	f.rows.Publishers[0].TopicName = "/rosout"
	f.alternate()
	wantLines(t, contextsOf(t, f.query(analyze.Filter{})), "/a callback_chain 10/10", "/c callback_chain 10/10")
}

// Whoever states how a message gets through a node is believed.
func TestFusionIsOverridden(t *testing.T) {
	f := newFusing(t)
	f.alternate()
	q := f.query(analyze.Filter{})
	node := q.Architecture.FindNodes("/concat")[0]
	node.MessageContexts = append(node.MessageContexts, system.MessageContext{
		Type: system.ContextCallbackChain, Subscription: node.Subscriptions[0], Publisher: node.Publishers[0],
	})
	wantLines(t, contextsOf(t, q), "/a callback_chain 10/10", "/b fused 20/0", "/c fused 20/0")
}

// On several threads a message may come while the callback of a former one still publishes: that one is in it.
func TestFusionKnowsTheCallback(t *testing.T) {
	f := newFusing(t)
	f.alternate()
	a := f.inputs['a']
	f.receives(f.inputs['b'], "", 5000, 5000, 5005)
	f.receives(f.inputs['c'], "", 5010, 5010, 5015)
	f.receives(a, "", 5020, 5020, 5060)
	f.receives(a, "", 5030, 5030, 5035)
	f.publishes(f.output, 5050, 5051, a.callback, 5020)
	lines := nodeOf(t, f.query(analyze.Filter{}), analyze.LinkOptions{})
	for _, want := range []string{"5020, 5060, 5020, 5050", "5000, 5005, 5020, 5050", "5010, 5015, 5020, 5050"} {
		if !slices.Contains(lines, want) {
			t.Errorf("there is no %s in\n%s", want, strings.Join(lines, "\n"))
		}
	}
	if i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "5030") }); i >= 0 {
		t.Errorf("nothing has taken the place of the last message, but: %s", lines[i])
	}
}

// A path through a node that fuses drops nothing on the way.
func TestPathThroughFusion(t *testing.T) {
	f := newFusing(t)
	f.alternate()
	q := f.query(analyze.Filter{})
	if err := q.LoadActivity(t.Context()); err != nil {
		t.Fatal(err)
	}
	paths, err := q.Architecture.FindPaths("[/b]-[/concat]-[/out]")
	if err != nil || len(paths) != 1 {
		t.Fatal(paths, err)
	}
	hops, err := q.PathLatency(t.Context(), paths, analyze.PathOptions{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, hop := range hops {
		if hop.Count != 20 || hop.Messages != 20 || hop.Dropped != 0 {
			t.Errorf("hop %d: %d ways of %d messages, %d dropped", hop.Hop, hop.Count, hop.Messages, hop.Dropped)
		}
	}
	if inferred := paths[0].InferredNodes(); inferred != 1 {
		t.Errorf("%d inferred nodes", inferred)
	}
	if want := "/concat"; len(q.Warnings) != 1 || !strings.Contains(q.Warnings[0], want) {
		t.Errorf("warnings %q, want one of %s", q.Warnings, want)
	}
}
