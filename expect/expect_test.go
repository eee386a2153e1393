package expect_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/expect"
	"github.com/caret-bpf/caret-bpf/report"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
	"github.com/caret-bpf/caret-bpf/writer"
)

// recorded is a dataset of a made-up system whose chain 0 publishes at 100 Hz, and how to ask it.
func recorded(t *testing.T, change func(*trace.Batch)) ([]*trace.Dataset, expect.Ask) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "dataset")
	w, err := writer.Create(dir, writer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	write := func(b *trace.Batch) error {
		if change != nil {
			change(b)
		}
		return w.Write(b)
	}
	entities, err := tracetest.System(20_000, write)
	if err != nil {
		t.Fatal(err)
	}
	session := trace.NewSession()
	session.Ending = trace.EndingSignal
	if err := errors.Join(write(entities), w.WriteSession(session), w.Close()); err != nil {
		t.Fatal(err)
	}
	d, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	datasets := []*trace.Dataset{d}
	return datasets, func(ctx context.Context) (*analyze.Query, error) {
		return analyze.NewQuery(ctx, analyze.Filter{}, datasets...)
	}
}

func noneAlike(string, []string) string { return "" }

func read(t *testing.T, text string) *expect.File {
	t.Helper()
	f, err := expect.Read("file", strings.NewReader(text), noneAlike)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// inWords are verdicts as a test wants them: what is not met, or that all is.
func inWords(verdicts []expect.Verdict) string {
	var unmet []string
	for _, v := range verdicts {
		if !v.Met {
			unmet = append(unmet, fmt.Sprintf("%s: %s %s: %s", v.What, v.Column, v.Expected, v.Measured))
		}
	}
	if len(unmet) == 0 {
		return fmt.Sprintf("%d met", len(verdicts))
	}
	return strings.Join(unmet, "\n")
}

func TestJudge(t *testing.T) {
	datasets, ask := recorded(t, nil)
	lossy, askLossy := recorded(t, func(b *trace.Batch) {
		if len(b.Nodes) > 0 { // once
			b.Losses = append(b.Losses, trace.Loss{Kind: trace.LostCallback, Reason: "ring_full", Count: 3})
		}
	})
	for name, test := range map[string]struct {
		text  string
		lossy bool
		want  string // a part of it
	}{
		"all that fit are judged":    {"expectations: [{of: topic, where: {topic_name: /chain_0/.*}, at-least: {rate: 90}, at-most: {rate: 110, p50: 11ms}}]", false, "9 met"},
		"too slow":                   {"expectations: [{of: topic, where: {topic_name: /chain_0/points}, at-least: {rate: 200}}]", false, "/chain_0/points /chain_0/sensor: rate at least 200: 1"},
		"too long":                   {"expectations: [{of: callback, where: {node_name: /chain_0/filter}, at-most: {max: 1ns}}]", false, "max at most 1ns: "},
		"not called often enough":    {"expectations: [{of: start, where: {node_name: /chain_0/filter}, at-least: {rate: 200}}]", false, "rate at least 200: 9"},
		"called often enough":        {"expectations: [{of: start, where: {node_name: /chain_0/filter}, at-least: {rate: 90}, at-most: {max: 1s}}]", false, "2 met"},
		"a name is meant as a whole": {"expectations: [{of: topic, where: {topic_name: chain_0}}]", false, ": rows at least 1: 0"},
		"something is there":         {"expectations: [{of: callback, where: {node_name: /chain_0/filter}}]", false, "1 met"},
		"nothing is there":           {"expectations: [{of: service, at-most: {max: 1s}}]", false, ": rows at least 1: 0"},
		"a path":                     {"expectations: [{of: path, from: /chain_0/points, to: /chain_0/tracks, at-most: {max: 1s, dropped_messages: 9}}]", false, "2 met"},
		"a path in full":             {"expectations: [{of: path, path: '[/chain_0/sensor]-[/chain_0/points]-[/chain_0/filter]', at-most: {max: 1s}}]", false, "1 met"},
		"a path that is not there":   {"expectations: [{of: path, from: /chain_0/points, to: /nowhere, at-most: {max: 1s}}]", false, ": rows at least 1: 0"},
		"nothing was lost":           {"complete: true", false, "1 met"},
		"something was lost":         {"complete: true", true, ": 3 records of kind callback were lost: ring_full"},
		"it is not asked":            {"complete: false\nexpectations: [{of: topic}]", true, "1 met"},
	} {
		t.Run(name, func(t *testing.T) {
			datasets, ask := datasets, ask
			if test.lossy {
				datasets, ask = lossy, askLossy
			}
			verdicts, _, err := expect.Judge(t.Context(), read(t, test.text), datasets, ask)
			if got := inWords(verdicts); err != nil || !strings.Contains(got, test.want) {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
}

// What is not known to be wanted may be missing.
func TestUndecidedIsNotComplete(t *testing.T) {
	datasets, ask := recorded(t, nil)
	datasets[0].Session().Undecided = 2
	verdicts, _, err := expect.Judge(t.Context(), read(t, "complete: true"), datasets, ask)
	if got := inWords(verdicts); err != nil || !strings.Contains(got, "whether --name fits them: 2") {
		t.Errorf("%s, %v", got, err)
	}
}

// What is not known is within no bound.
func TestUnknownIsNotMet(t *testing.T) {
	datasets, ask := recorded(t, func(b *trace.Batch) {
		for i := range b.Callbacks {
			b.Callbacks[i].CallbackEndTimestamp.Valid = false
			b.Callbacks[i].Status = trace.CallbackRecordingEnd
		}
	})
	f := read(t, "expectations: [{of: callback, where: {node_name: /chain_0/filter}, at-most: {max: 24h}}]")
	verdicts, _, err := expect.Judge(t.Context(), f, datasets, ask)
	if got := inWords(verdicts); err != nil || got != "/chain_0/filter "+strings.Fields(got)[1]+" max at most 24h0m0s: not known" {
		t.Errorf("%s, %v", got, err)
	}
}

func TestRead(t *testing.T) {
	f := read(t, "complete: true\nexpectations:\n- {name: fast, of: callback, where: {node_name: /a}, at-least: {count: 3}, at-most: {p99: 2ms}}\n- of: topic\n")
	if !f.Complete || len(f.Expectations) != 2 || f.Expectations[1].Name != "topic at line 4" || f.Expectations[1].Line != 4 {
		t.Errorf("%+v", f)
	}
	e := f.Expectations[0]
	if e.Name != "fast" || len(e.Where) != 1 || e.Where[0].Pattern.MatchString("/ab") || len(e.Bounds) != 2 ||
		e.Bounds[0] != (expect.Bound{Column: "count", Least: true, Value: 3}) || e.Bounds[1] != (expect.Bound{Column: "p99", Value: 2e6}) {
		t.Errorf("%+v", e)
	}
	for text, want := range map[string]string{
		"":                            "empty",
		"{}":                          "nothing is expected",
		"complete: false":             "nothing is expected",
		"[]":                          "no mapping",
		"complete:":                   "true or false",
		"complete: maybe":             "true or false",
		"complete: true\n---\na: b":   "more than one document",
		"complete: true\ncomplete: a": "said twice",
		"completely: true":            `file:1: "completely" is no key`,
		"expectations: 3":             "is a list",
		"expectations: [3]":           "no mapping",
		"expectations: [{}]":          `"" is nothing of which`,
		"expectations: [{of: x}]":     "there are callback, start, timer, topic",
		"expectations: [{of: topic, at-most: {p99: 3}}]":                                                                        "with its unit",
		"expectations: [{of: topic, at-most: {p99: [1]}}]":                                                                      "is a text",
		"expectations: [{of: topic, at-most: {rate: fast}}]":                                                                    "is none",
		"expectations: [{of: topic, at-most: {rate: .nan}}]":                                                                    "is none",
		"expectations: [{of: topic, at-most: {topic_name: 3}}]":                                                                 "no column of a topic that is a number",
		"expectations: [{of: topic, where: {rate: 3}}]":                                                                         "no column of a topic that is a text",
		"expectations: [{of: topic, where: {topic_name: '('}}]":                                                                 "missing closing",
		"expectations: [{of: topic, where: {topic_name: 'a)|(?:.*'}}]":                                                          "unexpected )",
		"expectations: [" + strings.Repeat("{of: topic, where: {topic_name: '"+strings.Repeat("a{1000}", 100)+"'}},", 11) + "]": "repeat more than 1000000",
		"expectations: [{of: topic, from: /a, to: /b}]":                                                                         "name a path, and nothing else",
		"expectations: [{of: path, from: /a}]":                                                                                  "name a path, and nothing else",
		"expectations: [{of: path, path: '[/a]', from: /a, to: /b}]":                                                            "name a path, and nothing else",
		"expectations: [{of: topic, every: 3}]":                                                                                 `"every" is no key`,
		"a: &a [*a]":                                                                                                            "",
		"complete: true # " + strings.Repeat("x", expect.MaxFile):                                                               "more than",
		"expectations: [" + strings.Repeat("{of: topic},", 10_001) + "]":                                                        "at most 10000",
		"expectations: [{of: topic, where: &a {topic_name: x}}, *a, !!x]":                                                       "",
	} {
		if _, err := expect.Read("file", strings.NewReader(text), noneAlike); !errors.Is(err, expect.ErrFile) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v", text, err)
		}
	}
	_, many := expect.Read("file", strings.NewReader("expectations: ["+strings.Repeat("{of: x}, ", 1000)+"]"), noneAlike)
	if lines := strings.Count(many.Error(), "\n"); lines != 19 {
		t.Errorf("a thousand are wrong: %d lines", lines+1)
	}
	_, err := expect.Read("file", strings.NewReader("expectations: [{of: topics}]"), func(_ string, names []string) string { return names[3] })
	if err == nil || !strings.Contains(err.Error(), `did you mean "topic"?`) {
		t.Errorf("what is alike: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{
		"complete: true", "expectations: [{of: topic, where: {topic_name: x}, at-most: {p99: 3ms}}]", "expectations: [{of: path, from: a, to: b}]", "a: &a [*a]",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := expect.Read("file", strings.NewReader(text), noneAlike)
		if (file == nil) != (err != nil) || err != nil && !errors.Is(err, expect.ErrFile) {
			t.Errorf("%+v, %v", file, err)
		}
	})
}

// TestPropose: what is proposed of a recording is met by it, is about all that it has, and is not met by a slower one.
func TestPropose(t *testing.T) {
	datasets, ask := recorded(t, nil)
	var text bytes.Buffer
	if _, err := expect.Propose(t.Context(), &text, []expect.Run{{Datasets: datasets, Ask: ask}}, 0.05); err != nil {
		t.Fatal(err)
	}
	f := read(t, text.String())
	subjects := map[string]int{}
	for _, e := range f.Expectations {
		subjects[e.Of]++
	}
	if !f.Complete || subjects["topic"] < 16 || subjects["callback"] < 16 || subjects["communication"] < 16 || subjects["path"] < 1 {
		t.Errorf("proposed: complete %v, %v", f.Complete, subjects)
	}
	verdicts, _, err := expect.Judge(t.Context(), f, datasets, ask)
	if got := inWords(verdicts); err != nil || !strings.HasSuffix(got, " met") {
		t.Errorf("%s, %v", got, err)
	}
	slower, askSlower := recorded(t, func(b *trace.Batch) {
		for i := range b.Callbacks {
			if c := &b.Callbacks[i]; c.CallbackEndTimestamp.Valid && c.NodeName == "/chain_0/filter" {
				c.CallbackEndTimestamp.Value += (c.CallbackEndTimestamp.Value-c.CallbackStartTimestamp.Value)/10 + 200_000
			}
		}
	})
	verdicts, _, err = expect.Judge(t.Context(), f, slower, askSlower)
	if got := inWords(verdicts); err != nil || !strings.Contains(got, "/chain_0/filter") || !strings.Contains(got, "p50 at most") {
		t.Errorf("of the slower one: %s, %v", got, err)
	}
}

// TestProposeOfRuns: what is proposed of several runs is met by each, and says nothing of what came in some only.
func TestProposeOfRuns(t *testing.T) {
	as := func(change func(*trace.Batch)) expect.Run {
		datasets, ask := recorded(t, change)
		return expect.Run{Datasets: datasets, Ask: ask}
	}
	longer := func(node string, times int64) func(*trace.Batch) {
		return func(b *trace.Batch) {
			for i := range b.Callbacks {
				if c := &b.Callbacks[i]; c.CallbackEndTimestamp.Valid && c.NodeName == node {
					c.CallbackEndTimestamp.Value += times * (c.CallbackEndTimestamp.Value - c.CallbackStartTimestamp.Value)
				}
			}
		}
	}
	const seldom = "/chain_2/filter"
	runs := []expect.Run{as(nil), as(longer("/chain_0/filter", 1)), as(func(b *trace.Batch) {
		longer("/chain_1/filter", 1)(b)
		b.Callbacks = slices.DeleteFunc(b.Callbacks, func(c trace.Callback) bool { return c.NodeName == seldom })
	})}
	var text bytes.Buffer
	warnings, err := expect.Propose(t.Context(), &text, runs, 0.05)
	if err != nil || !strings.Contains(strings.Join(warnings, "\n"), "did not come in all recordings") || !strings.Contains(text.String(), "from 3 recordings") {
		t.Fatalf("%v, %q, %.100s", err, warnings, text.String())
	}
	f := read(t, text.String())
	callbacks := 0
	for _, e := range f.Expectations {
		if e.Of != "callback" {
			continue
		}
		callbacks++
		if slices.ContainsFunc(e.Where, func(c expect.Condition) bool { return c.Column == "node_name" && c.Pattern.MatchString(seldom) }) {
			t.Errorf("%s came in two of three", seldom)
		}
	}
	if callbacks < 16 {
		t.Errorf("%d callbacks have bounds", callbacks)
	}
	for i, run := range append(runs, as(longer("/chain_0/filter", 2))) {
		verdicts, _, err := expect.Judge(t.Context(), f, run.Datasets, run.Ask)
		got := inWords(verdicts)
		if err != nil || strings.HasSuffix(got, " met") != (i < len(runs)) {
			t.Errorf("run %d: %s, %v", i, got, err)
		}
		if i == len(runs) && !strings.Contains(got, "/chain_0/filter") {
			t.Errorf("a slower run: %s", got)
		}
	}
}

func TestWriteJUnit(t *testing.T) {
	var text bytes.Buffer
	err := expect.WriteJUnit(&text, "a\x1bb", []expect.Verdict{
		{Expectation: "fast", What: "/a", Column: "p99", Expected: "at most 2ms", Measured: "3ms <&>\x00"}, {Expectation: "complete", Expected: "nothing was lost", Met: true},
		{Expectation: "complete", Expected: "nothing was lost", Met: true},
	}, []string{"not all was \x1b read", "b < a"})
	if err != nil {
		t.Fatal(err)
	}
	var suite struct {
		Name     string `xml:"name,attr"`
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Output   string `xml:"system-out"`
		Cases    []struct {
			Name    string `xml:"name,attr"`
			Class   string `xml:"classname,attr"`
			Failure *struct {
				Message string `xml:"message,attr"`
			} `xml:"failure"`
		} `xml:"testcase"`
	}
	if err := xml.Unmarshal(text.Bytes(), &suite); err != nil {
		t.Fatal(err)
	}
	if suite.Name != `a\x1bb` || suite.Tests != 3 || suite.Failures != 1 || suite.Cases[0].Name != "/a p99 at most 2ms" || suite.Cases[0].Failure == nil ||
		!strings.HasPrefix(suite.Cases[0].Failure.Message, "3ms <&>") || suite.Cases[2].Name != "nothing was lost #2" || suite.Cases[1].Failure != nil || suite.Cases[1].Class != "complete" ||
		suite.Output != "warning: not all was \\x1b read\nwarning: b < a\n" {
		t.Errorf("%+v", suite)
	}
}

// A case of an expectation without a name is called the same after a line was added to the file.
func TestJUnitWithoutNames(t *testing.T) {
	datasets, ask := recorded(t, nil)
	var reports [2]string
	for i, before := range []string{"", "# a line\n"} {
		f := read(t, before+"expectations: [{of: callback, where: {node_name: /chain_0/filter}, at-most: {max: 1ns}}, {of: topic, where: {topic_name: /none}}]")
		verdicts, _, err := expect.Judge(t.Context(), f, datasets, ask)
		var text bytes.Buffer
		if err := errors.Join(err, expect.WriteJUnit(&text, "verify", verdicts, nil)); err != nil {
			t.Fatal(err)
		}
		reports[i] = text.String()
	}
	if reports[0] != reports[1] || strings.Contains(reports[0], "system-out") || !strings.Contains(reports[0], `classname="callback"`) || !strings.Contains(reports[0], `classname="topic"`) {
		t.Errorf("%s\n%s", reports[0], reports[1])
	}
}

// What has no name spoils nothing: what would be said of it would be said of others, too.
func TestProposeWithoutNames(t *testing.T) {
	datasets, ask := recorded(t, func(b *trace.Batch) {
		for i := range b.Nodes {
			if b.Nodes[i].NodeName == "sensor" {
				b.Nodes[i].NodeName, b.Nodes[i].Namespace = "", ""
			}
		}
		for i := range b.Publishes {
			if b.Publishes[i].NodeName == "/chain_0/sensor" {
				b.Publishes[i].NodeName = ""
			}
		}
	})
	var text bytes.Buffer
	if _, err := expect.Propose(t.Context(), &text, []expect.Run{{Datasets: datasets, Ask: ask}}, 0); err != nil {
		t.Fatal(err)
	}
	verdicts, _, err := expect.Judge(t.Context(), read(t, text.String()), datasets, ask)
	if got := inWords(verdicts); err != nil || !strings.HasSuffix(got, " met") {
		t.Errorf("%s, %v", got, err)
	}
}

// Whatever the names are, what is proposed can be read and is met.
func TestProposeHostileNames(t *testing.T) {
	names := []string{"\tx\n", "\t\n", "\n a", " ", "a\r\nb", "\u0085x", "\ufeff", "null", "1e3", "!!binary x", "]-[", "<<", "# x", "{a: b}", "\x00\x1b[2J\xff", "\u2028"}
	rename := func(topic *string) {
		var chain int
		if _, err := fmt.Sscanf(*topic, "/chain_%d/", &chain); err == nil {
			*topic = names[chain%len(names)] + *topic + names[chain%len(names)]
		}
	}
	datasets, ask := recorded(t, func(b *trace.Batch) {
		for i := range b.Publishers {
			rename(&b.Publishers[i].TopicName)
		}
		for i := range b.Subscriptions {
			rename(&b.Subscriptions[i].TopicName)
		}
	})
	var text bytes.Buffer
	if _, err := expect.Propose(t.Context(), &text, []expect.Run{{Datasets: datasets, Ask: ask}}, 0); err != nil {
		t.Fatal(err)
	}
	verdicts, _, err := expect.Judge(t.Context(), read(t, text.String()), datasets, ask)
	if got := inWords(verdicts); err != nil || !strings.HasSuffix(got, " met") {
		t.Errorf("%s, %v", got, err)
	}
}

// A file of some hundred kilobytes can ask for more than fits into memory.
func TestTooManyChecks(t *testing.T) {
	datasets, ask := recorded(t, nil)
	f := read(t, "expectations:\n"+strings.Repeat("- {of: topic, at-most: {p50: 1s, p90: 1s, p99: 1s, max: 1s, min: 1s}}\n", 6000))
	if _, _, err := expect.Judge(t.Context(), f, datasets, ask); !errors.Is(err, expect.ErrFile) || !strings.Contains(err.Error(), "more than 1000000 checks") {
		t.Errorf("%v", err)
	}
}

// clockTwice makes a topic of a made-up system /clock, which one node receives by the subscription that keeps its time
// and by another one of its own. One of the two gets its messages late.
func clockTwice(b *trace.Batch, isStandardLate bool) {
	const topic, node, another = "/chain_0/points", "/chain_0/filter", 0x7000_0000_0000
	late := func(c *trace.Callback) {
		c.CallbackStartTimestamp.Value += 2_000_000
		c.CallbackEndTimestamp.Value += 2_000_000
	}
	for i := range b.Publishers {
		if b.Publishers[i].TopicName == topic {
			b.Publishers[i].TopicName, b.Publishers[i].MessageType = "/clock", "rosgraph_msgs/msg/Clock"
		}
	}
	for _, s := range slices.Clone(b.Subscriptions) {
		if s.TopicName == topic && s.NodeName == node {
			s.SubscriptionHandle, s.RMWSubscriptionHandle, s.Subscription, s.Callback = s.SubscriptionHandle+another, s.RMWSubscriptionHandle+another, s.Subscription+another, s.Callback+another
			b.Subscriptions = append(b.Subscriptions, s)
		}
	}
	for i := range b.Subscriptions {
		if b.Subscriptions[i].TopicName == topic {
			b.Subscriptions[i].TopicName, b.Subscriptions[i].MessageType = "/clock", "rosgraph_msgs/msg/Clock"
		}
	}
	for i, c := range slices.Clone(b.CallbackInfos) {
		if c.TopicName == topic && c.NodeName == node {
			b.CallbackInfos[i].TopicName, b.CallbackInfos[i].Symbol, c.TopicName = "/clock", "rclcpp::TimeSource::on_clock()", "/clock"
			c.OwnerHandle, c.Callback = c.OwnerHandle+another, c.Callback+another
			b.CallbackInfos = append(b.CallbackInfos, c)
		}
	}
	for i := range b.Publishes {
		if b.Publishes[i].TopicName == topic {
			b.Publishes[i].TopicName = "/clock"
		}
	}
	for i, c := range slices.Clone(b.Callbacks) {
		if c.TopicName != topic || c.NodeName != node || !c.CallbackEndTimestamp.Valid {
			continue
		}
		b.Callbacks[i].TopicName, b.Callbacks[i].Symbol, c.TopicName = "/clock", "rclcpp::TimeSource::on_clock()", "/clock"
		c.SubscriptionHandle, c.RMWSubscriptionHandle, c.Callback, c.TID = c.SubscriptionHandle+another, c.RMWSubscriptionHandle+another, c.Callback+another, c.TID+900
		if isStandardLate {
			late(&b.Callbacks[i])
		} else {
			late(&c)
		}
		b.Callbacks = append(b.Callbacks, c)
	}
}

// A node may receive a topic twice: for itself and as every node does. Both are what the names mean.
func TestProposeBesideWhatEveryNodeHas(t *testing.T) {
	for _, isStandardLate := range []bool{false, true} {
		datasets, ask := recorded(t, func(b *trace.Batch) { clockTwice(b, isStandardLate) })
		var text bytes.Buffer
		if _, err := expect.Propose(t.Context(), &text, []expect.Run{{Datasets: datasets, Ask: ask}}, 0); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text.String(), "topic_name: /clock") {
			t.Errorf("nothing is expected of /clock:\n%s", text.String())
		}
		verdicts, _, err := expect.Judge(t.Context(), read(t, text.String()), datasets, ask)
		if got := inWords(verdicts); err != nil || !strings.HasSuffix(got, " met") {
			t.Errorf("%s, %v", got, err)
		}
	}
}

func TestProposeNothing(t *testing.T) {
	datasets, ask := recorded(t, func(b *trace.Batch) { b.Callbacks, b.Publishes, b.Takes = nil, nil, nil })
	var text bytes.Buffer
	if _, err := expect.Propose(t.Context(), &text, []expect.Run{{Datasets: datasets, Ask: ask}}, 0.05); !errors.Is(err, analyze.ErrNothingSelected) || text.Len() > 0 {
		t.Errorf("%v, %s", err, text.String())
	}
}

// What is lost is warned of, once however much is asked, also if nobody asks for completeness.
func TestWarningsComeOnce(t *testing.T) {
	datasets, ask := recorded(t, func(b *trace.Batch) {
		if len(b.Nodes) > 0 {
			b.Losses = append(b.Losses, trace.Loss{Kind: trace.LostCallback, Reason: "ring_full", Count: 3})
		}
	})
	_, warnings, err := expect.Judge(t.Context(), read(t, "expectations: [{of: topic}, {of: callback}, {of: communication}]"), datasets, ask)
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "3 records were lost") {
		t.Errorf("%q, %v", warnings, err)
	}
}

// On a terminal of 80 columns it is seen what is not as it is expected, and how much: that it is not is the last to be
// told.
func TestNarrowVerdicts(t *testing.T) {
	verdicts := []expect.Verdict{{
		Expectation: "callback at line 3", Of: "callback", What: "/perception/lidar/top/filter /points_raw", Column: "p99", Expected: "at most 101.234µs", Measured: "266.897µs",
	}, {
		Expectation: "callback at line 3", Of: "callback", What: "/perception/lidar/left/filter /points_raw", Column: "p99", Expected: "at most 101.234µs", Measured: "300.001µs",
	}}
	var out bytes.Buffer
	screen := &report.Screen{Width: 80}
	w, err := report.NewTableWriter[expect.Verdict](&out, screen)
	if err == nil {
		err = errors.Join(w.Write(verdicts), w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	header, _, _ := strings.Cut(out.String(), "\n")
	if got := strings.Fields(header); !slices.Equal(got, []string{"EXPECTATION", "WHAT", "COLUMN", "EXPECTED", "MEASURED"}) {
		t.Errorf("the columns are %q; %s", got, screen.Missing())
	}
	for _, want := range []string{"/top/", "/left/", "266.897µs", "300.001µs"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
}
