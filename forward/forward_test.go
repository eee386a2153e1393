package forward_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/export/lake"
	"github.com/caret-bpf/caret-bpf/forward"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// fakeLake has the datasets that were published, by a name that is noted in them.
type fakeLake struct {
	mu        sync.Mutex
	offline   bool
	recording map[string]bool
	published []string // in their order
	opened    int
	asked     int
	// fail is what publishing a dataset of that name fails with; do is called before.
	fail map[string]error
	do   func(name string)
}

func newFakeLake() *fakeLake { return &fakeLake{recording: make(map[string]bool)} }

var errOffline = fmt.Errorf("%w: nobody answers", lake.ErrUnreachable)

func (l *fakeLake) open(context.Context) (forward.Lake, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.opened++
	if l.offline {
		return nil, errOffline
	}
	return l, nil
}

func (l *fakeLake) setOffline(offline bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.offline = offline
}

func (l *fakeLake) Publish(_ context.Context, d *trace.Dataset, _ lake.Request) (lake.Result, error) {
	name := d.Session().Attributes["name"]
	if l.do != nil {
		l.do(name)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	switch {
	case l.offline:
		return lake.Result{}, errOffline
	case l.fail[name] != nil:
		return lake.Result{}, l.fail[name]
	case l.recording[name]:
		return lake.Result{Recording: name, Already: true, Bytes: 7}, nil
	}
	l.recording[name] = true
	l.published = append(l.published, name)
	return lake.Result{Recording: name, Bytes: 7}, nil
}

func (l *fakeLake) Close() error { return nil }

// addDataset makes a finished dataset in a folder.
func addDataset(t *testing.T, folder, name string) string {
	t.Helper()
	dir := filepath.Join(folder, name)
	session := trace.NewSession()
	session.Ending, session.Attributes = trace.EndingSnapshot, map[string]string{"name": name}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	tracetest.AddSession(t, dir, session)
	return dir
}

// setting is a folder that is forwarded to a fake lake.
type setting struct {
	folder string
	lake   *fakeLake
	forward.Options

	mu   sync.Mutex
	told forward.Status // the last
	said []string
}

// tell is told a status.
func (s *setting) tell(now forward.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = now
}

// hear is told a message.
func (s *setting) hear(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = append(s.said, text)
}

// status is the last one.
func (s *setting) status() forward.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.told
}

func newSetting(t *testing.T) *setting {
	t.Helper()
	s := &setting{folder: t.TempDir(), lake: newFakeLake()}
	s.Options = forward.Options{
		Folder: s.folder, State: filepath.Join(s.folder, ".forward"), To: "s3://fleet", Open: s.lake.open, Interval: 10 * time.Second,
		Tell: s.tell, Message: s.hear,
	}
	return s
}

// begin forwards until the function that it returns is called.
func (s *setting) begin(t *testing.T) (end func()) {
	t.Helper()
	f, err := forward.New(s.Options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- f.Run(ctx) }()
	return func() {
		t.Helper()
		cancel()
		if err := errors.Join(notCanceled(<-ended), f.Close()); err != nil {
			t.Error(err)
		}
	}
}

func notCanceled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func (s *setting) once(t *testing.T) error {
	t.Helper()
	f, err := forward.New(s.Options)
	if err != nil {
		t.Fatal(err)
	}
	return errors.Join(f.Once(t.Context()), f.Close())
}

func (s *setting) requirePublished(t *testing.T, want ...string) {
	t.Helper()
	if got := s.lake.published; !slices.Equal(got, want) {
		t.Errorf("published %v, want %v", got, want)
	}
}

func (s *setting) requireSaid(t *testing.T, text string) {
	t.Helper()
	if !slices.ContainsFunc(s.said, func(said string) bool { return strings.Contains(said, text) }) {
		t.Errorf("nobody says %q: %q", text, s.said)
	}
}

func there(dir string) bool {
	_, err := os.Stat(dir)
	return err == nil
}

