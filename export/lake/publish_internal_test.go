package lake

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/test/simulation"
	"github.com/caret-bpf/caret-bpf/trace"
)

// lakeRow is a row by the names of its columns. Null is absent.
type lakeRow map[string]parquet.Value

func (r lakeRow) text(column string) string {
	if v, ok := r[column]; ok {
		return v.String()
	}
	return ""
}

func (r lakeRow) number(column string) trace.Optional[int64] {
	v, ok := r[column]
	if ok && v.Kind() == parquet.Int32 {
		return trace.Some(int64(v.Int32()))
	}
	return trace.Optional[int64]{Value: v.Int64(), Valid: ok}
}

// rowsOf reads a table of a lake in a directory, as engines do: all of its files.
func rowsOf(t *testing.T, lake, table string) (rows []lakeRow) {
	t.Helper()
	for _, name := range filesIn(t, filepath.Join(lake, table)) {
		file := openParquet(t, filepath.Join(lake, table, name))
		names := file.Schema().Columns()
		reader := parquet.NewReader(file)
		buffer := make([]parquet.Row, 100)
		for {
			n, err := reader.ReadRows(buffer)
			for _, row := range buffer[:n] {
				of := make(lakeRow)
				for _, value := range row {
					if !value.IsNull() {
						of[names[value.Column()][0]] = value.Clone()
					}
				}
				rows = append(rows, of)
			}
			if err != nil {
				break
			}
		}
		_ = reader.Close()
	}
	return rows
}

// filesIn are all files below a folder, by their paths in it.
func filesIn(t *testing.T, folder string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			name, _ := filepath.Rel(folder, path)
			names = append(names, name)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return names
}

// contentOf is the whole lake: the bytes of its files.
func contentOf(t *testing.T, lake string) map[string]string {
	t.Helper()
	content := make(map[string]string)
	for _, name := range filesIn(t, lake) {
		text, err := os.ReadFile(filepath.Join(lake, name))
		if err != nil {
			t.Fatal(err)
		}
		content[name] = string(text)
	}
	return content
}

// simulated are the recordings of a random system.
func simulated(t *testing.T, seed uint64) []*trace.Dataset {
	t.Helper()
	s := simulation.New(seed)
	s.Run()
	datasets, err := s.Write(t.TempDir(), 16)
	if err != nil {
		t.Fatal(err)
	}
	return datasets
}

