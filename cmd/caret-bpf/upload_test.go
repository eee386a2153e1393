package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/control"
	"github.com/caret-bpf/caret-bpf/export/lake"
	"github.com/caret-bpf/caret-bpf/forward"
	"github.com/caret-bpf/caret-bpf/identity"
	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/trace"
)

// toldMessages are messages, as they come.
type toldMessages struct {
	mu   sync.Mutex
	said []string
}

func (h *toldMessages) hear(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.said = append(h.said, text)
}

func (h *toldMessages) has(text string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.said, func(said string) bool { return strings.Contains(said, text) })
}

func (h *toldMessages) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.said, "\n")
}

// until waits for something that comes; the test's time limit ends it.
func until(what func() bool) {
	for !what() {
		time.Sleep(20 * time.Millisecond)
	}
}

// reachableFolder is a folder that everybody can reach, and a group may write to.
func reachableFolder(t *testing.T, user, group int) string {
	t.Helper()
	path := t.TempDir()
	if err := errors.Join(os.Chmod(filepath.Dir(path), 0o755), os.Chown(path, user, group), os.Chmod(path, 0o770)); err != nil {
		t.Fatal(err)
	}
	return path
}

// forwardersOf are the processes that forward a folder, with what the kernel says of them.
func forwardersOf(t *testing.T, folder string) map[int]string {
	t.Helper()
	found := make(map[int]string)
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		words, _ := os.ReadFile(line) // it may have ended
		if !bytes.Contains(words, []byte("\x00"+forwardArgument+"\x00")) || !bytes.HasSuffix(words, []byte("\x00"+folder+"\x00")) {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(line, "/proc/%d/", &pid); err != nil {
			t.Fatal(err)
		}
		status, _ := os.ReadFile(filepath.Join(filepath.Dir(line), "status"))
		found[pid] = string(status)
	}
	return found
}

// TestUploads: what has been recorded is forwarded beside a recording, by a process that may do nothing of what the
// recorder may, and deleted in the end by the recorder, as whose it is.
func TestUploads(t *testing.T) {
	requireRoot(t)
	const user = 12345
	for name, test := range map[string]struct {
		caller   *identity.Identity
		user     int // of the forwarder
		group    int
		datasets int // owner
	}{
		"root for itself": {nil, 65534, 0, 0},
		"root for a user": {&identity.Identity{User: user, Group: user}, user, user, user},
	} {
		t.Run(name, func(t *testing.T) {
			folder, to := reachableFolder(t, test.datasets, test.datasets), reachableFolder(t, test.datasets, test.datasets)
			dir := addRecording(t, folder, "rec-1", 500)
			own := func(path string, info os.FileInfo, err error) error {
				if err != nil {
					return err
				}
				mode := os.FileMode(0o640)
				if info.IsDir() {
					mode = 0o750
				}
				return errors.Join(os.Chown(path, test.datasets, test.datasets), os.Chmod(path, mode))
			}
			want := publishedLake(t, dir)
			if err := filepath.Walk(dir, own); err != nil {
				t.Fatal(err)
			}
			said, day := new(toldMessages), 24*time.Hour
			begin := func(after *time.Duration) *uploads {
				t.Helper()
				c := newConsole(new(bytes.Buffer), new(bytes.Buffer), func(string) string { return "" })
				c.caller = test.caller
				u, err := beginUploads(c, session.Configuration{Output: filepath.Join(folder, "rec"), Upload: to, UploadDeleteAfter: after}, said.hear)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(u.stop)
				return u
			}
			u := begin(&day)
			until(func() bool { return u.status().Sent == 1 })
			for pid, status := range forwardersOf(t, folder) {
				for _, line := range []string{
					fmt.Sprintf("Uid:\t%d\t%d\t%d\t%d", test.user, test.user, test.user, test.user),
					fmt.Sprintf("Gid:\t%d\t%d\t%d\t%d", test.group, test.group, test.group, test.group),
					"Groups:\t ", "CapInh:\t0000000000000000", "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000",
					"CapAmb:\t0000000000000000", "NoNewPrivs:\t1",
				} {
					if !strings.Contains(status, line+"\n") {
						t.Errorf("the forwarder, PID %d, has no %q in\n%s", pid, line, status)
					}
				}
			}
			if now := u.status(); now.To != to || now.Arrived != 1 || now.Waiting != 0 || now.SentBytes == 0 || now.Failed != 0 || now.OfflineSince != 0 {
				t.Errorf("status %+v", now)
			}
			u.stop()
			if left := forwardersOf(t, folder); len(left) > 0 {
				t.Errorf("there is %v", left)
			}
			requireSameFiles(t, to, want)
			now := time.Duration(0)
			u = begin(&now)
			until(func() bool { return u.status().Deleted == 1 })
			u.stop()
			if left, err := filepath.Glob(filepath.Join(folder, "rec*")); err != nil || len(left) > 0 {
				t.Errorf("%v is left, %v", left, err)
			}
			if !said.has("rec-1 has arrived") || !said.has("rec-1 was deleted") {
				t.Errorf("it says %s", said)
			}
		})
	}
}