// TestOfflineForDays: what is recorded while the lake cannot be reached arrives when it can, each dataset once, the
// oldest first. Until then it is attempted, but not often.
func TestOfflineForDays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t)
		s.lake.setOffline(true)
		end := s.begin(t)
		var want []string
		began := time.Now()
		for day := range 3 {
			name := fmt.Sprintf("rec-%d", 9-day) // whose name sorts before those of former days
			dir := addDataset(t, s.folder, name)
			ended := time.Now()
			if err := os.Chtimes(filepath.Join(dir, trace.SessionFile), ended, ended); err != nil {
				t.Fatal(err)
			}
			want = append(want, name)
			time.Sleep(24 * time.Hour)
		}
		synctest.Wait()
		s.requirePublished(t)
		if s.status().Waiting != 3 || s.status().WaitingBytes == 0 || s.status().OfflineSince == nil || s.status().OfflineSince.Sub(began) > time.Minute || s.status().Offline == "" {
			t.Errorf("status %+v", s.status())
		}
		if most := 3 * 24 * 60 / 2; s.lake.opened < 3*24*60/6 || s.lake.opened > most {
			t.Errorf("the lake was asked %d times", s.lake.opened)
		}
		if len(s.said) != 1 {
			t.Errorf("it says %q", s.said)
		}
		s.lake.setOffline(false)
		time.Sleep(6 * time.Minute)
		synctest.Wait()
		s.requirePublished(t, want...)
		if s.status().Waiting != 0 || s.status().Arrived != 3 || s.status().ArrivedNow != 3 || s.status().ArrivedBytes != 21 || s.status().OfflineSince != nil || s.status().Offline != "" {
			t.Errorf("status %+v", s.status())
		}
		asked := s.lake.asked
		time.Sleep(24 * time.Hour)
		end()
		if s.lake.asked != asked {
			t.Error("what has arrived is asked for again")
		}
		// A process that begins later knows what has arrived.
		end = s.begin(t)
		time.Sleep(time.Hour)
		end()
		if s.lake.asked != asked || s.status().Arrived != 3 {
			t.Errorf("after a restart the lake was asked %d times, status %+v", s.lake.asked-asked, s.status())
		}
	})
}

// TestLakeThatComesAndGoes delivers each dataset once, whenever it goes.
func TestLakeThatComesAndGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t)
		var want []string
		s.lake.do = func(string) {
			s.lake.mu.Lock()
			defer s.lake.mu.Unlock()
			s.lake.offline = s.lake.asked%2 == 0 // gone in the middle of every second one
		}
		end := s.begin(t)
		for i := range 20 {
			name := fmt.Sprintf("rec-%02d", i)
			addDataset(t, s.folder, name)
			want = append(want, name)
			time.Sleep(time.Minute)
			s.lake.setOffline(false)
		}
		time.Sleep(time.Hour)
		end()
		slices.Sort(s.lake.published)
		s.requirePublished(t, want...)
	})
}

// TestDamagedDataset does not keep the others waiting, is told once, and attempted seldom.
func TestDamagedDataset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t)
		for _, name := range []string{"rec-1", "rec-2", "rec-3"} {
			addDataset(t, s.folder, name)
		}
		if err := os.WriteFile(filepath.Join(addDataset(t, s.folder, "rec-0"), trace.SessionFile), []byte("no JSON"), 0o644); err != nil {
			t.Fatal(err)
		}
		s.lake.fail = map[string]error{"rec-2": fmt.Errorf("publish rec-2: %w: a segment", lake.ErrDamaged)}
		end := s.begin(t)
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		slices.Sort(s.lake.published)
		s.requirePublished(t, "rec-1", "rec-3")
		if s.status().Waiting != 2 || s.status().FailedCount != 2 || len(s.status().Failed) != 2 || s.status().Failed[1].Dataset != "rec-2" || s.status().OfflineSince != nil {
			t.Errorf("status %+v", s.status())
		}
		if attempts := s.status().Failed[1].Attempts; attempts < 8 || attempts > 20 {
			t.Errorf("%d attempts in a day", attempts)
		}
		if len(s.said) != 4 {
			t.Errorf("it says %q", s.said)
		}
		// One that is mended has another session.json, or its turn comes.
		s.lake.mu.Lock()
		s.lake.fail = nil
		s.lake.mu.Unlock()
		addDataset(t, s.folder, "rec-0")
		time.Sleep(7 * time.Hour)
		end()
		slices.Sort(s.lake.published)
		s.requirePublished(t, "rec-0", "rec-1", "rec-2", "rec-3")
		if s.status().FailedCount != 0 {
			t.Errorf("status %+v", s.status())
		}
	})
}

