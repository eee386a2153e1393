package lake

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

var errBroken = errors.New("broken off")

// breakingStore breaks off before the change of the lake of that number, and never does anything again.
type breakingStore struct {
	store
	left int
}

func (s *breakingStore) change(do func() error) error {
	if s.left == 0 {
		return errBroken
	}
	s.left--
	return do()
}

func (s *breakingStore) put(ctx context.Context, f *stagedFile) error {
	return s.change(func() error { return s.store.put(ctx, f) })
}

func (s *breakingStore) swap(ctx context.Context, f *stagedFile, was []byte) error {
	return s.change(func() error { return s.store.swap(ctx, f, was) })
}

func (s *breakingStore) remove(ctx context.Context, name string) error {
	return s.change(func() error { return s.store.remove(ctx, name) })
}

// requireWholeOrAbsent: what a reader sees of a lake, the recordings that have a row, is there as a whole, and
// nothing of it comes from another publishing.
func requireWholeOrAbsent(t *testing.T, dir string) (visible int) {
	t.Helper()
	l := openLake(t, dir)
	for _, row := range rowsOf(t, dir, TableRecording) {
		visible++
		id := row.text(leadingID)
		verified, err := l.Verify(t.Context(), id)
		if err != nil || len(verified.Problems) > 0 {
			t.Fatalf("visible is what is not whole: %v, %v", verified.Problems, err)
		}
		rows := int64(0)
		for _, table := range Tables() {
			for _, of := range rowsOf(t, dir, table.Name) {
				if table.Name != TableRecording && of.text(leadingID) == id {
					rows++
				}
			}
		}
		if want := row.number("rows").Value; rows != want {
			t.Fatalf("%d rows are visible, want %d", rows, want)
		}
	}
	return visible
}

// TestBrokenOffAnywhere: wherever a publisher is broken off while it changes the lake, nobody sees half a recording,
// and the next one completes it, so that the lake is as if nothing had been; also where another publishing is
// replaced.
func TestBrokenOffAnywhere(t *testing.T) {
	d := simulated(t, 2)[0]
	requests := []Request{{Paths: allPaths, PathsAsked: "all", PathOptions: pathOptions}, {Keys: []string{"date"}}}
	var wanted []map[string]string
	for _, request := range requests {
		dir := t.TempDir()
		mustPublish(t, openLake(t, dir), d, request)
		wanted = append(wanted, contentOf(t, dir))
	}
	for _, replaces := range []bool{false, true} {
		whole := false
		for changes := 0; !whole; changes++ {
			dir := t.TempDir()
			if replaces {
				mustPublish(t, openLake(t, dir), d, requests[1])
			}
			request := requests[0]
			request.Replace = replaces
			l := openLake(t, dir)
			broken := Lake{store: &breakingStore{l.store, changes}}
			_, err := broken.Publish(t.Context(), d, request)
			if whole = err == nil; !whole && !errors.Is(err, errBroken) {
				t.Fatal(err)
			}
			if visible := requireWholeOrAbsent(t, dir); whole && visible != 1 {
				t.Fatal("nothing is visible")
			}
			// The next publisher asks for the same, or for something else.
			for i := range requests {
				next := t.TempDir()
				if err := os.CopyFS(next, os.DirFS(dir)); err != nil {
					t.Fatal(err)
				}
				request := requests[i]
				request.Replace = true
				mustPublish(t, openLake(t, next), d, request)
				requireEqual(t, fmt.Sprintf("after %d changes, files", changes), slices.Sorted(maps.Keys(contentOf(t, next))), slices.Sorted(maps.Keys(wanted[i])))
				requireEqual(t, fmt.Sprintf("after %d changes, files", changes), contentOf(t, next), wanted[i])
			}
		}
	}
}

