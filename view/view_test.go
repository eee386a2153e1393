package view_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
	"github.com/caret-bpf/caret-bpf/view"
	"github.com/caret-bpf/caret-bpf/writer"
)

// finder finds paths in what was recorded.
type finder struct{}

func (finder) Adopt(*analyze.Query) error { return nil }

func (finder) Options() analyze.PathOptions { return analyze.PathOptions{} }

func (finder) Find(ctx context.Context, q *analyze.Query, texts []string, from, to string) (paths []*system.Path, err error) {
	for _, text := range texts {
		named, err := q.Architecture.FindPaths(text)
		if err != nil {
			return nil, err
		}
		paths = system.AddPaths(paths, named)
	}
	if from != "" || to != "" {
		found, _, err := q.Architecture.Paths(ctx, system.PathQuery{From: from, To: to})
		if err != nil {
			return nil, err
		}
		paths = system.AddPaths(paths, found)
	}
	return paths, nil
}

// systemDataset is a recording of a system of 16 chains.
func systemDataset(t testing.TB, callbacks int) *trace.Dataset {
	t.Helper()
	dir := t.TempDir() + "/rec"
	w, err := writer.Create(dir, writer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	session := endedSession()
	entities, err := tracetest.System(callbacks, w.Write)
	if err := errors.Join(err, w.Write(entities), w.WriteSession(session), w.Close()); err != nil {
		t.Fatal(err)
	}
	return tracetest.Open(t, dir)
}

// datasetOf is a recording of some rows.
func datasetOf(t testing.TB, rows *trace.Batch) *trace.Dataset {
	t.Helper()
	dir := t.TempDir()
	tracetest.AddSegments(t, dir, 0, rows)
	tracetest.AddSession(t, dir, endedSession())
	return tracetest.Open(t, dir)
}

// endedSession is that of a recording that ended.
func endedSession() *trace.Session {
	s := trace.NewSession()
	s.Ending = trace.EndingDuration
	s.Enter(trace.StateStopped, time.Unix(0, begin))
	return s
}

// open opens a view of datasets.
func open(t testing.TB, options view.Options) *view.View {
	t.Helper()
	if options.Paths == nil {
		options.Paths = finder{}
	}
	v, err := view.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// ask decodes the answer for a key.
func ask[T any](t testing.TB, v *view.View, key string) (answer T) {
	t.Helper()
	text, err := v.Answer(t.Context(), key)
	if err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatalf("%s: %v in %s", key, err, text)
	}
	return answer
}

// recording are the parts of that answer which tests look at.
type recording struct {
	Part      bool
	Begin     string
	Duration  int64
	Levels    int64
	Processes []struct{ PID int32 }
	Threads   []struct {
		Process int
		TID     int32
	}
	Nodes []struct {
		Name    string
		Process int
	}
	Topics    []struct{ Name, Type string }
	Callbacks []struct {
		Name string
		Node int
		Kind string
	}
	Datasets []struct{ Callbacks int }
	Lost     struct{ Text string }
	Warnings []string
}

// What is asked is refused, with a reason, unless it is well-formed.
func TestKeys(t *testing.T) {
	v := open(t, view.Options{Datasets: []*trace.Dataset{systemDataset(t, 2000)}})
	for key, want := range map[string]error{
		"nothing":                    view.ErrNoSuchKey,
		"":                           view.ErrNoSuchKey,
		"recording?":                 nil,
		"recording?a=b":              view.ErrBadKey,
		"tile":                       view.ErrBadKey,
		"tile?index=0&level=0":       view.ErrBadKey,
		"tile?level=0&index=0":       nil,
		"tile?level=1&index=2":       view.ErrBadKey,
		"tile?level=-1&index=0":      view.ErrBadKey,
		"tile?level=01&index=0":      view.ErrBadKey,
		"tile?level=99&index=0":      view.ErrBadKey,
		"tile?level=0&index=%zz":     view.ErrBadKey,
		"tile?level=0&index=0&a=b":   view.ErrBadKey,
		"offcpu?level=0&index=0":     nil,
		"delays":                     nil,
		"offcpus":                    nil,
		"comparedparts":              nil,
		"comparedparts?path=a":       nil,
		"paths?from=%2Fno&to=%2Fone": system.ErrNoSuchName,
		"path?path=%5B%2Fno%5D":      system.ErrNoSuchName,
		"flow?path=a&from=5&to=4":    view.ErrBadKey,
		"series?subject=callback&id=0&measure=latency&from=0&to=1":        nil,
		"series?subject=callback&id=999999&measure=latency&from=0&to=1":   view.ErrBadKey,
		"series?subject=topic&id=0&measure=latency&from=0&to=1":           view.ErrBadKey,
		"series?subject=communication&id=9999&measure=period&from=0&to=1": view.ErrBadKey,
		"series?subject=topic&id=9999&measure=period&from=0&to=1":         view.ErrBadKey,
		"path?path=" + strings.Repeat("a", 40_000):                        view.ErrBadKey,
	} {
		_, err := v.Answer(t.Context(), key)
		if want == nil && err != nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%.60s: %v", key, err)
		}
	}
}

// Nothing is shown where nothing happened, nor where times are so far apart that they cannot be right.
func TestWhatCannotBeShown(t *testing.T) {
	empty := datasetOf(t, &trace.Batch{Nodes: []trace.Node{{ProcessKey: robot, NodeName: "/n"}}})
	if _, err := view.Open(t.Context(), view.Options{Datasets: []*trace.Dataset{empty}}); !errors.Is(err, view.ErrNoEvents) {
		t.Errorf("without events: %v", err)
	}
	torn := datasetOf(t, &trace.Batch{Callbacks: []trace.Callback{ran(1, 0x10, 0, 1, trace.CallbackComplete, 0), ran(1, 0x10, 1<<60, 1<<60+1, trace.CallbackComplete, 0)}})
	if _, err := view.Open(t.Context(), view.Options{Datasets: []*trace.Dataset{torn}}); !errors.Is(err, view.ErrTooLong) {
		t.Errorf("over decades: %v", err)
	}
}