// TestOnce attempts each dataset once, and joins what kept them from arriving.
func TestOnce(t *testing.T) {
	s := newSetting(t)
	for _, name := range []string{"rec-1", "rec-2", "rec-3"} {
		addDataset(t, s.folder, name)
	}
	s.lake.fail = map[string]error{"rec-1": lake.ErrDamaged, "rec-3": lake.ErrPublished}
	err := s.once(t)
	if !errors.Is(err, lake.ErrDamaged) || !errors.Is(err, lake.ErrPublished) || s.lake.asked != 3 {
		t.Errorf("asked %d times: %v", s.lake.asked, err)
	}
	s.requirePublished(t, "rec-2")
	s.lake.setOffline(true)
	if err := s.once(t); !errors.Is(err, lake.ErrUnreachable) || s.lake.asked != 3 {
		t.Errorf("offline, asked %d times: %v", s.lake.asked, err)
	}
	s.lake.setOffline(false)
	s.lake.fail = nil
	if err := s.once(t); err != nil {
		t.Error(err)
	}
	slices.Sort(s.lake.published)
	s.requirePublished(t, "rec-1", "rec-2", "rec-3")
}

// TestRecordingThatGoesOn is not published before it ends.
func TestRecordingThatGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t)
		dir := addDataset(t, s.folder, "rec")
		recorder, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Flock(int(recorder.Fd()), unix.LOCK_EX); err != nil {
			t.Fatal(err)
		}
		end := s.begin(t)
		time.Sleep(time.Hour)
		synctest.Wait()
		if s.lake.opened > 0 || s.status().Recording != 1 || s.status().Waiting != 0 {
			t.Errorf("status %+v", s.status())
		}
		addDataset(t, s.folder, "rec") // its session.json is written anew
		_ = recorder.Close()
		time.Sleep(time.Minute)
		end()
		s.requirePublished(t, "rec")
		if s.status().Gone != 0 {
			t.Errorf("status %+v", s.status())
		}
	})
}

// TestRemovedWhileItWaits: a dataset that somebody removes is told of, and keeps nothing from going on.
func TestRemovedWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t)
		first, second := addDataset(t, s.folder, "rec-1"), addDataset(t, s.folder, "rec-2")
		addDataset(t, s.folder, "rec-3")
		s.lake.setOffline(true)
		end := s.begin(t)
		time.Sleep(time.Hour)
		if err := os.RemoveAll(first); err != nil {
			t.Fatal(err)
		}
		s.lake.do = func(name string) {
			if name == "rec-2" { // at the very moment
				_ = os.RemoveAll(second)
				s.lake.mu.Lock()
				defer s.lake.mu.Unlock()
				s.lake.fail = map[string]error{name: lake.ErrDamaged}
			}
		}
		s.lake.setOffline(false)
		time.Sleep(time.Hour)
		end()
		s.requirePublished(t, "rec-3")
		if s.status().Gone != 2 || s.status().Waiting != 0 || s.status().FailedCount != 0 {
			t.Errorf("status %+v", s.status())
		}
		s.requireSaid(t, "rec-1 was removed before it had arrived")
	})
}

// TestNothingWaitsWhileOffline: a folder in which nothing waits any more is looked at now and then, as ever.
func TestNothingWaitsWhileOffline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t)
		var looks atomic.Int64
		s.Tell = func(now forward.Status) {
			s.tell(now)
			looks.Add(1)
		}
		dir := addDataset(t, s.folder, "rec")
		s.lake.setOffline(true)
		end := s.begin(t)
		time.Sleep(time.Minute)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		looks.Store(0)
		time.Sleep(time.Hour)
		end()
		if most := int64(time.Hour/s.Interval) * 3; looks.Load() > most || looks.Load() == 0 {
			t.Errorf("it looked %d times", looks.Load())
		}
	})
}

