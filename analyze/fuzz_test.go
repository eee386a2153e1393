package analyze_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/summary"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// FuzzQueries asks everything of a dataset of which one table's segment, session.json and the architecture file are
// arbitrary bytes: errors or answers, and no panic. An answer that never comes is reported by the fuzzer.
func FuzzQueries(f *testing.F) {
	session, err := trace.EncodeSession(trace.NewSession())
	if err != nil {
		f.Fatal(err)
	}
	architecture, err := os.ReadFile("system/testdata/chain.yaml")
	if err != nil {
		f.Fatal(err)
	}
	seeds := f.TempDir()
	seed(f, seeds)
	for i, table := range trace.Registry() {
		segment, err := os.ReadFile(filepath.Join(seeds, table.Name, "00000000.parquet"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), segment, session, architecture)
		f.Add(uint8(i), segment[:len(segment)/2], []byte("{}"), []byte("path_name_aliases: []"))
	}
	f.Fuzz(func(t *testing.T, table uint8, segment, session, architecture []byte) {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(seeds)); err != nil {
			t.Fatal(err)
		}
		replaced := trace.Registry()[int(table)%len(trace.Registry())]
		for name, content := range map[string][]byte{
			filepath.Join(replaced.Name, "00000000.parquet"): segment,
			trace.SessionFile: session,
		} {
			if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		d, err := trace.Open(dir)
		if err != nil {
			return
		}
		askEverything(t.Context(), d, architecture)
	})
}

// seed writes a dataset with a row group of every table: a small system, and random rows beside it.
func seed(t testing.TB, dir string) {
	key := processKey(1)
	rows := &trace.Batch{
		Nodes: []trace.Node{{ProcessKey: key, NodeHandle: 1, NodeName: "a", Namespace: "/"}, {ProcessKey: key, NodeHandle: 2, NodeName: "b", Namespace: "/"}},
		Publishers: []trace.Publisher{
			{ProcessKey: key, PublisherHandle: 3, NodeHandle: 1, NodeName: "/a", TopicName: "/t"}, {ProcessKey: key, PublisherHandle: 4, NodeHandle: 2, NodeName: "/b", TopicName: "/u"},
		},
		Subscriptions: []trace.Subscription{
			{ProcessKey: key, SubscriptionHandle: 5, NodeHandle: 2, NodeName: "/b", TopicName: "/t", Callback: 7, Buffer: 9},
			{ProcessKey: key, SubscriptionHandle: 6, NodeHandle: 1, NodeName: "/a", TopicName: "/u", Callback: 8},
		},
		CallbackInfos: []trace.CallbackInfo{
			{ProcessKey: key, Callback: 7, Kind: trace.KindSubscription, OwnerHandle: 5, NodeName: "/b", TopicName: "/t"},
			{ProcessKey: key, Callback: 8, Kind: trace.KindSubscription, OwnerHandle: 6, NodeName: "/a", TopicName: "/u"},
		},
	}
	rows.Append(tracetest.RandomBatch(20, 1))
	tracetest.AddSegments(t, dir, 0, rows)
}

// askEverything asks every question; what they answer does not matter.
func askEverything(ctx context.Context, d *trace.Dataset, architecture []byte) {
	_, _ = summary.Of(ctx, d, nil)
	_, _ = system.Load(ctx, nil, d)
	_, _ = analyze.Diff(ctx, []*trace.Dataset{d}, []*trace.Dataset{d}, analyze.DiffOptions{})
	_, _ = analyze.Views(d)
	q, err := analyze.NewQuery(ctx, analyze.Filter{}, d, d)
	if err != nil {
		return
	}
	for _, ask := range questions(ctx, q) {
		_ = ask()
	}
	_, _ = q.CallbackLatency(ctx, func([]analyze.CallbackExecution) error { return nil })
	_, _ = q.ServiceLatency(ctx, func([]analyze.ServiceCall) error { return nil })
	for _, subject := range []analyze.Subject{analyze.Callbacks, analyze.Topics} {
		_, _ = q.Periods(ctx, subject, true, func([]analyze.PeriodInstance) error { return nil })
		_, _ = q.Frequencies(ctx, subject, false, analyze.Intervals{Length: 1e9}, nil)
	}
	if err := q.LoadActivity(ctx); err != nil {
		return
	}
	if file, err := system.Read(bytes.NewReader(architecture)); err == nil {
		q.Architecture.Adopt(file)
	}
	_, _ = q.NodeLatency(ctx, analyze.LinkOptions{Latest: true}, func([]analyze.NodeInstance) error { return nil })
	paths, _, _ := q.Architecture.Paths(ctx, system.PathQuery{Undefined: true, Limit: 20})
	paths = append(paths, q.Architecture.NamedPaths...)
	_, _ = q.PathLatency(ctx, paths, analyze.PathOptions{LinkOptions: analyze.LinkOptions{Latest: true}}, func([]analyze.PathHopInstance) error { return nil })
	_, _ = q.ResponseTime(ctx, paths, analyze.PathOptions{LinkOptions: analyze.LinkOptions{Latest: true}}, func([]analyze.ResponseTimeInstance) error { return nil }, nil)
}
