package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
	"github.com/caret-bpf/caret-bpf/view"
	"github.com/caret-bpf/caret-bpf/web"
	"github.com/caret-bpf/caret-bpf/writer"
)

// smallPage is as small as a page can be.
var smallPage = fstest.MapFS{
	"index.html": {Data: []byte(`<html><head><link rel="stylesheet" href="app.css"></head><body><div id="app"></div><script src="app.js"></script></body></html>`)},
	"app.js":     {Data: []byte("document.title = 'page';")},
	"app.css":    {Data: []byte("body { margin: 0 }")},
}

func page() (fs.FS, bool) { return smallPage, true }

// scheduledDataset is a recording of 16 chains of nodes that tells where the time went.
func scheduledDataset(t *testing.T, callbacks int) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "rec")
	w, err := writer.Create(dir, writer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	entities, err := tracetest.System(callbacks, func(rows *trace.Batch) error {
		for i := range rows.Callbacks {
			row := &rows.Callbacks[i]
			start := row.CallbackStartTimestamp.Value
			const preempted = 1000
			tracetest.SetParts(row, row.CallbackEndTimestamp.Value-start-preempted, preempted, 0, 0, 1, 0)
			rows.Scheds = append(rows.Scheds, trace.Sched{
				ProcessKey: row.ProcessKey, TID: row.TID, Kind: trace.SchedPreempted, SchedOutTimestamp: start + 10, SchedInTimestamp: start + 10 + preempted,
				Callback: row.Callback, CallbackStartTimestamp: trace.Some(start), OtherCommand: "hog",
			})
		}
		return w.Write(rows)
	})
	for i := range entities.Processes { // recorded for longer than anything happened
		entities.Processes[i].RecordingStartTimestamp = trace.Some[int64](1_760_000_000_000_000_000 - 1e9)
		entities.Processes[i].RecordingEndTimestamp = trace.Some[int64](1_760_000_000_000_000_000 + 3600e9)
	}
	session := trace.NewSession()
	session.Ending = trace.EndingDuration
	if err := errors.Join(err, w.Write(entities), w.WriteSession(session), w.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// openedView opens what a command line of `view` is about.
func openedView(t *testing.T, arguments ...string) *view.View {
	t.Helper()
	flags := pflag.NewFlagSet("view", pflag.ContinueOnError)
	f := defineViewFlags(flags)
	f.page = page
	if err := flags.Parse(append(arguments, "--quiet")); err != nil {
		t.Fatal(err)
	}
	c := newConsole(&bytes.Buffer{}, &bytes.Buffer{}, func(string) string { return "" })
	_, v, err := f.open(t.Context(), c, flags.Args(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func decode[T any](t *testing.T, text []byte) (value T) {
	t.Helper()
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%v in %.300s", err, text)
	}
	return value
}

func answerOf[T any](t *testing.T, v *view.View, key string) T {
	t.Helper()
	text, err := v.Answer(t.Context(), key)
	if err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	return decode[T](t, text)
}

// jsonTable is a table of an answer.
type jsonTable struct {
	Columns []string
	Rows    [][]any
}

// objects are the rows as the commands print them.
func (j *jsonTable) objects() []map[string]any {
	all := []map[string]any{}
	for _, row := range j.Rows {
		object := make(map[string]any)
		for i, column := range j.Columns {
			object[column] = row[i]
		}
		all = append(all, object)
	}
	return all
}

const chainPath = "[/chain_3/sensor]-[/chain_3/points]-[/chain_3/filter]-[/chain_3/objects]-[/chain_3/tracker]-[/chain_3/tracks]-[/chain_3/control]"

// The rows of every table are those that the commands print, in their order, also of a part of the recording.
func TestViewAnswersAsTheCommandsDo(t *testing.T) {
	dir := scheduledDataset(t, 6000)
	pathKey := "path?path=" + pathInKey.Replace(chainPath)
	for name, part := range map[string][]string{
		"all": nil, "a part": {"--from-time", "500ms", "--to-time", "2s"}, "some nodes": {"--node", "/chain_3/.*"}, "a process": {"--process", "4200"},
	} {
		t.Run(name, func(t *testing.T) {
			v := openedView(t, append([]string{dir}, part...)...)
			type parted struct {
				jsonTable
				Parts jsonTable
			}
			type path struct{ Hops, Parts jsonTable }
			callbacks := answerOf[parted](t, v, "callbacks")
			hops := answerOf[path](t, v, pathKey)
			communications, timers := answerOf[jsonTable](t, v, "communications"), answerOf[jsonTable](t, v, "timers")
			topics, loads := answerOf[jsonTable](t, v, "topics"), answerOf[jsonTable](t, v, "loads")
			for _, test := range []struct {
				command []string
				got     jsonTable
			}{
				{[]string{"latency", "callback"}, callbacks.jsonTable},
				{[]string{"latency", "callback", "--why"}, callbacks.Parts},
				{[]string{"latency", "callback", "--before"}, answerOf[jsonTable](t, v, "delays")},
				{[]string{"latency", "callback", "--off-cpu"}, answerOf[jsonTable](t, v, "offcpus")},
				{[]string{"latency", "communication"}, communications},
				{[]string{"period"}, timers},
				{[]string{"period", "--of", "topic"}, topics},
				{[]string{"load"}, loads},
				{[]string{"latency", "path", "--path", chainPath}, hops.Hops},
				{[]string{"latency", "path", "--path", chainPath, "--why"}, hops.Parts},
			} {
				code, out, problems := runCommand(append(append(test.command, dir, "--json"), part...)...)
				if code != exitSuccess {
					t.Fatalf("%v: exit code %d: %s", test.command, code, problems)
				}
				want := decode[[]map[string]any](t, []byte(out))
				if got := test.got.objects(); len(want) == 0 || !reflect.DeepEqual(got, want) {
					t.Errorf("%v: %d rows, want %d:\n%.600v\nwant\n%.600v", test.command, len(got), len(want), got, want)
				}
			}
		})
	}
}

// The statistics of series are those of the rows of tables.
func TestSeriesAreOfTheRows(t *testing.T) {
	v := openedView(t, scheduledDataset(t, 6000))
	duration := answerOf[struct{ Duration json.Number }](t, v, "recording").Duration.String()
	type table struct {
		jsonTable
		IDs []int
	}
	type series struct {
		Exact      bool
		V          []float64
		Statistics map[string]any
	}
	check := func(name, key string, row map[string]any) {
		s := answerOf[series](t, v, key)
		for column, got := range s.Statistics {
			want := row[column]
			if column == "mean" { // the table's is rounded
				if difference := got.(float64) - want.(float64); difference < -1 || difference > 1 {
					t.Errorf("%s: mean is %v, want %v", name, got, want)
				}
				continue
			}
			if got != want {
				t.Errorf("%s: %s is %v, want %v", name, column, got, want)
			}
		}
		if !s.Exact || float64(len(s.V)) != row["count"] {
			t.Errorf("%s: %d values", name, len(s.V))
		}
	}
	callbacks := answerOf[table](t, v, "callbacks")
	for i, row := range callbacks.objects() {
		if i%8 == 0 {
			check("callback", "series?subject=callback&id="+jsonText(callbacks.IDs[i])+"&measure=latency&from=0&to="+duration, row)
		}
	}
	timers := answerOf[table](t, v, "timers")
	for i, row := range timers.objects() {
		if i%8 == 0 && row["measure"] == "period" {
			check("period", "series?subject=callback&id="+jsonText(timers.IDs[i])+"&measure=period&from=0&to="+duration, row)
		}
	}
	communications := answerOf[table](t, v, "communications")
	for i, row := range communications.objects() {
		if i%8 == 0 {
			check("communication", "series?subject=communication&id="+jsonText(i)+"&measure=latency&from=0&to="+duration, row)
		}
	}
	topics := answerOf[table](t, v, "topics")
	for i, row := range topics.objects() {
		if i%8 == 0 {
			check("topic", "series?subject=topic&id="+jsonText(i)+"&measure=period&from=0&to="+duration, row)
		}
	}
}

func jsonText(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}

// The comparison with a baseline is that of diff.
func TestViewComparesAsDiffDoes(t *testing.T) {
	before, after := scheduledDataset(t, 3000), scheduledDataset(t, 6000)
	v := openedView(t, after, "--baseline", before)
	_, out, _ := runCommand("diff", before, after, "--json")
	got, want := answerOf[map[string]any](t, v, "compare"), decode[map[string]any](t, []byte(out))
	for _, key := range []string{"callbacks", "communications"} { // where the page leads to
		delete(got, key)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%.500v\nwant\n%.500v", got, want)
	}
	flags := []string{"--alpha", "0.3", "--min-change", "0.001", "--run-noise", "0.5"}
	asked := answerOf[map[string]any](t, openedView(t, append([]string{after, "--baseline", before}, flags...)...), "compare")
	_, out, _ = runCommand(append([]string{"diff", before, after, "--json"}, flags...)...)
	if want := decode[map[string]any](t, []byte(out)); !reflect.DeepEqual(asked["noise"], want["noise"]) || !reflect.DeepEqual(asked["latencies"], want["latencies"]) || reflect.DeepEqual(asked["latencies"], got["latencies"]) {
		t.Errorf("by what counts as a change: %.500v\nwant\n%.500v", asked, want)
	}
	if alone := answerOf[any](t, openedView(t, after), "compare"); alone != nil {
		t.Errorf("without a baseline: %v", alone)
	}
}

// Where the time went is compared by the rows that the commands print of both recordings.
func TestViewComparesWhereTheTimeWent(t *testing.T) {
	before, after := scheduledDataset(t, 3000), scheduledDataset(t, 6000)
	v := openedView(t, after, "--baseline", before, "--node", "/chain_3/.*")
	type sided struct {
		jsonTable
		Sides  []string
		Things []int
		IDs    []*int
	}
	for key, command := range map[string][]string{
		"comparedparts": {"latency", "callback", "--why"},
		"comparedparts?path=" + pathInKey.Replace(chainPath): {"latency", "path", "--path", chainPath, "--why"},
	} {
		got := answerOf[sided](t, v, key)
		for side, dir := range map[string]string{"a": before, "b": after} {
			_, out, _ := runCommand(append(slices.Clone(command), dir, "--json")...)
			own := []map[string]any{}
			for i, row := range got.objects() {
				if got.Sides[i] == side {
					own = append(own, row)
				}
			}
			if want := decode[[]map[string]any](t, []byte(out)); len(want) == 0 || !sameRows(own, want) {
				t.Errorf("%s, %s:\n%.600v\nwant\n%.600v", key, side, own, want)
			}
		}
		for i := range got.Things {
			if i%2 == 1 && (got.Things[i] != got.Things[i-1] || got.Sides[i-1]+got.Sides[i] != "ab") {
				t.Fatalf("%s: sides %v of things %v", key, got.Sides, got.Things)
			}
		}
		for _, id := range got.IDs {
			if id == nil {
				t.Errorf("%s: a row leads nowhere", key)
			}
		}
	}
	for key, v := range map[string]*view.View{
		"comparedparts": openedView(t, after), "comparedparts?path=" + pathInKey.Replace(chainPath): openedView(t, after),
		"comparedparts?path=" + pathInKey.Replace("[/no]-[/such]-[/path]"): v,
	} {
		if got := answerOf[any](t, v, key); got != nil {
			t.Errorf("%s: %v", key, got)
		}
	}
}

// sameRows tells whether rows are the same in some order.
func sameRows(a, b []map[string]any) bool {
	texts := func(rows []map[string]any) (all []string) {
		for _, row := range rows {
			all = append(all, jsonText(row))
		}
		slices.Sort(all)
		return all
	}
	return slices.Equal(texts(a), texts(b))
}

// pathInKey encodes paths for keys.
var pathInKey = strings.NewReplacer("[", "%5B", "]", "%5D", "/", "%2F")

// Paths are those that are asked for.
func TestViewShowsPaths(t *testing.T) {
	dir := scheduledDataset(t, 3000)
	type list struct {
		Paths []struct{ Text string }
	}
	for name, test := range map[string]struct {
		flags []string
		paths int
	}{
		"none asked for": {nil, 16},
		"from and to":    {[]string{"--from", "/chain_1/points", "--to", "/chain_1/tracks"}, 1},
		"one":            {[]string{"--path", chainPath}, 1},
		"two":            {[]string{"--path", chainPath, "--from", "/chain_1/points", "--to", "/chain_1/tracks"}, 2},
	} {
		if got := answerOf[list](t, openedView(t, append([]string{dir}, test.flags...)...), "paths"); len(got.Paths) != test.paths {
			t.Errorf("%s: %v", name, got.Paths)
		}
	}
}

// The address of the page is printed, and answers until the command is stopped.
func TestServeView(t *testing.T) {
	v := openedView(t, scheduledDataset(t, 2000))
	printed := make(chan string, 1)
	c := newConsole(writerFunc(func(b []byte) (int, error) {
		printed <- string(b)
		return len(b), nil
	}), &bytes.Buffer{}, func(string) string { return "" })
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serveView(ctx, c, true, v, smallPage, 0) }()
	address := strings.TrimSpace(<-printed)
	if !regexp.MustCompile(`^http://127\.0\.0\.1:\d+/#token=\w{26,}$`).MatchString(address) {
		t.Errorf("printed %q", address)
	}
	response, err := http.Get(address)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("%v, %v", response, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// A report is whole or not there.
func TestReport(t *testing.T) {
	v := openedView(t, scheduledDataset(t, 2000))
	c := newConsole(&bytes.Buffer{}, &bytes.Buffer{}, func(string) string { return "" })
	path := filepath.Join(t.TempDir(), "report.html")
	summary, err := writeReport(t.Context(), c, v, smallPage, path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != int64(summary.Bytes) || info.Mode()&0o007 != 0 {
		t.Errorf("%v, %v, %+v", info, err, summary)
	}
	if _, err := writeReport(t.Context(), c, v, fstest.MapFS{}, path+"2"); err == nil {
		t.Error("a page without files makes a report")
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) != 1 {
		t.Errorf("there are %v", left)
	}
}

// What fits nothing is said before a page is served.
func TestViewOfNothing(t *testing.T) {
	dir := scheduledDataset(t, 2000)
	for name, test := range map[string]struct {
		arguments []string
		code      int
		says      string
	}{
		"a node":         {[]string{"--node", "/chain_3/senso"}, exitNoTarget, `did you mean "/chain_3/sensor"`},
		"a process":      {[]string{"--process", "1"}, exitNoTarget, "PID 1"},
		"a topic":        {[]string{"--from", "/chain_3/point", "--to", "/chain_3/tracks"}, exitUsage, `did you mean "/chain_3/points"`},
		"a path":         {[]string{"--path", "[/a]-[/b]"}, exitUsage, "no such topic or node"},
		"no path":        {[]string{"--from", "/chain_3/points", "--to", "/chain_4/tracks"}, exitNoTarget, "no path leads"},
		"no such file":   {[]string{"--architecture", filepath.Join(dir, "none.yaml")}, exitFailure, "none.yaml"},
		"a bad baseline": {[]string{"--baseline", t.TempDir()}, exitDataset, "not a caret-bpf dataset"},
		"no baseline":    {[]string{"--min-change", "5"}, exitUsage, "--min-change goes with --baseline"},
		"a wrong share":  {[]string{"--baseline", dir, "--alpha", "2"}, exitUsage, "--alpha"},
		"noise of two":   {[]string{"--baseline", dir, "--baseline", dir, "--run-noise", "2"}, exitUsage, "--run-noise"},
	} {
		flags := pflag.NewFlagSet("view", pflag.ContinueOnError)
		f := defineViewFlags(flags)
		f.page = page
		if err := flags.Parse(append(test.arguments, dir)); err != nil {
			t.Fatal(err)
		}
		_, _, err := f.open(t.Context(), newConsole(&bytes.Buffer{}, &bytes.Buffer{}, func(string) string { return "" }), flags.Args(), nil)
		if exitCode(err) != test.code || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: exit code %d: %v", name, exitCode(err), err)
		}
	}
}

// What cannot be shown is refused with the remedy.
func TestViewRefuses(t *testing.T) {
	dir, missing := scheduledDataset(t, 2000), filepath.Join(t.TempDir(), "missing")
	for name, test := range map[string]struct {
		arguments []string
		code      int
		says      string
	}{
		"no dataset":        {[]string{"view"}, exitUsage, "name a dataset"},
		"no dataset at all": {[]string{"report", "-o", "x"}, exitUsage, "name a dataset"},
		"no file":           {[]string{"report", dir}, exitUsage, "-o"},
		"a bad port":        {[]string{"view", dir, "--port", "70000"}, exitUsage, "--port"},
		"a web server's":    {[]string{"view", dir, "--port", "80"}, exitUsage, "--port"},
		"a bad time":        {[]string{"view", dir, "--last", "-1s"}, exitUsage, "--last"},
	} {
		if code, _, problems := runCommand(test.arguments...); code != test.code || !strings.Contains(problems, test.says) {
			t.Errorf("%s: exit code %d: %s", name, code, problems)
		}
	}
	if _, built := web.Page(); built {
		t.Skip("this program has the page")
	}
	for _, arguments := range [][]string{{"view", dir}, {"report", dir, "-o", missing}} {
		if code, _, problems := runCommand(arguments...); code != exitFailure || !strings.Contains(problems, "make web") || !strings.Contains(problems, "make build") {
			t.Errorf("%v without the page: exit code %d: %s", arguments, code, problems)
		}
	}
}