// TestWhatIsFound: datasets in the folder and in folders of it, and nothing that a link leads to.
func TestWhatIsFound(t *testing.T) {
	s := newSetting(t)
	elsewhere := t.TempDir()
	addDataset(t, elsewhere, "rec")
	for _, name := range []string{"rec", "ring/incident", ".hidden", "_staging/rec", "lost+found/rec", "a/b/c", "rec/callback/rec"} {
		addDataset(t, s.folder, name)
	}
	err := errors.Join(
		os.Symlink(filepath.Join(elsewhere, "rec"), filepath.Join(s.folder, "link")),
		os.Mkdir(filepath.Join(s.folder, "linked"), 0o755),
		os.Symlink(filepath.Join(elsewhere, "rec", trace.SessionFile), filepath.Join(s.folder, "linked", trace.SessionFile)),
		os.Mkdir(filepath.Join(s.folder, "pipe"), 0o755), syscall.Mkfifo(filepath.Join(s.folder, "pipe", trace.SessionFile), 0o644),
	)
	if err != nil {
		t.Fatal(err)
	}
	_ = s.once(t)
	slices.Sort(s.lake.published)
	s.requirePublished(t, "rec", "ring/incident")
	if s.status().FailedCount != 2 {
		t.Errorf("status %+v", s.status())
	}
}

// notesOf are the files of notes.
func notesOf(t *testing.T, state string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(state, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestNotesThatAreNotBelieved: a note that is damaged, or of something else, has its dataset published once more, which
// the lake knows. Nothing is lost, and nothing is waited for.
func TestNotesThatAreNotBelieved(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, s *setting, file string, text []byte) error{
		"lost":  func(_ *testing.T, _ *setting, file string, _ []byte) error { return os.Remove(file) },
		"empty": func(_ *testing.T, _ *setting, file string, _ []byte) error { return os.WriteFile(file, nil, 0o644) },
		"cut": func(_ *testing.T, _ *setting, file string, text []byte) error {
			return os.WriteFile(file, text[:len(text)/2], 0o644)
		},
		"no JSON": func(_ *testing.T, _ *setting, file string, _ []byte) error {
			return os.WriteFile(file, []byte("\x00\xff"), 0o644)
		},
		"another type": func(_ *testing.T, _ *setting, file string, _ []byte) error {
			return os.WriteFile(file, []byte(`{"dataset": 7}`), 0o644)
		},
		"long": func(_ *testing.T, _ *setting, file string, text []byte) error {
			return os.WriteFile(file, append(text, make([]byte, 1<<20)...), 0o644)
		},
		"of another dataset": func(t *testing.T, s *setting, file string, text []byte) error {
			addDataset(t, s.folder, "rec-2")
			return os.WriteFile(file, []byte(strings.Replace(string(text), `"rec"`, `"rec-2"`, 1)), 0o644)
		},
		"of another lake": func(_ *testing.T, s *setting, _ string, _ []byte) error {
			s.To = "s3://another"
			return nil
		},
		"asked in another way": func(_ *testing.T, s *setting, _ string, _ []byte) error {
			s.Request.Keys = []string{"date"}
			return nil
		},
		"of a dataset that was there": func(t *testing.T, s *setting, _ string, _ []byte) error {
			session := trace.NewSession()
			session.Attributes = map[string]string{"name": "rec", "other": "yes"}
			tracetest.AddSession(t, filepath.Join(s.folder, "rec"), session)
			return nil
		},
		"a link": func(t *testing.T, _ *setting, file string, text []byte) error {
			other := filepath.Join(t.TempDir(), "other")
			return errors.Join(os.WriteFile(other, text, 0o644), os.Remove(file), os.Symlink(other, file))
		},
		"a pipe": func(_ *testing.T, _ *setting, file string, _ []byte) error {
			return errors.Join(os.Remove(file), syscall.Mkfifo(file, 0o644))
		},
		"a folder": func(_ *testing.T, _ *setting, file string, _ []byte) error {
			return errors.Join(os.Remove(file), os.Mkdir(file, 0o755))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSetting(t)
			addDataset(t, s.folder, "rec")
			if err := s.once(t); err != nil {
				t.Fatal(err)
			}
			notes := notesOf(t, s.State)
			if len(notes) != 1 {
				t.Fatalf("notes %v", notes)
			}
			text, err := os.ReadFile(notes[0])
			if err != nil {
				t.Fatal(err)
			}
			if err := change(t, s, notes[0], text); err != nil {
				t.Fatal(err)
			}
			if name == "asked in another way" != forward.HasArrived(s.folder, s.State, "rec", s.To, nil) {
				t.Error("it is said to have arrived, or not")
			}
			asked := s.lake.asked
			if err := s.once(t); err != nil {
				t.Error(err)
			}
			if !forward.HasArrived(s.folder, s.State, "rec", s.To, nil) && name != "a folder" && name != "a pipe" { // which are left as they are
				t.Error("it is not said to have arrived")
			}
			if s.lake.asked == asked || s.lake.published[0] != "rec" || slices.Contains(s.lake.published[1:], "rec") || s.status().Waiting != 0 {
				t.Errorf("asked %d times more, published %v, status %+v", s.lake.asked-asked, s.lake.published, s.status())
			}
			if !there(filepath.Join(s.folder, "rec")) {
				t.Error("the dataset is gone")
			}
		})
	}
}

