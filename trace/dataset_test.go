package trace_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

func TestOpenRefusesWhatIsNoDataset(t *testing.T) {
	empty := t.TempDir()
	foreign := t.TempDir()
	write(t, filepath.Join(foreign, "callback.txt"), "x")
	file := filepath.Join(foreign, "callback.txt")
	newer := t.TempDir()
	write(t, filepath.Join(newer, trace.SessionFile), `{"format_version": 99}`)
	tracetest.AddSegment(t, newer, 0, tracetest.Random[trace.Clock](1, 1))
	cases := []struct {
		name, dir string
		want      error
	}{
		{"empty directory", empty, trace.ErrNotDataset},
		{"other files", foreign, trace.ErrNotDataset},
		{"a file", file, trace.ErrNotDataset},
		{"newer format", newer, trace.ErrNewerFormat},
		{"missing", filepath.Join(empty, "missing"), os.ErrNotExist},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if _, err := trace.Open(c.dir); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
}

// Whoever names a directory beside the dataset is told which one it is.
func TestOpenTellsWhereDatasetsAre(t *testing.T) {
	above := t.TempDir()
	var datasets []string
	for i := range 5 {
		dir := filepath.Join(above, fmt.Sprint("drive", i))
		tracetest.AddSegment(t, dir, 0, tracetest.Random[trace.Clock](1, 1))
		tracetest.AddSession(t, dir, trace.NewSession())
		datasets = append(datasets, dir)
	}
	empty := filepath.Join(above, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(above, "missing")
	for dir, want := range map[string]string{
		above:                                  "datasets are in it: " + strings.Join(datasets[:3], ", ") + ", and more",
		filepath.Join(datasets[0], "clock"):    "it is a part of " + datasets[0] + ": name that",
		filepath.Join(datasets[0], "clock/."):  "it is a part of " + datasets[0] + ": name that",
		empty:                                  empty + " has no " + trace.SessionFile,
		missing:                                missing + ": no such file or directory; datasets beside it: " + strings.Join(datasets[:3], ", ") + ", and more",
		filepath.Join(datasets[0], "clock/no"): "no such file",
	} {
		_, err := trace.Open(dir)
		if !errors.Is(err, trace.ErrNotDataset) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", dir, err, want)
		}
	}
}

// A dataset is found from its files and folders, and from a directory that holds no other.
func TestLocate(t *testing.T) {
	above := t.TempDir()
	dataset := filepath.Join(above, "rec")
	segment := tracetest.AddSegment(t, dataset, 0, tracetest.Random[trace.Clock](1, 1))
	tracetest.AddSession(t, dataset, trace.NewSession())
	unrelated := filepath.Join(above, "notes.txt")
	write(t, unrelated, "")
	lost := filepath.Join(t.TempDir(), "lost") // its session.json, and beside its tables there is another dataset
	tracetest.AddSegment(t, lost, 0, tracetest.Random[trace.Clock](1, 1))
	tracetest.AddSession(t, filepath.Join(lost, "copy"), trace.NewSession())
	for path, want := range map[string]string{
		dataset: dataset, above: dataset, filepath.Join(dataset, "clock"): dataset, filepath.Join(dataset, trace.SessionFile): dataset, segment: dataset,
		unrelated: unrelated, filepath.Join(above, "missing"): filepath.Join(above, "missing"), lost: lost,
	} {
		if got := trace.Locate(path); got != want {
			t.Errorf("%s means %s, want %s", path, got, want)
		}
	}
	tracetest.AddSession(t, filepath.Join(above, "other"), trace.NewSession())
	if got := trace.Locate(above); got != above {
		t.Errorf("of two datasets it chooses %s", got)
	}
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestOpenWithoutAReadableSession(t *testing.T) {
	for name, text := range map[string]string{"missing": "", "damaged": `{"format_ver`} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			rows := tracetest.Random[trace.Clock](3, 1)
			tracetest.AddSegment(t, dir, 0, rows)
			if text != "" {
				write(t, filepath.Join(dir, trace.SessionFile), text)
			}
			d, err := trace.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			if d.Session() != nil || d.Warning() == "" {
				t.Errorf("session %v, warning %q", d.Session(), d.Warning())
			}
			if got := scanAll[trace.Clock](t, d); !reflect.DeepEqual(got, rows) {
				t.Errorf("rows %v, want %v", got, rows)
			}
		})
	}
}

