package former

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// present is the machine's clock in these tests.
var present = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// segment is the size of what datasets have, beside session.json.
const segment = 1 << 20

// add makes a dataset that somebody has written last so long ago.
func add(t *testing.T, folder, name string, age time.Duration, changes ...func(*trace.Session)) string {
	t.Helper()
	dir := filepath.Join(folder, name)
	session := trace.NewSession()
	session.Recorder.Name, session.Ending = recorderName, trace.EndingSignal
	session.Enter(trace.StateStopped, present.Add(-age))
	for _, change := range changes {
		change(session)
	}
	table := filepath.Join(dir, trace.TableCallback)
	if err := errors.Join(os.MkdirAll(table, 0o750), os.WriteFile(filepath.Join(table, "00000000.parquet"), make([]byte, segment), 0o640)); err != nil {
		t.Fatal(err)
	}
	tracetest.AddSession(t, dir, session)
	grow(t, dir, age)
	return dir
}

// grow makes all of a folder as old.
func grow(t *testing.T, folder string, age time.Duration) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, present.Add(-age), present.Add(-age))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// keeper returns that of a recording.
func keeper(output string, b Bounds, changes ...func(*Options)) *Keeper {
	o := Options{Bounds: b, Output: output, Now: func() time.Time { return present }}
	for _, change := range changes {
		change(&o)
	}
	return New(o)
}

