package main

import (
	"slices"
	"strings"
	"testing"
)

// both are the hits of one thread as caret-bpf records them, every microsecond, and the same 300 ns later as LTTng
// does.
func both(names ...string) (lttng []event, recorded recording) {
	recorded = recording{observed: map[string]bool{"idle": true}, elsewhere: map[string]bool{}}
	for i, name := range names {
		e := event{thread{1, 2}, name, int64(1000 * (i + 1)), []argument{number("callback", uint64(100+i))}}
		recorded.observed[name] = true
		recorded.events = append(recorded.events, e)
		e.time, e.arguments = e.time+300, slices.Clone(e.arguments)
		lttng = append(lttng, e)
	}
	return lttng, recorded
}

func TestCompareSame(t *testing.T) {
	lttng, recorded := both("callback_start", "rcl_publish", "callback_end", "callback_start", "callback_end")
	other := event{thread{1, 3}, "callback_start", 1500, []argument{number("callback", 7)}}
	recorded.events = append(recorded.events, other)
	lttng = slices.Insert(lttng, 0, event{thread{1, 3}, "callback_start", 1600, []argument{number("callback", 7)}})
	lttng = append(lttng, event{thread{1, 2}, "rcl_take", 9000, nil})
	c := compare(lttng, recorded)
	if !c.matches() || len(c.details) > 0 || c.threads != 2 {
		t.Errorf("%+v, %q", c, c.details)
	}
	start := c.events["callback_start"]
	if start.lttng != 3 || start.recorded != 3 || !slices.Equal(start.delays, []int64{300, 300, 100}) {
		t.Errorf("callback_start: %+v", start)
	}
	if c.onlyLTTng["rcl_take"] != 1 {
		t.Errorf("only in LTTng: %v", c.onlyLTTng)
	}
}

func TestCompareDifferent(t *testing.T) {
	for name, test := range map[string]struct {
		change                    func(lttng, recorded *[]event)
		missing, extra, different int
	}{
		"lost by caret-bpf":             {func(_, recorded *[]event) { *recorded = slices.Delete(*recorded, 2, 4) }, 2, 0, 0},
		"lost by LTTng":                 {func(lttng, _ *[]event) { *lttng = slices.Delete(*lttng, 1, 2) }, 0, 1, 0},
		"lost at the begin":             {func(_, recorded *[]event) { *recorded = (*recorded)[1:] }, 1, 0, 0},
		"lost at the end":               {func(lttng, _ *[]event) { *lttng = (*lttng)[:5] }, 0, 1, 0},
		"another argument":              {func(_, recorded *[]event) { (*recorded)[3].arguments[0].value++ }, 0, 0, 1},
		"an argument less":              {func(lttng, _ *[]event) { (*lttng)[3].arguments = nil }, 0, 0, 1},
		"an argument more":              {func(_, recorded *[]event) { (*recorded)[3].arguments = nil }, 0, 0, 1},
		"another thread":                {func(_, recorded *[]event) { (*recorded)[3].tid = 9 }, 1, 1, 0},
		"LTTng before caret-bpf":        {func(lttng, _ *[]event) { (*lttng)[0].time = 1000 - clockSlack - 1 }, 0, 0, 1},
		"LTTng after the next event":    {func(lttng, _ *[]event) { (*lttng)[0].time = 2000 + clockSlack + 1 }, 0, 0, 1},
		"the clocks a little apart":     {func(lttng, _ *[]event) { (*lttng)[0].time = 1000 - clockSlack }, 0, 0, 0},
		"nothing recorded":              {func(_, recorded *[]event) { *recorded = nil }, 6, 0, 0},
		"one more of a kind never seen": {func(_, recorded *[]event) { *recorded = append(*recorded, event{thread{1, 2}, "idle", 99_000, nil}) }, 0, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			lttng, recorded := both("callback_start", "rcl_publish", "rmw_publish", "callback_end", "callback_start", "callback_end")
			test.change(&lttng, &recorded.events)
			c := compare(lttng, recorded)
			var missing, extra, different int
			for _, tally := range c.events {
				missing, extra, different = missing+tally.missing, extra+tally.extra, different+tally.different
			}
			if missing != test.missing || extra != test.extra || different != test.different {
				t.Errorf("missing %d, extra %d, different %d: %q", missing, extra, different, c.details)
			}
			if differs := missing+extra+different > 0; c.matches() == differs || (len(c.details) > 0) != differs {
				t.Errorf("matches: %v, %q", c.matches(), c.details)
			}
		})
	}
}

// Cycles of the same events look alike: one that each side has lost, at different ends, must still be noticed.
func TestCompareShiftedCycles(t *testing.T) {
	lttng, recorded := both("callback_start", "callback_end", "callback_start", "callback_end", "callback_start", "callback_end")
	for _, events := range [][]event{lttng, recorded.events} {
		for i := range events {
			events[i].arguments = []argument{number("callback", 1)}
		}
	}
	if c := compare(lttng, recorded); !c.matches() {
		t.Fatalf("before: %q", c.details)
	}
	recorded.events = recorded.events[2:]
	c := compare(lttng[:4], recorded)
	if start := c.events["callback_start"]; c.matches() || start.missing != 1 || start.extra != 1 || len(start.delays) != 1 {
		t.Errorf("%+v, %q", start, c.details)
	}
}