func openLake(t *testing.T, dir string) *Lake {
	t.Helper()
	l, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func mustPublish(t *testing.T, l *Lake, d *trace.Dataset, request Request) Result {
	t.Helper()
	result, err := l.Publish(t.Context(), d, request)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// allPaths are those that a recording has, as many as fit a test.
func allPaths(ctx context.Context, q *analyze.Query) ([]*system.Path, error) {
	if err := q.LoadActivity(ctx); err != nil {
		return nil, err
	}
	paths, _, err := q.Architecture.Paths(ctx, system.PathQuery{Undefined: true, Limit: 20, Nodes: system.DefaultPathNodes})
	return slices.DeleteFunc(paths, func(p *system.Path) bool { return len(p.Nodes) < 2 }), err
}

var pathOptions = analyze.PathOptions{LinkOptions: analyze.LinkOptions{Latest: true}}

// TestFactsAreTheAnswers: of random systems, what is in the lake is what queries answer.
func TestFactsAreTheAnswers(t *testing.T) {
	ways := 0
	for seed := uint64(1); seed <= 6; seed++ {
		for i, d := range simulated(t, seed) {
			t.Run(fmt.Sprintf("seed %d, recording %d", seed, i), func(t *testing.T) {
				dir := t.TempDir()
				result := mustPublish(t, openLake(t, dir), d, Request{Paths: allPaths, PathOptions: pathOptions})
				q, err := analyze.NewQuery(t.Context(), analyze.Filter{}, d)
				if err != nil {
					t.Fatal(err)
				}
				compareCallbacks(t, dir, q)
				compareCommunications(t, dir, q)
				ways += comparePaths(t, dir, q)
				compareAnswers(t, dir, q)
				compareOthers(t, dir, d, q, result)
			})
		}
	}
	if ways == 0 {
		t.Error("no message went along a path")
	}
}

func labelIn(r lakeRow) analyze.CallbackLabel {
	period := r.number("period")
	return analyze.CallbackLabel{
		PID: int32(r.number("pid").Value), Node: r.text("node_name"), Kind: trace.CallbackKind(r.text("kind")), Topic: r.text("topic_name"),
		Period: period, Symbol: r.text("symbol"),
	}
}

func compareCallbacks(t *testing.T, dir string, q *analyze.Query) {
	t.Helper()
	var want, got []analyze.CallbackExecution
	latencies, err := q.CallbackLatency(t.Context(), func(some []analyze.CallbackExecution) error {
		want = append(want, some...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[int64]string)
	for _, r := range rowsOf(t, dir, TableCallbackInfo) {
		names[r.number("callback_id").Value] = r.text("callback_name")
	}
	type counts struct{ count, incomplete uint64 }
	byID := make(map[int64]*counts)
	for _, r := range rowsOf(t, dir, TableCallbackFact) {
		label, id := labelIn(r), r.number("callback_id").Value
		label.Callback = names[id]
		if byID[id] == nil {
			byID[id] = new(counts)
		}
		if r.number("latency").Valid {
			byID[id].count++
		} else {
			byID[id].incomplete++
		}
		if r.number("callback_start_timestamp").Valid {
			got = append(got, analyze.CallbackExecution{
				CallbackLabel: label, TID: int32(r.number("tid").Value), Begin: r.number("callback_start_timestamp").Value,
				End: r.number("callback_end_timestamp"), Latency: r.number("latency"), Status: trace.CallbackStatus(r.text("status")),
			})
		}
	}
	requireEqual(t, "executions", got, want)
	groups, wantGroups := make(map[string]int), make(map[string]int)
	for id, c := range byID {
		groups[fmt.Sprint(names[id], *c)]++
	}
	for _, l := range latencies {
		wantGroups[fmt.Sprint(l.Callback, counts{l.Count, l.Incomplete})]++
	}
	requireEqual(t, "callbacks", groups, wantGroups)
	parts := make(map[string]int)
	_, err = q.CallbackParts(t.Context(), func(some []analyze.PartedExecution) error {
		for _, e := range some {
			parts[fmt.Sprint(e.TID, e.Begin, e.Latency, e.Parts, e.Preemptions, e.Migrations)]++
		}
		return nil
	})
	if err != nil && !errors.Is(err, analyze.ErrNoScheduling) {
		t.Fatal(err)
	}
	gotParts := make(map[string]int)
	for _, r := range rowsOf(t, dir, TableCallbackFact) {
		if of := r.number("cpu_time"); of.Valid && r.number("latency").Valid {
			p := analyze.Parts{CPUTime: of.Value, PreemptedTime: r.number("preempted_time").Value, BlockedTime: r.number("blocked_time").Value, WakeupLatency: r.number("wakeup_latency").Value}
			gotParts[fmt.Sprint(r.number("tid").Value, r.number("callback_start_timestamp").Value, r.number("latency").Value, p, r.number("preemptions").Value, r.number("migrations").Value)]++
		}
	}
	requireEqual(t, "parts", gotParts, parts)
}

func requireEqual[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s are %.2000v, want %.2000v", what, fmt.Sprint(got), fmt.Sprint(want))
	}
}

func compareCommunications(t *testing.T, dir string, q *analyze.Query) {
	t.Helper()
	want, got := make(map[analyze.CommunicationInstance]int), make(map[analyze.CommunicationInstance]int)
	latencies, err := q.CommunicationLatency(t.Context(), func(some []analyze.CommunicationInstance) error {
		for _, i := range some {
			want[i]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	type pair struct {
		publisher, subscription int64
		transport               analyze.Transport
	}
	type group struct {
		analyze.CommunicationLabel
		received, lost, open, unknown, byTopic uint64
	}
	groups := make(map[pair]*group)
	before := int64(0)
	for _, r := range rowsOf(t, dir, TableMessageFact) {
		transport := analyze.InterProcess
		if r["is_intra_process"].Boolean() {
			transport = analyze.IntraProcess
		}
		label := analyze.CommunicationLabel{
			Topic: r.text("topic_name"), PublisherNode: r.text("publisher_node"), PublisherPID: int32(r.number("publisher_pid").Value),
			SubscriptionNode: r.text("subscription_node"), SubscriptionPID: int32(r.number("subscription_pid").Value), Transport: transport,
		}
		i := analyze.CommunicationInstance{
			CommunicationLabel: label, Fate: analyze.Fate(r.text("fate")), JoinedBy: analyze.JoinedBy(r.text("joined_by")),
			RclcppIntraPublish: r.number("rclcpp_intra_publish_timestamp"), RclcppPublish: r.number("rclcpp_publish_timestamp"),
			RclPublish: r.number("rcl_publish_timestamp"), RMWPublish: r.number("rmw_publish_timestamp"),
			DDSBindAddrToStamp: r.number("dds_bind_addr_to_stamp_timestamp"), SourceTimestamp: r.number("source_timestamp"),
			RclcppRingBufferQueue: r.number("rclcpp_ring_buffer_enqueue_timestamp"), Take: r.number("take_timestamp"),
			CallbackStartTimestamp: r.number("callback_start_timestamp"), Latency: r.number("latency"),
		}
		got[i]++
		at := r.number("publish_timestamp").Value
		if at != i.Published() || at < before {
			t.Errorf("%v was published at %d, after one of %d", r, i.Published(), before)
		}
		before = at
		if polled, received := r["polled"]; received != (i.Fate == analyze.Received) || received && polled.Boolean() == i.CallbackStartTimestamp.Valid {
			t.Errorf("%v is polled: %v", r, polled)
		}
		of := pair{r.number("publisher_id").Value, r.number("subscription_id").Value, transport}
		if groups[of] == nil {
			groups[of] = &group{CommunicationLabel: label}
		}
		g := groups[of]
		*map[analyze.Fate]*uint64{analyze.Received: &g.received, analyze.Lost: &g.lost, analyze.Open: &g.open, analyze.Unknown: &g.unknown}[i.Fate]++
		if i.JoinedBy == analyze.JoinedByTopic {
			g.byTopic++
		}
	}
	requireEqual(t, "messages", got, want)
	gotGroups, wantGroups := make(map[group]int), make(map[group]int)
	for _, g := range groups {
		gotGroups[*g]++
	}
	for _, l := range latencies {
		wantGroups[group{l.CommunicationLabel, l.Count, l.Lost, l.Open, l.Unknown, l.JoinedByTopic}]++
	}
	requireEqual(t, "communications", gotGroups, wantGroups)
}

// comparePaths returns how many messages went along paths.
func comparePaths(t *testing.T, dir string, q *analyze.Query) int {
	t.Helper()
	paths, err := allPaths(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		return 0
	}
	want, got, ways := make(map[analyze.PathHopInstance]int), make(map[analyze.PathHopInstance]int), 0
	options := pathOptions
	options.Dropped = true
	_, err = q.PathLatency(t.Context(), paths, options, func(some []analyze.PathHopInstance) error {
		for _, i := range some {
			want[i]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	instance := func(r lakeRow) analyze.PathHopInstance {
		number := r.number("instance")
		return analyze.PathHopInstance{
			Path: r.text("path"), Instance: trace.Optional[uint64]{Value: uint64(number.Value), Valid: number.Valid}, Fate: analyze.Fate(r.text("fate")),
			Begin: r.number("begin_timestamp").Value, End: r.number("end_timestamp"), Latency: r.number("latency"),
		}
	}
	for _, r := range rowsOf(t, dir, TablePathFact) {
		i := instance(r)
		i.Kind, i.Name, i.PathBegin = analyze.HopPath, i.Path, trace.Some(i.Begin)
		got[i]++
		ways++
	}
	for _, r := range rowsOf(t, dir, TableHopFact) {
		i := instance(r)
		i.Kind, i.Name, i.PathBegin, i.Hop = analyze.HopKind(r.text("kind")), r.text("name"), r.number("path_begin_timestamp"), int(r.number("hop").Value)
		got[i]++
	}
	requireEqual(t, "hops", got, want)
	return ways
}

func compareOthers(t *testing.T, dir string, d *trace.Dataset, q *analyze.Query, result Result) {
	t.Helper()
	recordings := rowsOf(t, dir, TableRecording)
	if len(recordings) != 1 {
		t.Fatalf("%d recordings", len(recordings))
	}
	r := recordings[0]
	span, known, err := q.TimeSpan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if begin, end := r.number("begin_timestamp"), r.number("end_timestamp"); begin != (trace.Optional[int64]{Value: span.First, Valid: known}) || end != (trace.Optional[int64]{Value: span.Last, Valid: known}) {
		t.Errorf("from %v to %v, want %v", begin, end, span)
	}
	rows, files := int64(0), int64(0)
	for _, table := range Tables() {
		if table.Name == TableRecording {
			continue
		}
		of := rowsOf(t, dir, table.Name)
		rows += int64(len(of))
		files += int64(len(filesIn(t, filepath.Join(dir, table.Name))))
		for _, row := range of {
			if row.text("recording_id") != result.Recording || row.text(KeyDate) != r.text(KeyDate) || row.text("vehicle") != d.Session().Attributes["vehicle"] {
				t.Fatalf("%s has %v", table.Name, row)
			}
		}
	}
	for column, want := range map[string]int64{
		"rows": rows, "files": files, "bytes": result.Bytes, "callbacks": int64(len(rowsOf(t, dir, TableCallbackFact))), "messages": int64(len(rowsOf(t, dir, TableMessageFact))),
		"node_rows": int64(len(rowsOf(t, dir, TableNodeFact))),
		"nodes":     int64(len(q.Architecture.Nodes)), "processes": int64(len(q.Architecture.Processes)), "damaged_segments": 0, "format": FormatVersion,
	} {
		if got := r.number(column).Value; got != want {
			t.Errorf("%s is %d, want %d", column, got, want)
		}
	}
	if result.Rows != rows || result.Files != files {
		t.Errorf("told are %+v", result)
	}
	var losses []trace.Loss
	if err := q.Losses(t.Context(), func(some []trace.Loss) error { losses = append(losses, some...); return nil }); err != nil {
		t.Fatal(err)
	}
	of := rowsOf(t, dir, TableLoss)
	if len(of) != len(losses) {
		t.Fatalf("%d losses, want %d", len(of), len(losses))
	}
	for i, loss := range losses {
		if of[i].text("kind") != string(loss.Kind) || of[i].text("reason") != string(loss.Reason) || of[i].number("count").Value != int64(loss.Count) || of[i].number("from_timestamp").Value != loss.FromTimestamp {
			t.Errorf("loss %v, want %v", of[i], loss)
		}
	}
}

// A table without rows has a file with its columns.
func TestEachTableHasAFile(t *testing.T) {
	dir := t.TempDir()
	mustPublish(t, openLake(t, dir), simulated(t, 1)[0], Request{})
	for _, table := range Tables() {
		if len(filesIn(t, filepath.Join(dir, table.Name))) == 0 {
			t.Errorf("%s has no file", table.Name)
		}
	}
	if rows := rowsOf(t, dir, TablePathFact); len(rows) > 0 {
		t.Errorf("of paths that nobody asked for there is %v", rows)
	}
}

// TestPublishingAgain adds nothing, and says so.
func TestPublishingAgain(t *testing.T) {
	d, dir := simulated(t, 1)[0], t.TempDir()
	first := mustPublish(t, openLake(t, dir), d, Request{})
	before := contentOf(t, dir)
	again := mustPublish(t, openLake(t, dir), d, Request{})
	if first.Already || !again.Already || again.Recording != first.Recording || again.Rows != first.Rows {
		t.Errorf("first %+v, then %+v", first, again)
	}
	requireEqual(t, "files", contentOf(t, dir), before)
	for name := range before {
		if !strings.HasPrefix(name, manifestFolder) && !strings.HasSuffix(name, ".parquet") {
			t.Errorf("%s is left", name)
		}
	}
	if entries, err := os.ReadDir(filepath.Join(dir, stagingFolder)); err == nil {
		t.Errorf("%v are left", entries)
	}
}

// TestSameFilesAnywhere: files depend on nothing but the recording.
func TestSameFilesAnywhere(t *testing.T) {
	for seed := uint64(1); seed <= 4; seed++ {
		d := simulated(t, seed)[0]
		var first map[string]string
		for range 4 {
			dir := t.TempDir()
			mustPublish(t, openLake(t, dir), d, Request{Paths: allPaths, PathOptions: pathOptions})
			if first == nil {
				first = contentOf(t, dir)
			}
			requireEqual(t, "files", contentOf(t, dir), first)
		}
	}
}

// TestPublishedInAnotherWay is an error, unless it is to replace the recording.
func TestPublishedInAnotherWay(t *testing.T) {
	d, dir := simulated(t, 2)[0], t.TempDir()
	l := openLake(t, dir)
	mustPublish(t, l, d, Request{Paths: allPaths, PathsAsked: "all", PathOptions: pathOptions})
	if len(filesIn(t, filepath.Join(dir, TableHopFact))) == 0 {
		t.Fatal("no hops")
	}
	for name, request := range map[string]Request{"other paths": {}, "other keys": {Keys: []string{"date"}, PathsAsked: "all"}} {
		if _, err := l.Publish(t.Context(), d, request); !errors.Is(err, ErrPublished) || !strings.Contains(err.Error(), "--replace") {
			t.Errorf("%s: %v", name, err)
		}
		request.Replace = true
		if result := mustPublish(t, l, d, request); result.Already {
			t.Errorf("%s: %+v", name, result)
		}
		want := t.TempDir()
		mustPublish(t, openLake(t, want), d, request)
		requireEqual(t, name, slices.Sorted(maps.Keys(contentOf(t, dir))), slices.Sorted(maps.Keys(contentOf(t, want))))
		requireEqual(t, name, contentOf(t, dir), contentOf(t, want))
	}
}