// The recording names what the other answers number.
func TestRecording(t *testing.T) {
	v := open(t, view.Options{Datasets: []*trace.Dataset{systemDataset(t, 2000)}})
	r := ask[recording](t, v, "recording")
	if len(r.Processes) != 3 || len(r.Nodes) != 64 || len(r.Topics) != 48 || len(r.Callbacks) != 64 || len(r.Threads) != 16 {
		t.Errorf("%d processes, %d nodes, %d topics, %d callbacks, %d threads", len(r.Processes), len(r.Nodes), len(r.Topics), len(r.Callbacks), len(r.Threads))
	}
	if r.Lost.Text != "nothing was lost" || r.Datasets[0].Callbacks < 2000 || r.Duration <= 0 {
		t.Errorf("%+v", r)
	}
	for _, c := range r.Callbacks {
		if !strings.HasPrefix(c.Name, r.Nodes[c.Node].Name+"/") {
			t.Errorf("callback %s is of node %s", c.Name, r.Nodes[c.Node].Name)
		}
	}
}

// It is told that only a part is shown, of which the datasets' numbers are not.
func TestPartIsTold(t *testing.T) {
	d := systemDataset(t, 2000)
	for name, options := range map[string]view.Options{
		"time": {Part: func(s trace.Span) (trace.Span, error) {
			return trace.Span{First: s.First, Last: (s.First + s.Last) / 2}, nil
		}},
		"nodes":   {Filter: analyze.Filter{Nodes: []*regexp.Regexp{regexp.MustCompile("/chain_0/.*")}}},
		"process": {Filter: analyze.Filter{Processes: []int32{100}}},
		"all":     {},
	} {
		options.Datasets = []*trace.Dataset{d}
		if r := ask[recording](t, open(t, options), "recording"); r.Part != (name != "all") || r.Datasets[0].Callbacks < 2000 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// An interrupted question is asked again by the next who wants to know.
func TestInterruptedQuestion(t *testing.T) {
	v := open(t, view.Options{Datasets: []*trace.Dataset{systemDataset(t, 2000)}})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := v.Answer(ended, "graph"); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted question: %v", err)
	}
	if _, err := v.Answer(t.Context(), "graph"); err != nil {
		t.Error(err)
	}
}

// What was interrupted while it read is read anew.
func TestInterruptedReading(t *testing.T) {
	d := systemDataset(t, 2000)
	want, err := open(t, view.Options{Datasets: []*trace.Dataset{d}}).Answer(t.Context(), "paths")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	v := open(t, view.Options{Datasets: []*trace.Dataset{d}, Progress: func(int64, int64) { cancel() }})
	if _, err := v.Answer(ctx, "paths"); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted question: %v", err)
	}
	if got, err := v.Answer(t.Context(), "paths"); err != nil || string(got) != string(want) {
		t.Errorf("then %s, %v", got, err)
	}
}

// Damage that is found while rows are read is told with each answer that lacks them, also with those that were made of
// what was read for another one.
func TestDamageIsTold(t *testing.T) {
	rows := timers()
	for i := range int64(3) {
		rows.Callbacks = append(rows.Callbacks, ran(1, 0x10, 1000*i, 1000*i+100, trace.CallbackComplete, 0))
	}
	dir := t.TempDir()
	tracetest.AddSegments(t, dir, 0, rows)
	tracetest.AddSession(t, dir, trace.NewSession())
	broken := tracetest.AddSegment(t, dir, 1, []trace.Callback{ran(1, 0x10, 5000, 5100, trace.CallbackComplete, 0)})
	content, err := os.ReadFile(broken)
	if err != nil {
		t.Fatal(err)
	}
	for i := 4; i < 60; i++ { // its pages; the footer is whole
		content[i] ^= 0x5a
	}
	if err := os.WriteFile(broken, content, 0o600); err != nil {
		t.Fatal(err)
	}
	v := open(t, view.Options{Datasets: []*trace.Dataset{tracetest.Open(t, dir)}})
	for _, key := range []string{"callbacks", "callbacks", "tile?level=0&index=0", "timers", "loads", "series?subject=callback&id=0&measure=latency&from=0&to=100"} {
		got := ask[struct{ Warnings []string }](t, v, key)
		inTime := !strings.HasPrefix(key, "series") // which does not reach the damage
		if inTime && (len(got.Warnings) == 0 || !strings.Contains(got.Warnings[0], filepath.Base(broken))) {
			t.Errorf("%s: warnings %q", key, got.Warnings)
		}
	}
	html, _ := writeReport(t, v, view.ReportBytes)
	if !strings.Contains(string(answersOf(t, html)["callbacks"]), filepath.Base(broken)) {
		t.Error("a report does not tell")
	}
}

// A filter takes away what it does not take: nothing is said of it.
func TestFilteredGraph(t *testing.T) {
	node := regexp.MustCompile("/chain_3/filter")
	v := open(t, view.Options{Datasets: []*trace.Dataset{systemDataset(t, 3000)}, Filter: analyze.Filter{Nodes: []*regexp.Regexp{node}}})
	g := ask[struct {
		Nodes []int
		Edges []struct{ Count *int }
	}](t, v, "graph")
	if len(g.Nodes) != 3 || len(g.Edges) != 2 || g.Edges[0].Count == nil || *g.Edges[0].Count == 0 {
		t.Errorf("%+v", g)
	}
}
