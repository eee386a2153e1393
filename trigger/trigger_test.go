package trigger_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trigger"
)

func TestParse(t *testing.T) {
	d, err := trigger.Parse("callback  over=50ms node=^/planning topic=scan symbol=on_scan name=slow before=1s after=2s cooldown=3s per-day=4 do=snapshot,rotate,run:/bin/true,stop")
	if err != nil {
		t.Fatal(err)
	}
	if d.Kind != trigger.Callback || d.Over != 50*time.Millisecond || d.Name != "slow" || d.Before != time.Second || d.After != 2*time.Second ||
		d.Cooldown != 3*time.Second || d.PerDay != 4 || !d.Node.MatchString("/planning/x") || d.Topic.String() != "scan" || d.Symbol.String() != "on_scan" {
		t.Errorf("read as %+v", d)
	}
	if !slices.Equal(d.Actions, []trigger.Action{trigger.Snapshot, trigger.Rotate, "run:/bin/true", trigger.Stop}) || d.Actions[2].Program() != "/bin/true" || d.Actions[0].Program() != "" {
		t.Errorf("actions %v", d.Actions)
	}
	d, err = trigger.Parse("loss")
	if err != nil || d.Before != trigger.DefaultBefore || d.After != trigger.DefaultAfter || d.Cooldown != trigger.DefaultCooldown ||
		d.PerDay != trigger.DefaultPerDay || !slices.Equal(d.Actions, []trigger.Action{trigger.Snapshot}) {
		t.Errorf("the defaults are %+v, %v", d, err)
	}
	for _, wrong := range []string{
		"", "   ", "nothing", "callback", "callback over", "callback over=", "callback over=x", "callback over=1s over=2s", "callback over=-1s",
		"callback over=1s rate=3", "callback over=1s node=(", "silent over=1s", "silent over=1ms topic=x", "slow topic=x rate=0", "slow topic=x rate=NaN",
		"loss do=", "loss do=format", "loss do=run:", "loss do=run:relative", "loss name=../x", "loss name=" + strings.Repeat("a", 65), "loss per-day=0",
		"loss per-day=1.5", "loss before=2h", "timer periods=0.5", "exit node=x", strings.Repeat("x", 5000),
	} {
		if _, err := trigger.Parse(wrong); !errors.Is(err, trigger.ErrDefinition) {
			t.Errorf("%.40q: %v", wrong, err)
		}
	}
	for _, kind := range trigger.Kinds() {
		if !slices.Contains([]trigger.Kind{trigger.Callback, trigger.Message, trigger.Path, trigger.Silent, trigger.Slow}, kind) {
			if _, err := trigger.Parse(string(kind)); err != nil {
				t.Errorf("%s: %v", kind, err)
			}
		}
	}
}

