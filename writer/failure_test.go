package writer

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/analyze/summary"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// smallFileSystem mounts a file system of few megabytes.
func smallFileSystem(t *testing.T, megabytes int) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small file system")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+strconv.Itoa(megabytes)+"m"); err != nil {
		t.Skipf("cannot mount a tmpfs: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestAFullDiskKeepsWhatWasClosed(t *testing.T) {
	dir := filepath.Join(smallFileSystem(t, 4), "dataset")
	w, err := Create(dir, Options{SegmentBytes: 200_000, RowGroupRows: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteSession(trace.NewSession()); err != nil {
		t.Fatal(err)
	}
	appendRows(t, w, trace.Clock{RealtimeOffset: 5})
	if err := w.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	appendRows(t, w, trace.Clock{RealtimeOffset: 6}) // open when the disk is full
	rows := tracetest.Random[trace.Callback](200_000, 1)
	full := fill(t, w, rows)
	if !errors.Is(full, ErrDiskFull) || !errors.Is(full, unix.ENOSPC) {
		t.Fatalf("error %v, want ErrDiskFull", full)
	}
	for name, err := range map[string]error{"Write": w.Write(tracetest.BatchOf(rows[:1])), "Tick": w.Tick(time.Now()), "Flush": w.Flush(t.Context())} {
		if !errors.Is(err, ErrDiskFull) {
			t.Errorf("%s after the error: %v", name, err)
		}
	}
	useUp(t, filepath.Dir(dir))
	ended := trace.NewSession()
	ended.Ending, ended.Error = trace.EndingError, full.Error()
	if err := w.WriteSession(ended); err != nil {
		t.Errorf("the end cannot be told: %v", err)
	}
	if err := w.Close(); !errors.Is(err, ErrDiskFull) {
		t.Errorf("Close: %v", err)
	}

	d, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if d.Session().Ending != trace.EndingError || d.Killed() {
		t.Errorf("ending %q, killed %v", d.Session().Ending, d.Killed())
	}
	got := readAll[trace.Callback](t, dir)
	if stored := w.StoredRows()[trace.TableCallback]; len(got) == 0 || uint64(len(got)) != stored || !reflect.DeepEqual(got, rows[:len(got)]) {
		t.Errorf("%d rows are readable, %d were stored", len(got), stored)
	}
	if clocks := readAll[trace.Clock](t, dir); len(clocks) != 1 || clocks[0].RealtimeOffset != 5 {
		t.Errorf("the closed segment of another table holds %v", clocks)
	}
	for _, table := range []string{trace.TableCallback, trace.TableClock} {
		for _, name := range segmentNames(t, dir, table) {
			if strings.HasPrefix(name, ".") {
				t.Errorf("unfinished segment %s/%s is left", table, name)
			}
		}
	}
}

// fill appends rows until the Writer fails.
func fill(t *testing.T, w *Writer, rows []trace.Callback) error {
	t.Helper()
	for len(rows) > 0 {
		n := min(len(rows), 500)
		if err := w.Write(tracetest.BatchOf(rows[:n])); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return w.Flush(t.Context())
}

// useUp takes the last free space of a file system, as another program may.
func useUp(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "other"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for chunk := make([]byte, 4096); err == nil; {
		_, err = f.Write(chunk)
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
}

// A file system gives root more than others. A recording for a user gets what that user would get, whoever runs the
// recorder.
func TestBlocksOfRootAreLeft(t *testing.T) {
	requireRoot(t)
	image, disk := filepath.Join(t.TempDir(), "image"), folderOf(t, 0, 0, 0o755)
	const script = `truncate -s 8M "$1" && mkfs.ext4 -q -F -m 50 -E root_owner=12345:23456 "$1" && mount -o loop "$1" "$2" && rmdir "$2/lost+found"`
	if out, err := exec.Command("sh", "-c", script, "sh", image, disk).CombinedOutput(); err != nil {
		t.Skipf("cannot mount an ext4: %v, %s", err, out)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	})
	w, err := Create(filepath.Join(disk, "dataset"), Options{As: user, SegmentBytes: 200_000, RowGroupRows: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if err := fill(t, w, tracetest.Random[trace.Callback](100_000, 1)); !errors.Is(err, ErrDiskFull) {
		t.Errorf("error %v, want ErrDiskFull", err)
	}
	var space unix.Statfs_t
	if err := unix.Statfs(disk, &space); err != nil {
		t.Fatal(err)
	}
	if space.Bfree < space.Blocks*4/10 {
		t.Errorf("%d of %d blocks are free: root's were used", space.Bfree, space.Blocks)
	}
	if err := w.WriteSession(trace.NewSession()); err != nil {
		t.Errorf("the end cannot be told: %v", err)
	}
	if err := w.Close(); !errors.Is(err, ErrDiskFull) {
		t.Errorf("Close: %v", err)
	}
}

// TestOutputThatCannotBeWritten names places where no directory can be made: root, too, is refused there.
func TestOutputThatCannotBeWritten(t *testing.T) {
	parent := t.TempDir()
	file := filepath.Join(parent, "file")
	if err := os.WriteFile(file, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	dangling := filepath.Join(parent, "dangling")
	if err := os.Symlink(filepath.Join(parent, "absent"), dangling); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		path string
		want error
	}{
		"a file":                            {file, ErrExists},
		"below a file":                      {filepath.Join(file, "dataset"), ErrUnwritable},
		"a device":                          {os.DevNull, ErrExists},
		"a dangling link":                   {dangling, ErrUnwritable},
		"a file system without directories": {"/proc/dataset", ErrUnwritable},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Create(test.path, Options{})
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.path) {
				t.Errorf("error %v, want %v", err, test.want)
			}
		})
	}
	if content, err := os.ReadFile(file); err != nil || string(content) != "kept" {
		t.Errorf("the file holds %q, %v", content, err)
	}
}

func TestADiskFullFromTheStart(t *testing.T) {
	parent := smallFileSystem(t, 1)
	useUp(t, parent)
	if _, err := Create(filepath.Join(parent, "dataset"), Options{}); !errors.Is(err, ErrDiskFull) {
		t.Errorf("error %v, want ErrDiskFull", err)
	}
}

const childDirectory = "CARET_BPF_TEST_KILLED_WRITER"

// TestKilledWriterChild is the process that TestKill kills: it writes until then and says which rows were closed.
func TestKilledWriterChild(t *testing.T) {
	dir := os.Getenv(childDirectory)
	if dir == "" {
		t.Skip("runs as a child of TestKill")
	}
	w, err := Create(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := trace.NewSession()
	s.Enter(trace.StateRecording, time.Now())
	if err := w.WriteSession(s); err != nil {
		t.Fatal(err)
	}
	for count := uint64(0); ; {
		for range 1000 {
			appendRows(t, w, trace.Loss{Count: count})
			count++
		}
		if err := w.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stdout.WriteString("closed " + strconv.FormatUint(count, 10) + "\n"); err != nil {
			return
		}
		for range 500 {
			appendRows(t, w, trace.Loss{Count: count})
			count++
		}
	}
}

func TestKill(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dataset")
	child := exec.Command(os.Args[0], "-test.run=^TestKilledWriterChild$")
	child.Env = append(os.Environ(), childDirectory+"="+dir)
	output, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var closed uint64
	lines := bufio.NewScanner(output)
	for rounds := 0; rounds < 8 && lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "closed "); ok {
			rounds++
			if closed, err = strconv.ParseUint(text, 10, 64); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // "signal: killed"
	if closed == 0 {
		t.Fatal("the child closed no segment")
	}

	d, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if d.Live() || !d.Killed() || d.Session().State != trace.StateRecording {
		t.Errorf("live %v, killed %v, state %s", d.Live(), d.Killed(), d.Session().State)
	}
	rows := readAll[trace.Loss](t, dir)
	if uint64(len(rows)) < closed {
		t.Errorf("%d rows are readable, %d were in closed segments", len(rows), closed)
	}
	for i, row := range rows {
		if row.Count != uint64(i) {
			t.Fatalf("row %d is %d: rows are missing or out of order", i, row.Count)
		}
	}
	if _, err := summary.Of(t.Context(), d, nil); err != nil {
		t.Error(err)
	}
}