// keep has a keeper do its work once.
func keep(t *testing.T, k *Keeper, current int64) Kept {
	t.Helper()
	kept, err := k.Keep(t.Context(), current)
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

// left are the names in a folder.
func left(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

const (
	oldest  = "caret-bpf-20261101-000000"
	middle  = "caret-bpf-20261102-000000"
	copied  = "caret-bpf-20261102-000000-20261103-000000-slow-2"
	running = "caret-bpf-20261130-000000"
)

// The oldest go until the bounds hold.
func TestKeep(t *testing.T) {
	const day = 24 * time.Hour
	for name, test := range map[string]struct {
		bounds    Bounds
		current   int64
		want      []string
		exhausted bool
	}{
		"no bound":                        {Bounds{}, 1 << 50, []string{oldest, middle, copied}, false},
		"the disk alone is no reason":     {Bounds{FreeBytes: 1 << 60}, 0, []string{oldest, middle, copied}, false},
		"within all":                      {Bounds{Bytes: 5 * segment, Age: 60 * day}, segment, []string{oldest, middle, copied}, false},
		"too much":                        {Bounds{Bytes: 5 * segment}, 2 * segment, []string{middle, copied}, false},
		"much too much":                   {Bounds{Bytes: 5 * segment}, 3 * segment, []string{copied}, false},
		"the one that goes on is as much": {Bounds{Bytes: segment}, segment, nil, false},
		"too old":                         {Bounds{Age: 28 * day}, 0, []string{middle, copied}, false},
		"all too old":                     {Bounds{Age: day}, 0, nil, false},
		"the disk is full":                {Bounds{Bytes: 1 << 50, FreeBytes: 1 << 60}, 0, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			add(t, folder, oldest, 29*day)
			add(t, folder, middle, 27*day)
			add(t, folder, copied, 26*day)
			kept := keep(t, keeper(filepath.Join(folder, running), test.bounds), test.current)
			var want []string // in the order of names
			want = append(want, test.want...)
			slices.Sort(want)
			if got := left(t, folder); !slices.Equal(got, want) {
				t.Errorf("%q are left, not %q", got, want)
			}
			if kept.Recordings != len(want) || len(kept.Removed) != 3-len(want) || kept.Exhausted != test.exhausted {
				t.Errorf("%+v", kept)
			}
			if least := int64(len(want)) * segment; kept.Bytes < least || kept.Bytes > least+least/10 {
				t.Errorf("%d bytes are left", kept.Bytes)
			}
		})
	}
}

// Whatever is not certainly an ended recording of this user's stays, however full the folder is.
func TestOthersStay(t *testing.T) {
	everything := Bounds{Bytes: 1, Age: 1, FreeBytes: 1 << 60}
	for name, make := range map[string]func(t *testing.T, folder string){
		"the one that goes on": func(t *testing.T, folder string) { add(t, folder, running, 0) },
		"another name":         func(t *testing.T, folder string) { add(t, folder, "incident-20261101-000000", time.Hour) },
		"a renamed one":        func(t *testing.T, folder string) { add(t, folder, "keep-"+oldest, time.Hour) },
		"one that is recorded": func(t *testing.T, folder string) {
			self, err := os.Open(add(t, folder, oldest, time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = self.Close() })
			if err := unix.Flock(int(self.Fd()), unix.LOCK_EX); err != nil {
				t.Fatal(err)
			}
		},
		"one that another machine records": func(t *testing.T, folder string) {
			add(t, folder, oldest, time.Hour, func(s *trace.Session) { s.State, s.Host.Name = trace.StateRecording, "another" })
		},
		"another program's": func(t *testing.T, folder string) {
			add(t, folder, oldest, time.Hour, func(s *trace.Session) { s.Recorder.Name = "other" })
		},
		"one of a later version": func(t *testing.T, folder string) {
			add(t, folder, oldest, time.Hour, func(s *trace.Session) { s.FormatVersion = trace.FormatVersion + 1 })
		},
		"no session.json": func(t *testing.T, folder string) {
			if err := os.Remove(filepath.Join(add(t, folder, oldest, time.Hour), trace.SessionFile)); err != nil {
				t.Fatal(err)
			}
		},
		"a session.json that is a link": func(t *testing.T, folder string) {
			file := filepath.Join(add(t, folder, oldest, time.Hour), trace.SessionFile)
			if err := errors.Join(os.Rename(file, filepath.Join(folder, "elsewhere")), os.Symlink("../elsewhere", file)); err != nil {
				t.Fatal(err)
			}
		},
		"a link to one": func(t *testing.T, folder string) {
			if err := os.Symlink(add(t, t.TempDir(), "dataset", time.Hour), filepath.Join(folder, oldest)); err != nil {
				t.Fatal(err)
			}
		},
		"a file beside": func(t *testing.T, folder string) {
			if err := os.WriteFile(filepath.Join(add(t, folder, oldest, time.Hour), "notes.txt"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"a file in a table": func(t *testing.T, folder string) {
			if err := os.WriteFile(filepath.Join(add(t, folder, oldest, time.Hour), trace.TableCallback, "notes.txt"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"a link in it": func(t *testing.T, folder string) {
			if err := os.Symlink("/etc", filepath.Join(add(t, folder, oldest, time.Hour), trace.TablePublish)); err != nil {
				t.Fatal(err)
			}
		},
		"one that everybody may write to": func(t *testing.T, folder string) {
			if err := os.Chmod(add(t, folder, oldest, time.Hour), 0o777); err != nil {
				t.Fatal(err)
			}
		},
		"another user's": func(t *testing.T, folder string) {
			if err := os.Chown(add(t, folder, oldest, time.Hour), 12345, 12345); err != nil {
				t.Skipf("only root can give files away: %v", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			make(t, folder)
			before := left(t, folder)
			k := keeper(filepath.Join(folder, running), everything)
			for range 2 { // what is known changes nothing
				if kept := keep(t, k, 1<<50); len(kept.Removed) > 0 || !kept.Exhausted {
					t.Errorf("%+v", kept)
				}
			}
			if got := left(t, folder); !slices.Equal(got, before) {
				t.Errorf("%q are left, not %q", got, before)
			}
		})
	}
}

// What is known of a recording does not have it removed when somebody has put something into it since.
func TestSomethingIsAddedLater(t *testing.T) {
	folder := t.TempDir()
	dir := add(t, folder, oldest, time.Hour)
	k := keeper(filepath.Join(folder, running), Bounds{Bytes: 2 * segment})
	keep(t, k, 0)
	if err := os.WriteFile(filepath.Join(dir, trace.TableCallback, "notes"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if kept := keep(t, k, 1<<50); len(kept.Removed) > 0 {
		t.Errorf("%+v", kept)
	}
}

// The snapshots of rings go as recordings do: of the one that goes on, and of former ones, whose folders go with the
// last.
func TestSnapshotsOfRings(t *testing.T) {
	folder := t.TempDir()
	add(t, folder, filepath.Join(oldest, "20261101-000100-slow"), 3*time.Hour)
	add(t, folder, filepath.Join(running, "20261130-000100-request"), 2*time.Hour)
	add(t, folder, filepath.Join(running, "20261130-000200-request-2"), time.Hour)
	add(t, folder, filepath.Join(running, "mine"), 4*time.Hour)
	k := keeper(filepath.Join(folder, running), Bounds{Bytes: segment + segment/2}, func(o *Options) { o.Ring = true })
	if kept := keep(t, k, 0); len(kept.Removed) != 2 || kept.Recordings != 1 {
		t.Errorf("%+v", kept)
	}
	if got := left(t, folder); !slices.Equal(got, []string{running}) {
		t.Errorf("%q are left", got)
	}
	if got := left(t, filepath.Join(folder, running)); !slices.Equal(got, []string{"20261130-000200-request-2", "mine"}) {
		t.Errorf("%q are left of the ring", got)
	}
}

// A recording whose removal was broken off is removed to its end; what has no such name is not.
func TestBrokenOff(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{removedPrefix + oldest, removedPrefix + "other", filepath.Join(oldest, removedPrefix+"20261101-000100")} {
		if err := os.MkdirAll(filepath.Join(folder, name, trace.TableCallback), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	keep(t, keeper(filepath.Join(folder, running), Bounds{Bytes: 1 << 50}), 0)
	if got := left(t, folder); !slices.Equal(got, []string{removedPrefix + "other", oldest}) {
		t.Errorf("%q are left", got)
	}
	if got := left(t, filepath.Join(folder, oldest)); len(got) > 0 {
		t.Errorf("%q are left of the ring", got)
	}
}

// Somebody else may still need one: it stays, and a later one goes.
func TestMayGo(t *testing.T) {
	folder := t.TempDir()
	needed := add(t, folder, oldest, 2*time.Hour)
	add(t, folder, middle, time.Hour)
	k := keeper(filepath.Join(folder, running), Bounds{Bytes: 1}, func(o *Options) { o.MayGo = func(path string) bool { return path != needed } })
	if kept := keep(t, k, 0); !slices.Equal(kept.Removed, []string{filepath.Join(folder, middle)}) || kept.Recordings != 1 {
		t.Errorf("%+v", kept)
	}
}