// TestPublishersSideBySide do not harm each other.
func TestPublishersSideBySide(t *testing.T) {
	var datasets []*trace.Dataset
	for seed := uint64(1); seed <= 2; seed++ {
		datasets = append(datasets, simulated(t, seed)...)
	}
	want, dir := t.TempDir(), t.TempDir()
	for _, d := range datasets {
		mustPublish(t, openLake(t, want), d, Request{})
	}
	var publishers sync.WaitGroup
	for range 4 {
		l := openLake(t, dir)
		publishers.Go(func() {
			for _, d := range datasets {
				if _, err := l.Publish(t.Context(), d, Request{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	publishers.Wait()
	requireEqual(t, "files", contentOf(t, dir), contentOf(t, want))
}

// TestFullDisk: where the disk is full, the error says what to do, nothing is visible or left, and more room is all
// that the next publisher needs.
func TestFullDisk(t *testing.T) {
	d, want, disk := simulated(t, 2)[0], t.TempDir(), t.TempDir()
	mustPublish(t, openLake(t, want), d, Request{})
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=4k"); err != nil {
		t.Skipf("mounting a tmpfs: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	failed := 0
	for size := 4; ; size += 4 {
		if err := unix.Mount("tmpfs", disk, "tmpfs", unix.MS_REMOUNT, fmt.Sprintf("size=%dk", size)); err != nil {
			t.Fatal(err)
		}
		l, err := Open(t.Context(), disk, Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = l.Publish(t.Context(), d, Request{})
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err == nil {
			break
		}
		failed++
		if !errors.Is(err, ErrUnwritable) || !strings.Contains(err.Error(), "free some") {
			t.Fatal(err)
		}
		if rows := rowsOf(t, disk, TableRecording); len(rows) > 0 {
			t.Fatalf("%v is visible", rows)
		}
		if left := filesIn(t, filepath.Join(disk, stagingFolder)); len(left) > 0 {
			t.Fatalf("%v is left", left)
		}
	}
	if failed < 5 {
		t.Errorf("the disk was full %d times", failed)
	}
	requireEqual(t, "files", contentOf(t, disk), contentOf(t, want))
}

// TestLeftStagedFiles: what a killed publisher has staged goes with the next one; what a running one has staged stays.
func TestLeftStagedFiles(t *testing.T) {
	d, dir := simulated(t, 1)[0], t.TempDir()
	left := filepath.Join(dir, stagingFolder, "left")
	if err := os.MkdirAll(left, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(left, "00001"), []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	l := openLake(t, dir)
	root, folder := l.store.staging()
	running, err := newStaging(root, folder, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("what was left is still there")
	}
	mustPublish(t, openLake(t, dir), d, Request{})
	if _, err := os.Stat(filepath.Join(dir, running.path)); err != nil {
		t.Errorf("the folder of a running publisher: %v", err)
	}
	if err := running.remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, stagingFolder)); err == nil {
		t.Error("the folder for staging is left")
	}
}

// TestLockedLake: who waits for another publisher can be told to end.
func TestLockedLake(t *testing.T) {
	d, dir := simulated(t, 1)[0], t.TempDir()
	unlock, err := openLake(t, dir).store.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := openLake(t, dir).Publish(ctx, d, Request{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	unlock()
	mustPublish(t, openLake(t, dir), d, Request{})
}

// TestPipeInStaging is not waited for.
func TestPipeInStaging(t *testing.T) {
	d, dir := simulated(t, 1)[0], t.TempDir()
	pipe := filepath.Join(dir, stagingFolder, "pipe")
	if err := errors.Join(os.Mkdir(filepath.Dir(pipe), 0o755), unix.Mkfifo(pipe, 0o644)); err != nil {
		t.Fatal(err)
	}
	mustPublish(t, openLake(t, dir), d, Request{})
}

// damage puts segments that are no Parquet into a copy of a recording.
func damage(t *testing.T, d *trace.Dataset) (damaged *trace.Dataset, segments []string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "rec")
	if err := os.CopyFS(dir, os.DirFS(d.Dir())); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{trace.TableCallback, trace.TablePublisher} {
		segment := filepath.Join(dir, table, "00000099.parquet")
		if err := os.WriteFile(segment, []byte("no Parquet"), 0o644); err != nil {
			t.Fatal(err)
		}
		segments = append(segments, segment)
	}
	return tracetest.Open(t, dir), segments
}

// TestDamagedRecording is published only if that is asked for, and its row says so.
func TestDamagedRecording(t *testing.T) {
	intact, dir := simulated(t, 1)[0], t.TempDir()
	d, segments := damage(t, intact)
	l := openLake(t, dir)
	_, err := l.Publish(t.Context(), d, Request{})
	if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), segments[0]) || !strings.Contains(err.Error(), segments[1]) || !strings.Contains(err.Error(), "--damaged") {
		t.Errorf("error %v", err)
	}
	if files := filesIn(t, dir); len(files) > 0 {
		t.Errorf("%v are in the lake", files)
	}
	mustPublish(t, l, d, Request{Damaged: true})
	rows := rowsOf(t, dir, TableRecording)
	if len(rows) != 1 || rows[0].number("damaged_segments").Value != int64(len(segments)) {
		t.Errorf("recordings %v", rows)
	}
	want := t.TempDir()
	mustPublish(t, openLake(t, want), intact, Request{})
	for _, table := range []string{TableCallbackFact, TableMessageFact} {
		requireEqual(t, table, rowsOf(t, dir, table), rowsOf(t, want, table))
	}
}

// TestRunningRecording is refused.
func TestRunningRecording(t *testing.T) {
	d, dir := simulated(t, 1)[0], t.TempDir()
	folder, err := os.Open(d.Dir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = folder.Close() }()
	if err := unix.Flock(int(folder.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if _, err := openLake(t, dir).Publish(t.Context(), d, Request{}); !errors.Is(err, ErrRunning) || !strings.Contains(err.Error(), "ctl snapshot") {
		t.Errorf("error %v", err)
	}
}

// TestVerify tells of files that are missing, cut short or changed.
func TestVerify(t *testing.T) {
	d, dir := simulated(t, 1)[0], t.TempDir()
	l := openLake(t, dir)
	result := mustPublish(t, l, d, Request{})
	if v, err := l.Verify(t.Context()); err != nil || len(v.Problems) > 0 || v.Recordings != 1 || v.Files != result.Files+1 {
		t.Fatalf("%+v, %v", v, err)
	}
	for name, text := range contentOf(t, dir) {
		path := filepath.Join(dir, name)
		changed := []byte(text)
		changed[len(changed)/2] ^= 1
		for what, spoil := range map[string]func() error{
			"is missing":    func() error { return os.Remove(path) },
			"cut short":     func() error { return os.WriteFile(path, []byte(text[:len(text)-1]), 0o644) },
			"a bit differs": func() error { return os.WriteFile(path, changed, 0o644) },
		} {
			if err := spoil(); err != nil {
				t.Fatal(err)
			}
			v, err := l.Verify(t.Context(), result.Recording)
			if strings.HasSuffix(name, manifestSuffix) {
				if what == "is missing" && (err != nil || len(v.Problems) != 1) {
					t.Errorf("%s %s: %+v, %v", name, what, v, err)
				}
			} else if err != nil || len(v.Problems) != 1 || !strings.Contains(v.Problems[0], name) {
				t.Errorf("%s %s: %+v, %v", name, what, v, err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