func TestCompareArguments(t *testing.T) {
	for name, test := range map[string]struct {
		event           string
		lttng, recorded []argument
		same            bool
		uncompared      string
	}{
		"only the low byte of a bool": {"callback_start", []argument{number("is_intra_process", 1)}, []argument{number("is_intra_process", 0xdead01)}, true, ""},
		"any value of true":           {"rmw_take", []argument{number("taken", 1)}, []argument{number("taken", 4)}, true, ""},
		"false":                       {"rmw_take", []argument{number("taken", 1)}, []argument{number("taken", 0x100)}, false, ""},
		"all of a size":               {"rclcpp_ring_buffer_enqueue", []argument{number("size", 1)}, []argument{number("size", 0x101)}, false, ""},
		"another order":               {"x", []argument{number("a", 1), number("b", 2)}, []argument{number("b", 2), number("a", 1)}, true, ""},
		"a string":                    {"rcl_node_init", []argument{{"node_name", false, 0}, number("node_handle", 1)}, []argument{number("node_handle", 1), number("node_name", 0x7f00)}, true, "node_name"},
		"a string that we lack":       {"rcl_init", []argument{{"version", false, 0}}, nil, true, ""},
		"what LTTng does not get":     {"rclcpp_publish", []argument{number("message", 1)}, []argument{number("publisher_handle", 0), number("message", 1)}, true, "publisher_handle"},
		"an argument of that name":    {"rcl_publish", []argument{number("message", 1)}, []argument{number("publisher_handle", 0), number("message", 1)}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			recorded := recording{observed: map[string]bool{test.event: true}, events: []event{{thread{1, 1}, test.event, 1000, test.recorded}}}
			c := compare([]event{{thread{1, 1}, test.event, 1300, test.lttng}}, recorded)
			if c.matches() != test.same {
				t.Errorf("same: %v, %q", c.matches(), c.details)
			}
			uncompared := c.events[test.event].uncompared
			if len(uncompared) > 1 || test.uncompared != "" && !uncompared[test.uncompared] || test.uncompared == "" && len(uncompared) > 0 {
				t.Errorf("not compared: %v", uncompared)
			}
		})
	}
}

// A loaned message is observed at rcl's function and then at its tracepoint; LTTng has the tracepoint only.
func TestCompareElsewhere(t *testing.T) {
	lttng, recorded := both("rclcpp_publish", "rcl_publish", "rmw_publish")
	function := recorded.events[1]
	function.time -= 500
	recorded.events = slices.Insert(recorded.events, 1, function)
	if c := compare(lttng, recorded); c.matches() {
		t.Error("a hit that LTTng lacks, of an event that is observed at its tracepoint only")
	}
	recorded.elsewhere["rcl_publish"] = true
	if c := compare(lttng, recorded); c.matches() || len(c.details) != 1 {
		t.Errorf("a hit elsewhere, but no message in another form: %q", c.details)
	}
	recorded.otherForms = 1
	c := compare(lttng, recorded)
	if publish := c.events["rcl_publish"]; !c.matches() || publish.elsewhere != 1 || !slices.Equal(publish.delays, []int64{300}) {
		t.Errorf("%+v, %q", publish, c.details)
	}
}

func TestNothingToCompareIsNoMatch(t *testing.T) {
	if _, recorded := both(); compare(nil, recorded).matches() {
		t.Error("two empty recordings match")
	}
}

func TestPrint(t *testing.T) {
	lttng, recorded := both("callback_start", "callback_end", "rcl_publish")
	lttng = append(lttng, event{thread{1, 2}, "rcl_take", 9000, nil})
	recorded.events = recorded.events[:2]
	var output strings.Builder
	compare(lttng, recorded).print(&output)
	for _, expected := range []string{
		"callback_start      1          1           0               0                0          0      300ns   300ns  300ns  300ns",
		"rcl_publish      1          0           1               0                0          0          -       -      -      -",
		"does not observe: rcl_take (1)", "PID 1, thread 2: only in LTTng: 3300 rcl_publish callback=0x66",
	} {
		if !strings.Contains(output.String(), expected) {
			t.Errorf("%q is not in\n%s", expected, output.String())
		}
	}
	if strings.Contains(output.String(), "idle") {
		t.Error("an event without hits is shown")
	}
}

func TestQuantile(t *testing.T) {
	for _, test := range []struct {
		sorted   []int64
		fraction float64
		expected string
	}{
		{nil, 0.5, "-"}, {[]int64{7}, 0, "7ns"}, {[]int64{7}, 1, "7ns"}, {[]int64{1, 2, 3}, 0.5, "2ns"}, {[]int64{1, 2}, 0.5, "1ns"},
		{[]int64{1, 2, 3, 4}, 0.99, "4ns"}, {[]int64{1, 2, 3, 4}, 0, "1ns"}, {[]int64{1000, 2000}, 1, "2µs"},
	} {
		if found := quantile(test.sorted, test.fraction); found != test.expected {
			t.Errorf("quantile %v of %v: %s, not %s", test.fraction, test.sorted, found, test.expected)
		}
	}
}