func TestParseAll(t *testing.T) {
	all, err := trigger.ParseAll([]string{"loss", "exit", "loss name=mine", "loss"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range all {
		names = append(names, d.Name)
	}
	if !slices.Equal(names, []string{"loss", "exit", "mine", "loss-2"}) {
		t.Errorf("names %v", names)
	}
	if _, err := trigger.ParseAll([]string{"loss name=a", "exit name=a"}); !errors.Is(err, trigger.ErrDefinition) {
		t.Errorf("two of one name: %v", err)
	}
	if _, err := trigger.ParseAll(slices.Repeat([]string{"loss"}, 65)); !errors.Is(err, trigger.ErrDefinition) {
		t.Errorf("too many: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"callback over=50ms node=^/p before=1s do=snapshot,stop", "slow topic=x rate=1e3", "timer periods=2", "loss do=run:/a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := trigger.Parse(text)
		if err != nil {
			if !errors.Is(err, trigger.ErrDefinition) {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if again, err := trigger.Parse(d.Text); err != nil || again.Kind != d.Kind || again.Over != d.Over {
			t.Errorf("%q is read anew as %+v, %v", text, again, err)
		}
		w := trigger.NewWatch([]trigger.Definition{d})
		w.Look(&trace.Batch{Callbacks: []trace.Callback{{}}, Publishes: []trace.Publish{{}}, Processes: []trace.Process{{}}, Losses: []trace.Loss{{}}})
		w.Tick(1 << 60)
	})
}

const second = int64(time.Second)

func callback(start, end int64, change func(*trace.Callback)) *trace.Batch {
	row := trace.Callback{NodeName: "/planning/a", TopicName: "/scan", Symbol: "on_scan", Callback: 7}
	row.CallbackStartTimestamp, row.CallbackEndTimestamp = trace.Some(start), trace.Some(end)
	if change != nil {
		change(&row)
	}
	return &trace.Batch{Callbacks: []trace.Callback{row}}
}

func publish(topic string, at int64) *trace.Batch {
	return &trace.Batch{Publishes: []trace.Publish{{TopicName: topic, RclcppPublishTimestamp: trace.Some(at)}}}
}

func process(pid int32, started, ended int64) *trace.Batch {
	row := trace.Process{Command: "talker", Executable: "/bin/talker", CommandLine: "/bin/talker --x"}
	row.PID, row.ProcessStart, row.RecordingStartTimestamp = pid, started, trace.Some(started)
	if ended > 0 {
		row.Exited, row.RecordingEndTimestamp = true, trace.Some(ended)
	}
	return &trace.Batch{Processes: []trace.Process{row}}
}

// step is a batch that comes, or an instant that passes.
type step struct {
	batch *trace.Batch
	tick  int64
}

// watching watches for what a definition waits for, each time that it comes.
func watching(t *testing.T, definition string) (w *trigger.Watch, whole string) {
	t.Helper()
	all, err := trigger.ParseAll([]string{definition + " before=3s after=2s cooldown=0s per-day=99"})
	if err != nil {
		t.Fatal(err)
	}
	return trigger.NewWatch(all), all[0].Text
}

// firings is what comes of steps. A batch is looked at, at no time that is known.
func firings(w *trigger.Watch, steps []step) (all []trigger.Firing) {
	for _, s := range steps {
		if s.batch != nil {
			all = append(all, w.Look(s.batch)...)
		} else {
			all = append(all, w.Tick(s.tick)...)
		}
	}
	return all
}

func TestConditions(t *testing.T) {
	look := func(batches ...*trace.Batch) (steps []step) {
		for _, b := range batches {
			steps = append(steps, step{batch: b})
		}
		return steps
	}
	period := func(row *trace.Callback) { row.Period = trace.Some(second / 10) }
	for name, test := range map[string]struct {
		definition string
		steps      []step
		at         []int64 // when it comes
		reason     string
	}{
		"a long callback": {"callback over=1s", look(callback(1, 1+second, nil), callback(1, 2+second, nil)), []int64{2 + second}, "a callback of /planning/a took 1.000000001s"},
		"of another node": {"callback over=1s node=^/control", look(callback(1, 9*second, nil)), nil, ""},
		"of the node": {
			"callback over=1s node=^/planning topic=scan$ symbol=scan", look(callback(1, 9*second, nil)), []int64{9 * second}, "",
		},
		"without a name": {"callback over=1s node=.", look(callback(1, 9*second, func(row *trace.Callback) { row.NodeName = "" })), nil, ""},
		"without an end": {"callback over=1s", look(callback(1, 9*second, func(row *trace.Callback) { row.CallbackEndTimestamp.Valid = false })), nil, ""},
		"an old message": {
			"message over=1s topic=scan", look(
				callback(5*second, 6*second, func(row *trace.Callback) { row.SourceTimestamp = trace.Some(4 * second) }),
				callback(5*second, 6*second, nil),
				callback(5*second, 6*second, func(row *trace.Callback) { row.SourceTimestamp = trace.Some(3 * second) }),
			), []int64{5 * second}, "a message of /scan was 2s old when its callback began",
		},
		"a topic that falls silent twice": {
			"silent over=2s topic=^/a$", []step{
				{tick: 1}, {batch: publish("/a", 10*second)}, {batch: publish("/b", 10*second)}, {tick: 12 * second}, {tick: 13 * second}, {tick: 14 * second},
				{batch: publish("/a", 15*second)}, {tick: 16 * second}, {tick: 18 * second},
			}, []int64{12 * second, 17 * second}, "nothing was published on /a for 2s",
		},
		"a topic that never spoke": {"silent over=2s topic=^/a$", []step{{tick: 99 * second}}, nil, ""},
		"a slow topic": {
			"slow rate=2 topic=/a", []step{
				{batch: publish("/a", 10*second)}, {batch: publish("/a", 11*second)}, {tick: 12 * second}, {tick: 13 * second},
			}, []int64{13 * second}, "0.3 messages a second were published on /a, which should be 2",
		},
		"a topic that is as fast as it should be": {
			"slow rate=2 topic=/a", append(look(slices.Repeat([]*trace.Batch{publish("/a", 10*second)}, 9)...), step{tick: 13 * second}), nil, "",
		},
		"a timer that was missed": {
			"timer", look(callback(second, second, period), callback(second+second/10, second, period), callback(second+second/2, second, period)),
			[]int64{second + second/2}, "a timer of /planning/a with a period of 100ms came after 400ms",
		},
		"a timer that is late by less": {"timer periods=5", look(callback(second, second, period), callback(second+second/2, second, period)), nil, ""},
		"no timer":                     {"timer", look(callback(second, second, nil), callback(99*second, second, nil)), nil, ""},
		"a loss": {
			"loss", look(&trace.Batch{Losses: []trace.Loss{{Kind: "callback", Reason: "ring_full", Count: 3, ToTimestamp: 7}}}), []int64{7}, "3 records of kind callback were lost: ring_full",
		},
		"a blind span": {
			"loss", look(&trace.Batch{Losses: []trace.Loss{{Reason: trace.LossUnarmed, PID: 9, ToTimestamp: 7}}}), []int64{7}, "PID 9 had mapped a file that was not probed",
		},
		"an end, which is told twice": {"exit", look(process(3, 1, 0), process(3, 1, 8), process(3, 1, 8)), []int64{8}, "PID 3 (talker) has ended"},
		"the end of another":          {"exit process=listener", look(process(3, 1, 8)), nil, ""},
		"a restart":                   {"restart", look(process(3, 1, 0), process(3, 1, 8), process(4, 9, 0), process(5, 9, 0)), []int64{9}, "talker runs again, as PID 4"},
		"nothing by itself":           {"manual", append(look(callback(1, 99*second, nil), process(3, 1, 8)), step{tick: 1 << 60}), nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w, definition := watching(t, test.definition)
			var at []int64
			for _, f := range firings(w, test.steps) {
				at = append(at, f.Trigger.Timestamp)
				if test.reason != "" && f.Trigger.Reason != test.reason {
					t.Errorf("the reason is %q", f.Trigger.Reason)
				}
				if f.Span != (trace.Span{First: f.Trigger.Timestamp - 3*second, Last: f.Trigger.Timestamp + 2*second}) || f.Trigger.Definition != definition {
					t.Errorf("%+v", f)
				}
				if f.Trigger.Table != "" && !json.Valid(f.Trigger.Row) {
					t.Errorf("the row is %s", f.Trigger.Row)
				}
			}
			if !slices.Equal(at, test.at) {
				t.Errorf("it comes at %v, want %v", at, test.at)
			}
		})
	}
}

// What comes again during the time after and the cool-down, or too often for a day, is counted and not acted upon.
func TestBounds(t *testing.T) {
	all, err := trigger.ParseAll([]string{"callback over=1ns name=slow after=2s cooldown=3s per-day=2", "manual"})
	if err != nil {
		t.Fatal(err)
	}
	w := trigger.NewWatch(all)
	day := 24 * 3600 * second
	for _, test := range []struct {
		at    int64
		acted int
	}{{100 * second, 1}, {104 * second, 0}, {105 * second, 1}, {110 * second, 0}, {100*second + day, 1}, {101*second + day, 0}} {
		if got := len(w.Look(callback(test.at-second, test.at, nil))); got != test.acted {
			t.Errorf("at %d s it is acted upon %d times, want %d", test.at/second, got, test.acted)
		}
	}
	counts := w.Counts()
	if want := (trace.TriggerCount{Name: "slow", Definition: all[0].Text, Fired: 3, Suppressed: 3, Last: 101*second + day}); counts[0] != want {
		t.Errorf("counted %+v, want %+v", counts[0], want)
	}
	if counts[1] != (trace.TriggerCount{Name: "manual", Definition: "manual"}) {
		t.Errorf("counted %+v of what has not come", counts[1])
	}
	if firings, ok := w.Fire("manual", 5, "by hand"); !ok || len(firings) != 1 || firings[0].Trigger.Reason != "by hand" || firings[0].Trigger.Row != nil {
		t.Errorf("by hand: %+v, %v", firings, ok)
	}
	if firings, ok := w.Fire("manual", 6, "again"); !ok || len(firings) != 0 {
		t.Errorf("at once again: %+v, %v", firings, ok)
	}
	if _, ok := w.Fire("none", 6, ""); ok {
		t.Error("there is none")
	}
}

// What came of triggers is told of each: the dataset that was made last, and how many actions have failed in all.
func TestOutcomes(t *testing.T) {
	all, err := trigger.ParseAll([]string{"manual name=a cooldown=0s after=0s", "manual name=b"})
	if err != nil {
		t.Fatal(err)
	}
	w := trigger.NewWatch(all)
	for i, outcome := range []struct {
		output string
		failed int
	}{{"", 2}, {"first", 0}, {"second", 1}, {"", 1}} {
		firings, ok := w.Fire("a", int64(i)+1, "by hand")
		if !ok || len(firings) != 1 {
			t.Fatalf("%d are to be acted upon, %v", len(firings), ok)
		}
		w.Acted(firings[0], outcome.output, outcome.failed)
	}
	counts := w.Counts()
	if got := counts[0]; got.Output != "second" || got.Failed != 4 || got.Fired != 4 {
		t.Errorf("of a: %+v", got)
	}
	if got := counts[1]; got.Output != "" || got.Failed != 0 {
		t.Errorf("of b: %+v", got)
	}
}

// However many topics, timers and processes there are, memory is bounded, and what is not watched is counted.
func TestMemoryIsBounded(t *testing.T) {
	all, err := trigger.ParseAll([]string{"silent over=1s topic=.", "slow rate=1 topic=.", "timer", "exit", "restart"})
	if err != nil {
		t.Fatal(err)
	}
	w := trigger.NewWatch(all)
	for i := range int64(20_000) {
		w.Look(publish(fmt.Sprint("/topic", i), 1))
		w.Look(callback(i, i, func(row *trace.Callback) { row.Callback, row.Period = trace.Address(i), trace.Some(int64(1)) }))
		w.Look(process(int32(i), 1, 2))
	}
	if got, want := w.Beyond(), uint64(2*(20_000-8192)); got != want {
		t.Errorf("%d messages were not looked at, want %d", got, want)
	}
}

// The row in which something was seen has the names of the columns.
func TestRowOfATrigger(t *testing.T) {
	all, err := trigger.ParseAll([]string{"callback over=1ns"})
	if err != nil {
		t.Fatal(err)
	}
	firings := trigger.NewWatch(all).Look(callback(5, 9, func(row *trace.Callback) { row.NodeName = "/a\"\n" }))
	var row map[string]any
	if err := json.Unmarshal(firings[0].Trigger.Row, &row); err != nil || firings[0].Trigger.Table != trace.TableCallback {
		t.Fatalf("%s, %v", firings[0].Trigger.Row, err)
	}
	if row["callback_start_timestamp"] != 5.0 || row["callback_end_timestamp"] != 9.0 || row["node_name"] != "/a\"\n" || row["depth"] != 0.0 {
		t.Errorf("%v", row)
	}
	if _, has := row["source_timestamp"]; has {
		t.Errorf("what is null is there: %v", row)
	}
}