// TestKilledBeforeTheNote: a process that ends between the arrival and its note has a next one that asks again. What a
// killed one was writing is removed.
func TestKilledBeforeTheNote(t *testing.T) {
	s := newSetting(t)
	addDataset(t, s.folder, "rec")
	s.lake.recording["rec"] = true // and nothing is noted
	left := filepath.Join(s.State, ".0123.json.XYZ.tmp")
	if err := errors.Join(os.Mkdir(s.State, 0o755), os.WriteFile(left, []byte("{"), 0o644)); err != nil {
		t.Fatal(err)
	}
	if err := s.once(t); err != nil {
		t.Fatal(err)
	}
	s.requirePublished(t)
	if s.status().Arrived != 1 || s.status().ArrivedNow != 0 || len(notesOf(t, s.State)) != 1 || there(left) {
		t.Errorf("status %+v", s.status())
	}
}

// TestNotesGoWithTheirDatasets, so that they do not become many.
func TestNotesGoWithTheirDatasets(t *testing.T) {
	s := newSetting(t)
	dir := addDataset(t, s.folder, "rec")
	if err := s.once(t); err != nil || len(notesOf(t, s.State)) != 1 {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := s.once(t); err != nil || len(notesOf(t, s.State)) != 0 || s.status().Gone != 0 {
		t.Errorf("%v, status %+v", err, s.status())
	}
}

// TestOneAtATime forwards a folder.
func TestOneAtATime(t *testing.T) {
	s := newSetting(t)
	f, err := forward.New(s.Options)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := forward.New(s.Options); !errors.Is(err, forward.ErrBusy) {
		t.Errorf("error %v", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if err := s.once(t); err != nil {
		t.Error(err)
	}
}

// TestDeletion: nothing is deleted that has not arrived, however full the folder is, and whatever notes say: the lake
// is asked before.
func TestDeletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t)
		after := 24 * time.Hour
		s.DeleteAfter, s.Interval = &after, 10*time.Minute
		first := addDataset(t, s.folder, "rec-1")
		s.lake.setOffline(true)
		end := s.begin(t)
		time.Sleep(30 * 24 * time.Hour)
		if !there(first) {
			t.Fatal("it was deleted before it had arrived")
		}
		s.lake.setOffline(false)
		time.Sleep(time.Hour)
		if !there(first) {
			t.Error("it was deleted too early")
		}
		s.lake.setOffline(true)
		time.Sleep(30 * 24 * time.Hour)
		synctest.Wait()
		if !there(first) {
			t.Error("it was deleted, and nobody could say that the lake still has it")
		}
		s.lake.mu.Lock()
		s.lake.offline, s.lake.recording = false, make(map[string]bool) // somebody has taken it away there
		s.lake.mu.Unlock()
		time.Sleep(time.Hour)
		synctest.Wait()
		s.requirePublished(t, "rec-1", "rec-1")
		if !there(first) || s.status().Deleted != 0 {
			t.Error("it was deleted although the lake had lost it")
		}
		time.Sleep(24 * time.Hour)
		end()
		if there(first) || s.status().Deleted != 1 || s.status().Gone != 0 || len(notesOf(t, s.State)) != 0 {
			t.Errorf("it was not deleted; status %+v", s.status())
		}
		s.requireSaid(t, "rec-1 was deleted")
	})
}

