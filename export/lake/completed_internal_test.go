package lake

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
)

// whole is a recording whose session.json says how many rows it has.
func whole(t *testing.T) *trace.Dataset {
	t.Helper()
	d := simulated(t, 2)[0]
	return copied(t, d, func(_ string, session *trace.Session) {
		rows, err := countRows(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		session.Rows, session.Ending = rows, trace.EndingDuration
	})
}

// removeSegment removes a segment of a table.
func removeSegment(t *testing.T, dir, table string) {
	t.Helper()
	segments, err := filepath.Glob(filepath.Join(dir, table, "*.parquet"))
	if err != nil || len(segments) == 0 {
		t.Fatalf("%d segments, %v", len(segments), err)
	}
	if err := os.Remove(segments[len(segments)-1]); err != nil {
		t.Fatal(err)
	}
}

// TestCompleted: a recording that was published from a copy which lacks something is completed by a whole copy, without
// being asked to; never the other way round.
func TestCompleted(t *testing.T) {
	d, want := whole(t), t.TempDir()
	mustPublish(t, openLake(t, want), d, Request{})
	unreadable, _ := damage(t, d)
	for name, test := range map[string]struct {
		lacking *trace.Dataset
		// refused says that it is published only if that is asked for; missing, how many rows its row says it lacks.
		refused, missing bool
	}{
		"an unreadable segment":       {lacking: unreadable, refused: true},
		"a segment that is not there": {copied(t, d, func(dir string, _ *trace.Session) { removeSegment(t, dir, trace.TableCallback) }), true, true},
		"made while it went on": {lacking: copied(t, d, func(dir string, session *trace.Session) {
			removeSegment(t, dir, trace.TableCallback)
			session.Ending, session.Rows, session.History = trace.EndingRunning, map[string]uint64{}, session.History[:min(1, len(session.History))]
		})},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l := openLake(t, dir)
			if test.refused {
				if _, err := l.Publish(t.Context(), test.lacking, Request{}); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "--damaged") {
					t.Fatal(err)
				}
			}
			first := mustPublish(t, l, test.lacking, Request{Damaged: true})
			if rows := rowsOf(t, dir, TableRecording); len(rows) != 1 || (rows[0].number("missing_rows").Value > 0) != test.missing {
				t.Errorf("recordings %v", rows)
			}
			if result := mustPublish(t, l, test.lacking, Request{Damaged: true}); !result.Already {
				t.Errorf("again: %+v", result)
			}
			if result := mustPublish(t, l, test.lacking, Request{}); !result.Already {
				t.Errorf("again, without --damaged: %+v", result)
			}
			if result := mustPublish(t, l, d, Request{}); result.Already || result.Recording != first.Recording {
				t.Errorf("the whole copy: %+v", result)
			}
			requireEqual(t, "files", contentOf(t, dir), contentOf(t, want))
			if result := mustPublish(t, l, test.lacking, Request{Damaged: true}); !result.Already {
				t.Errorf("what lacks something, after the whole copy: %+v", result)
			}
			requireEqual(t, "files", contentOf(t, dir), contentOf(t, want))
		})
	}
}

// TestEachLacksSomething: of two copies of which neither is whole, none is put in the other's place unasked.
func TestEachLacksSomething(t *testing.T) {
	d, l := whole(t), openLake(t, t.TempDir())
	lacking := func(table string) *trace.Dataset {
		return copied(t, d, func(dir string, _ *trace.Session) { removeSegment(t, dir, table) })
	}
	mustPublish(t, l, lacking(trace.TableCallback), Request{Damaged: true})
	if _, err := l.Publish(t.Context(), lacking(trace.TablePublish), Request{Damaged: true}); !errors.Is(err, ErrPublished) || !strings.Contains(err.Error(), "--replace") {
		t.Errorf("error %v", err)
	}
	mustPublish(t, l, lacking(trace.TablePublish), Request{Damaged: true, Replace: true})
}

// TestOtherAttributes are not passed over.
func TestOtherAttributes(t *testing.T) {
	d, dir := simulated(t, 1)[0], t.TempDir()
	l := openLake(t, dir)
	mustPublish(t, l, withVehicle(t, d, "v12"), Request{})
	corrected := withVehicle(t, d, "v21")
	if _, err := l.Publish(t.Context(), corrected, Request{}); !errors.Is(err, ErrPublished) || !strings.Contains(err.Error(), "--replace") {
		t.Errorf("error %v", err)
	}
	mustPublish(t, l, corrected, Request{Replace: true})
	if rows := rowsOf(t, dir, TableRecording); len(rows) != 1 || rows[0].text("vehicle") != "v21" {
		t.Errorf("recordings %v", rows)
	}
}

// TestNewerFormat: what a newer version has published stays.
func TestNewerFormat(t *testing.T) {
	d, dir := simulated(t, 1)[0], t.TempDir()
	l := openLake(t, dir)
	result := mustPublish(t, l, d, Request{})
	text, err := json.Marshal(manifest{Format: FormatVersion + 1, Recording: result.Recording})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, manifestName(result.Recording)), text, 0o644); err != nil {
		t.Fatal(err)
	}
	before := contentOf(t, dir)
	for _, replace := range []bool{false, true} {
		if _, err := l.Publish(t.Context(), d, Request{Replace: replace}); !errors.Is(err, trace.ErrNewerFormat) {
			t.Errorf("replace %v: %v", replace, err)
		}
	}
	requireEqual(t, "files", contentOf(t, dir), before)
}

// TestPathsAsked are told of by the recording's row, so that nothing takes what was not asked for to be not there.
func TestPathsAsked(t *testing.T) {
	d, dir := simulated(t, 1)[0], t.TempDir()
	l := openLake(t, dir)
	mustPublish(t, l, d, Request{})
	if _, is := rowsOf(t, dir, TableRecording)[0]["paths"]; is {
		t.Error("paths are told of that were not asked for")
	}
	mustPublish(t, l, d, Request{Replace: true, Paths: allPaths, PathsAsked: "all", PathOptions: pathOptions})
	if paths := rowsOf(t, dir, TableRecording)[0].text("paths"); paths != "all" {
		t.Errorf("paths are %q", paths)
	}
}