func TestSegmentsOfARecordingInProgress(t *testing.T) {
	dir := t.TempDir()
	first := tracetest.AddSegment(t, dir, 9, tracetest.Random[trace.Take](5, 1))
	unfinished := filepath.Join(dir, trace.TableTake, ".00000010.parquet.tmp")
	write(t, unfinished, "PAR1 and pages without a footer")
	write(t, filepath.Join(dir, trace.TableTake, "notes.txt"), "x")
	d := open(t, dir)
	if tables, err := d.Tables(); err != nil || !reflect.DeepEqual(tables, []string{trace.TableTake}) {
		t.Errorf("tables %v, %v", tables, err)
	}
	check := func(want ...string) {
		t.Helper()
		segments, left, err := d.Segments(trace.TableTake)
		var paths []string
		for _, s := range segments {
			paths = append(paths, s.Path)
		}
		if err != nil || !reflect.DeepEqual(paths, want) || !reflect.DeepEqual(left, []string{unfinished}) {
			t.Errorf("segments %v, unfinished %v, %v; want %v", paths, left, err, want)
		}
	}
	check(first)
	if rows, err := trace.Count(t.Context(), d, trace.TableTake); rows != 5 || err != nil {
		t.Errorf("%d rows, %v", rows, err)
	}
	second := tracetest.AddSegment(t, dir, 10, tracetest.Random[trace.Take](7, 2))
	check(first, second)
	if rows, err := trace.Count(t.Context(), d, trace.TableTake); rows != 12 || err != nil {
		t.Errorf("%d rows, %v", rows, err)
	}
	if rows, err := trace.Count(t.Context(), d, trace.TableEvent); rows != 0 || err != nil {
		t.Errorf("a table without folder has %d rows, %v", rows, err)
	}
}

func TestKilled(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	if d.Live() || !d.Killed() {
		t.Errorf("no recorder, not ended: live %v, killed %v", d.Live(), d.Killed())
	}

	recorder, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(recorder.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if !d.Live() || d.Killed() {
		t.Errorf("a recorder holds the lock: live %v, killed %v", d.Live(), d.Killed())
	}

	ended := trace.NewSession()
	ended.Ending = trace.EndingSignal
	tracetest.AddSession(t, dir, ended)
	if err := recorder.Close(); err != nil {
		t.Fatal(err)
	}
	if d.Live() || d.Killed() {
		t.Errorf("ended after Open: live %v, killed %v", d.Live(), d.Killed())
	}
}

func TestTimeSpan(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	if _, ok, err := trace.TimeSpan(t.Context(), d); ok || err != nil {
		t.Errorf("an empty dataset has a span: %v, %v", ok, err)
	}
	tracetest.AddSegment(t, dir, 0, []trace.Callback{
		{CallbackStartTimestamp: trace.Some(int64(150)), CallbackEndTimestamp: trace.Some(int64(400)), SourceTimestamp: trace.Some(int64(1))},
		{CallbackEndTimestamp: trace.Some(int64(120)), Status: trace.CallbackStartMissing},
	})
	tracetest.AddSegment(t, dir, 1, []trace.Callback{{CallbackStartTimestamp: trace.Some(int64(-5))}})
	tracetest.AddSegment(t, dir, 0, []trace.Publish{{RclPublishTimestamp: trace.Some(int64(900)), SourceTimestamp: trace.Some(int64(5000))}})
	tracetest.AddSegment(t, dir, 0, []trace.Node{{InitTimestamp: trace.Some(int64(99999))}})
	span, ok, err := trace.TimeSpan(t.Context(), d)
	if want := (trace.Span{First: -5, Last: 900}); span != want || !ok || err != nil {
		t.Errorf("span %v, %v, %v; want %v", span, ok, err, want)
	}
}