// TestDeletionThatIsLeft to somebody else is asked for until it is done.
func TestDeletionThatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t)
		after, asked := time.Hour, 0
		dir := addDataset(t, s.folder, "rec")
		s.DeleteAfter, s.Delete = &after, func(name, stamp string) error {
			if asked++; asked == 3 {
				if err := forward.Delete(s.folder, name, stamp, nil); err != nil {
					t.Error(err)
				}
			}
			return forward.ErrLeft
		}
		end := s.begin(t)
		time.Sleep(2 * time.Hour)
		end()
		if asked != 3 || there(dir) || s.status().Deleted != 1 || s.status().FailedCount != 0 || s.status().Gone != 0 {
			t.Errorf("asked %d times, status %+v", asked, s.status())
		}
	})
}

// TestForgedNotesDeleteNothing that the lake does not have.
func TestForgedNotesDeleteNothing(t *testing.T) {
	s := newSetting(t)
	dir := addDataset(t, s.folder, "rec")
	if err := s.once(t); err != nil {
		t.Fatal(err)
	}
	file := notesOf(t, s.State)[0]
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// As if it had arrived long ago, where it never did.
	year := time.Now().UTC().Format("2006-")
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), `"arrived": "`+year, `"arrived": "1999-`, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	after := time.Hour
	s.DeleteAfter = &after
	s.lake.recording = make(map[string]bool)
	if err := s.once(t); err != nil {
		t.Fatal(err)
	}
	s.requirePublished(t, "rec", "rec")
	if !there(dir) || s.status().Deleted != 0 {
		t.Errorf("status %+v", s.status())
	}
}

// TestDelete deletes a finished dataset, and nothing else.
func TestDelete(t *testing.T) {
	stamp := func(t *testing.T, folder string) string {
		t.Helper()
		var told string
		s := newSetting(t)
		after := time.Duration(0)
		s.Folder, s.DeleteAfter, s.Delete = folder, &after, func(_, stamp string) error {
			told = stamp
			return nil
		}
		s.State = t.TempDir()
		if err := s.once(t); err != nil {
			t.Fatal(err)
		}
		return told
	}
	for name, test := range map[string]struct {
		delete  string
		change  func(dir string) error
		deleted bool
	}{
		"a dataset": {"rec", nil, true},
		"a changed one": {"rec", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, trace.SessionFile), []byte("{}"), 0o644)
		}, false},
		"above":           {"../other", nil, false},
		"the folder":      {".", nil, false},
		"a winding path":  {"rec/../rec", nil, false},
		"a hidden folder": {".forward", nil, false},
		"a link": {"rec", func(dir string) error {
			return errors.Join(os.Rename(dir, filepath.Join(filepath.Dir(dir), "moved")), os.Symlink("moved", dir))
		}, false},
		"one that was half deleted before": {"rec", func(dir string) error {
			return os.MkdirAll(filepath.Join(filepath.Dir(dir), ".deleted.rec", "callback"), 0o755)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			dir := addDataset(t, folder, "rec")
			of := stamp(t, folder)
			if test.change != nil {
				if err := test.change(dir); err != nil {
					t.Fatal(err)
				}
			}
			before := allBelow(t, folder)
			err := forward.Delete(folder, test.delete, of, nil)
			if after := allBelow(t, folder); test.deleted != (err == nil) || test.deleted != (len(after) == 0) || !test.deleted && !maps.Equal(before, after) {
				t.Errorf("%v, there is %v", err, after)
			}
		})
	}
	t.Run("a recording", func(t *testing.T) {
		folder := t.TempDir()
		dir := addDataset(t, folder, "rec")
		of := stamp(t, folder)
		recorder, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer recorder.Close()
		if err := unix.Flock(int(recorder.Fd()), unix.LOCK_EX); err != nil {
			t.Fatal(err)
		}
		if err := forward.Delete(folder, "rec", of, nil); !errors.Is(err, forward.ErrAnother) || !there(dir) {
			t.Error(err)
		}
	})
}

func allBelow(t *testing.T, folder string) map[string]fs.FileMode {
	t.Helper()
	all := make(map[string]fs.FileMode)
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if name != folder {
			all[name] = entry.Type()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestBrokenOffDeletion is completed by the next look.
func TestBrokenOffDeletion(t *testing.T) {
	s := newSetting(t)
	left := filepath.Join(s.folder, ".deleted.rec", "callback")
	if err := os.MkdirAll(left, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := s.once(t); err != nil || there(filepath.Dir(left)) {
		t.Error("it is left", err)
	}
}