// TestForwarderIsBegunAgain when it is killed, and what waited arrives.
func TestForwarderIsBegunAgain(t *testing.T) {
	requireRoot(t)
	folder, to := reachableFolder(t, 0, 0), reachableFolder(t, 0, 0)
	said := new(toldMessages)
	c := newConsole(new(bytes.Buffer), new(bytes.Buffer), func(string) string { return "" })
	u, err := beginUploads(c, session.Configuration{Output: filepath.Join(folder, "rec"), Upload: to}, said.hear)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(u.stop)
	until(func() bool { return len(forwardersOf(t, folder)) == 1 })
	addRecording(t, folder, "rec-1", 100)
	for pid := range forwardersOf(t, folder) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}
	until(func() bool { return u.status().Sent == 1 })
	if !said.has("begun again") {
		t.Errorf("it says %s", said)
	}
}

// TestNewsOfLiars: a forwarder that says what is not so makes nothing but what a forwarder may ask for.
func TestNewsOfLiars(t *testing.T) {
	folder := t.TempDir()
	outside := addRecording(t, t.TempDir(), "rec", 10)
	inside := addRecording(t, folder, "rec-1", 10)
	recording := addRecording(t, folder, "rec-2", 10)
	lock, err := os.Open(recording)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	before := filesBelow(t, folder)
	link := filepath.Join(folder, "link")
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	above, err := filepath.Rel(folder, outside)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		news    string
		deletes bool
		wrong   bool
	}{
		"no JSON":                     {"hello\n", true, true},
		"another type":                {`{"status": 7}` + "\n", true, true},
		"a line without end":          {`{"message": "` + strings.Repeat("x", maxNews+1), true, true},
		"nothing":                     {"", true, false},
		"a dataset outside":           {fmt.Sprintf(`{"delete": %q}`, above) + "\n", true, false},
		"a path from the root":        {fmt.Sprintf(`{"delete": %q}`, outside) + "\n", true, false},
		"a link":                      {`{"delete": "link"}` + "\n", true, false},
		"the folder":                  {`{"delete": "."}` + "\n", true, false},
		"a recording that goes on":    {`{"delete": "rec-2"}` + "\n", true, false},
		"a dataset of another stamp":  {`{"delete": "rec-1", "stamp": "00"}` + "\n", true, false},
		"where nothing is deleted":    {`{"delete": "rec-1", "stamp": "STAMP"}` + "\n", false, false},
		"a recording, and its stamp":  {`{"delete": "rec-2", "stamp": "STAMP"}` + "\n", true, false},
		"more failures than there is": {`{"status": {"failed_count": 7, "failed": []}}` + "\n", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			u := &uploads{folder: folder, deletes: test.deletes, message: func(string) {}}
			news := strings.ReplaceAll(test.news, "STAMP", stampFor(t, inside))
			if err := u.hear(strings.NewReader(news)); test.wrong != (err != nil) {
				t.Error(err)
			}
			_ = os.Remove(link)
			if after := filesBelow(t, folder); len(after) != len(before) {
				t.Errorf("there are %d files of %d", len(after), len(before))
			}
			if _, err := os.Stat(filepath.Join(outside, trace.SessionFile)); err != nil {
				t.Error("what is outside is gone")
			}
			if err := os.Symlink(outside, link); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// stampFor is what a forwarder says of a dataset that it has deleted.
func stampFor(t *testing.T, dir string) (stamp string) {
	t.Helper()
	after := time.Duration(0)
	f, err := forward.New(forward.Options{
		Folder: filepath.Dir(dir), State: t.TempDir(), To: "lake", DeleteAfter: &after,
		Open: func(ctx context.Context) (forward.Lake, error) { return lake.Open(ctx, t.TempDir(), lake.Options{}) },
		Delete: func(name, of string) error {
			if name == filepath.Base(dir) {
				stamp = of
			}
			return forward.ErrLeft
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Once(t.Context()), f.Close()); err != nil {
		t.Fatal(err)
	}
	return stamp
}

// TestArrivalIsAwaited where the disk has no room: until something has arrived, or cannot, and not for ever.
func TestArrivalIsAwaited(t *testing.T) {
	for name, test := range map[string]struct {
		first, later forward.Status
		waits        time.Duration
	}{
		"one arrives":             {forward.Status{Waiting: 3}, forward.Status{Waiting: 2, ArrivedNow: 1}, time.Minute},
		"what waits is removed":   {forward.Status{Waiting: 1}, forward.Status{}, time.Minute},
		"nothing waits":           {forward.Status{}, forward.Status{}, 0},
		"what waits is damaged":   {forward.Status{Waiting: 2, FailedCount: 2}, forward.Status{Waiting: 2, FailedCount: 2}, 0},
		"nobody can be reached":   {forward.Status{Waiting: 3}, forward.Status{Waiting: 3}, arrivalPatience},
		"one had arrived already": {forward.Status{Waiting: 3, ArrivedNow: 2}, forward.Status{Waiting: 3, ArrivedNow: 2}, arrivalPatience},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u, told, began := new(uploads), 0, time.Now()
				u.note(&test.first)
				time.AfterFunc(time.Minute-time.Millisecond, func() { u.note(&test.later) })
				u.awaitArrival(t.Context(), func() { told++ })
				if waited := time.Since(began); waited != test.waits || told < int(waited/arrivalPause) {
					t.Errorf("it waited for %v, and told %d times", waited, told)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second/2, cancel)
		began := time.Now()
		new(uploads).awaitArrival(ctx, func() {}) // whose forwarder has not said anything
		if waited := time.Since(began); waited != time.Second/2 {
			t.Errorf("it waited for %v", waited)
		}
	})
}

// TestFolderOfNotes is root's, whatever there was: one that somebody else has made is refused.
func TestFolderOfNotes(t *testing.T) {
	requireRoot(t)
	for name, test := range map[string]struct {
		make func(path string) error
		fits bool
	}{
		"none":       {func(string) error { return nil }, true},
		"there":      {func(path string) error { return os.Mkdir(path, 0o700) }, true},
		"of another": {func(path string) error { return errors.Join(os.Mkdir(path, 0o777), os.Chown(path, 12345, 12345)) }, false},
		"a link":     {func(path string) error { return os.Symlink("/etc", path) }, false},
		"a file":     {func(path string) error { return os.WriteFile(path, nil, 0o644) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), notesFolder)
			if err := test.make(path); err != nil {
				t.Fatal(err)
			}
			if err := openToGroup(path); test.fits != (err == nil) {
				t.Fatal(err)
			}
			if info, err := os.Stat(path); test.fits && (err != nil || info.Mode().Perm() != 0o770) {
				t.Errorf("%v, %v", info.Mode(), err)
			}
		})
	}
}

// TestUploadWhileRecording: a recording that is rotated has what was rotated forwarded, and says so everywhere.
func TestUploadWhileRecording(t *testing.T) {
	requireRoot(t)
	requireHostProcessIDs(t)
	if err := loader.Probe().Missing(); err != nil {
		t.Skip(err)
	}
	folder, to := reachableFolder(t, 0, 0), reachableFolder(t, 0, 0)
	output, c := filepath.Join(folder, "rec"), newCtl(t)
	done := c.record("-o", output, "--rotate-every", "1s", "--upload", to, "--metrics", "unix:"+filepath.Join(folder, "metrics"), "--", "sleep", "1000")
	var now control.Status
	until(func() bool {
		code, _, _ := c.run(t.Context(), "ctl", "status")
		return code == exitSuccess
	})
	until(func() bool {
		c.ask(&now, "status")
		return now.Uploads != nil && now.Uploads.Sent > 0
	})
	if _, out, _ := c.run(t.Context(), "ctl", "status"); !strings.Contains(out, "uploads to "+to) {
		t.Errorf("status %s", out)
	}
	c.ask(&now, "stop")
	done()
	d, err := trace.Open(output)
	if err != nil || d.Session().Uploads == nil || d.Session().Uploads.Sent == 0 || d.Session().Uploads.To != to {
		t.Errorf("%+v, %v", d.Session(), err)
	}
	if rows := countIn(t, to, lake.TableRecording); rows == 0 {
		t.Error("nothing has arrived")
	}
	if code, _, problems := runCommand("forward", folder, "--to", to, "--once"); code != exitSuccess {
		t.Errorf("exit code %d: %s", code, problems)
	}
	recordings, err := filepath.Glob(output + "*")
	if rows := countIn(t, to, lake.TableRecording); err != nil || rows != int64(len(recordings)) {
		t.Errorf("%d of %d have arrived", rows, len(recordings))
	}
}
