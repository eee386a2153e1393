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

// fuzzedTables are the tables of which FuzzQueries replaces one.
var fuzzedTables = []string{
	trace.TableCallback, trace.TablePublish, trace.TableTake, trace.TableEnqueue, trace.TableService, trace.TableSimTime, trace.TableNode,
	trace.TablePublisher, trace.TableSubscription, trace.TableTimer, trace.TableServiceServer, trace.TableClient, trace.TableCallbackInfo, trace.TableCallbackGroup,
	trace.TableExecutor, trace.TableProcess, trace.TableLoss, trace.TableClock,
}

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
	for i, table := range fuzzedTables {
		segment, err := os.ReadFile(filepath.Join(seeds, table, "00000000.parquet"))
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
		for name, content := range map[string][]byte{
			filepath.Join(fuzzedTables[int(table)%len(fuzzedTables)], "00000000.parquet"): segment,
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
	addSeed[trace.Callback](t, dir, nil)
	addSeed[trace.Publish](t, dir, nil)
	addSeed[trace.Take](t, dir, nil)
	addSeed[trace.Enqueue](t, dir, nil)
	addSeed[trace.Service](t, dir, nil)
	addSeed[trace.SimTime](t, dir, nil)
	addSeed[trace.Timer](t, dir, nil)
	addSeed[trace.ServiceServer](t, dir, nil)
	addSeed[trace.Client](t, dir, nil)
	addSeed[trace.CallbackGroup](t, dir, nil)
	addSeed[trace.Executor](t, dir, nil)
	addSeed[trace.Process](t, dir, nil)
	addSeed[trace.Loss](t, dir, nil)
	addSeed[trace.Clock](t, dir, nil)
	key := processKey(1)
	addSeed(t, dir, []trace.Node{{ProcessKey: key, NodeHandle: 1, NodeName: "a", Namespace: "/"}, {ProcessKey: key, NodeHandle: 2, NodeName: "b", Namespace: "/"}})
	addSeed(t, dir, []trace.Publisher{{ProcessKey: key, PublisherHandle: 3, NodeHandle: 1, NodeName: "/a", TopicName: "/t"}, {ProcessKey: key, PublisherHandle: 4, NodeHandle: 2, NodeName: "/b", TopicName: "/u"}})
	addSeed(t, dir, []trace.Subscription{
		{ProcessKey: key, SubscriptionHandle: 5, NodeHandle: 2, NodeName: "/b", TopicName: "/t", Callback: 7, Buffer: 9},
		{ProcessKey: key, SubscriptionHandle: 6, NodeHandle: 1, NodeName: "/a", TopicName: "/u", Callback: 8},
	})
	addSeed(t, dir, []trace.CallbackInfo{
		{ProcessKey: key, Callback: 7, Kind: trace.KindSubscription, OwnerHandle: 5, NodeName: "/b", TopicName: "/t"},
		{ProcessKey: key, Callback: 8, Kind: trace.KindSubscription, OwnerHandle: 6, NodeName: "/a", TopicName: "/u"},
	})
}

func addSeed[T any](t testing.TB, dir string, rows []T) {
	tracetest.AddSegment(t, dir, 0, append(rows, tracetest.Random[T](20, 1)...))
}

// askEverything asks every question; what they answer does not matter.
func askEverything(ctx context.Context, d *trace.Dataset, architecture []byte) {
	_, _ = summary.Of(ctx, d, nil)
	_, _ = system.Load(ctx, nil, d)
	_, _ = analyze.Diff(ctx, d, d, analyze.DiffOptions{})
	_, _ = analyze.Views(d)
	q, err := analyze.NewQuery(ctx, analyze.Filter{}, d, d)
	if err != nil {
		return
	}
	_, _, _ = q.TimeSpan(ctx)
	_, _ = q.CallbackLatency(ctx, func([]analyze.CallbackExecution) error { return nil })
	_, _ = q.CommunicationLatency(ctx, func([]analyze.CommunicationInstance) error { return nil })
	_, _ = q.ServiceLatency(ctx, func([]analyze.ServiceCall) error { return nil })
	for _, subject := range []analyze.Subject{analyze.Callbacks, analyze.Topics} {
		_, _ = q.Periods(ctx, subject, true, func([]analyze.PeriodInstance) error { return nil })
		_, _ = q.Frequencies(ctx, subject, false, 1e9, nil)
	}
	if err := q.LoadActivity(ctx); err != nil {
		return
	}
	if file, err := system.Read(bytes.NewReader(architecture)); err == nil {
		q.Architecture.Adopt(file)
	}
	_, _ = q.NodeLatency(ctx, true, func([]analyze.NodeInstance) error { return nil })
	paths, _, _ := q.Architecture.Paths(ctx, system.PathQuery{Undefined: true, Limit: 20})
	paths = append(paths, q.Architecture.NamedPaths...)
	_, _ = q.PathLatency(ctx, paths, true, func([]analyze.PathHopInstance) error { return nil })
	_, _ = q.ResponseTime(ctx, paths, true, func([]analyze.ResponseTimeInstance) error { return nil })
}
