package target

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/elffile"
)

// What was opened stays what it was, whatever becomes of the path.
func TestOpenFileOutlivesItsPath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	replace := func(content string) {
		t.Helper()
		if err := errors.Join(os.WriteFile(path+".new", []byte(content), 0o600), os.Rename(path+".new", path)); err != nil {
			t.Fatal(err)
		}
	}
	finder := NewFinder()
	open := func() *OpenFile {
		t.Helper()
		opened, err := finder.OpenFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return opened
	}
	content := func(o *OpenFile) string {
		t.Helper()
		buffer := make([]byte, 16)
		n, _ := o.ReadAt(buffer, 0)
		throughKernel, err := os.ReadFile(o.KernelPath())
		if err != nil || string(throughKernel) != string(buffer[:n]) {
			t.Errorf("%q through %s, %v; not %q", throughKernel, o.KernelPath(), err, buffer[:n])
		}
		return string(buffer[:n])
	}
	replace("victim")
	first := open()
	replace("crafted")
	second := open()
	if content(first) != "victim" || content(second) != "crafted" {
		t.Errorf("%q, %q", content(first), content(second))
	}
	if again := open(); again != second || finder.opened.count() != 2 {
		t.Errorf("one file is open twice: %d", finder.opened.count())
	}
	if err := first.Hold(); err != nil {
		t.Error(err)
	}
	for _, opened := range []*OpenFile{first, second, second} {
		opened.Release()
	}
	if content(first) != "victim" || finder.opened.count() != 1 {
		t.Errorf("a file that is held was closed, or one that is not was kept: %d are open", finder.opened.count())
	}
	first.Release()
	if err := first.Hold(); !errors.Is(err, ErrFileClosed) || finder.opened.count() != 0 {
		t.Errorf("%v, %d open", err, finder.opened.count())
	}
}

func TestOpenFileTellsThatItWasWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("as proven"), 0o600); err != nil {
		t.Fatal(err)
	}
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, past, past); err != nil {
		t.Fatal(err)
	}
	opened, err := NewFinder().OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Release()
	if err := errors.Join(os.Chmod(path, 0o644), opened.Unchanged()); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte("as forged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := opened.Unchanged(); !errors.Is(err, ErrFileWritten) {
		t.Error(err)
	}
}

// Opening what is no regular file could wait for ever, or have effects.
func TestOpenFileRefusesSpecialFiles(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fifo, "/dev/zero", t.TempDir()} {
		if _, err := NewFinder().OpenFile(path); !errors.Is(err, elffile.ErrNotELF) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// A process keeps the files of its modules and those that it is expected to map, and lets go of them in the end.
// Processes share them.
func TestProcessesShareOpenFiles(t *testing.T) {
	executable, librcl := buildROSProgram(t)
	program, second := start(t, executable), start(t, executable)
	finder := NewFinder()
	process := openProcess(t, finder, program.pid)
	held := finder.opened.count()
	if held != len(process.Modules) {
		t.Errorf("%d files are open for %d modules", held, len(process.Modules))
	}
	other := openProcess(t, finder, second.pid)
	if now := finder.opened.count(); now != held {
		t.Errorf("%d files are open for a second process, %d for the first", now, held)
	}
	extra := buildLibrary(t, t.TempDir(), "libextra.so", functions("extra"))
	program.must("loaded", "load %s", extra)
	if _, err := process.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	module, _ := process.FindModule("libextra.so")
	opened, err := module.Opened()
	if err != nil || finder.opened.count() != held+1 {
		t.Fatalf("%v, %d open", err, finder.opened.count())
	}
	program.must("unloaded", "unload")
	if _, err := process.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := opened.Hold(); !errors.Is(err, ErrFileClosed) {
		t.Errorf("the file of a module that is gone is held: %v", err)
	}
	process.Close()
	if module, _ := other.FindModule(filepath.Base(librcl)); finder.opened.count() != held {
		t.Errorf("%s and others were closed though a process maps them: %d of %d", module.Path, finder.opened.count(), held)
	}
	other.Close()
	if now := finder.opened.count(); now != 0 {
		t.Errorf("%d files are open in the end", now)
	}
}

// Whoever runs out of descriptors is told what to do.
func TestTooManyOpenFiles(t *testing.T) {
	executable, _ := buildROSProgram(t)
	program := start(t, executable)
	var limit unix.Rlimit
	var err error
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	lower := unix.Rlimit{Cur: 256, Max: limit.Max}
	if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, &lower, nil); err != nil {
		t.Fatal(err)
	}
	finder := NewFinder()
	// What earlier tests have opened may be closed meanwhile: then there is room for more, and it is filled again.
	for range 10 {
		var used []int
		for fd, err := unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0); err == nil; fd, err = unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0) {
			used = append(used, fd)
		}
		const few = 3 // enough for reading /proc, too few for the modules
		for _, fd := range used[:few] {
			unix.Close(fd)
		}
		var process *Process
		process, err = finder.Open(t.Context(), program.pid)
		for _, fd := range used[few:] {
			unix.Close(fd)
		}
		if err != nil {
			break
		}
		_ = process.Close()
	}
	if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, &limit, nil); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(err, ErrTooManyFiles) {
		t.Error(err)
	}
}

// The runtime raises the limit of open files to the hard one. The recorder relies on it.
func TestDescriptorLimitIsRaised(t *testing.T) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if limit.Cur+1 < limit.Max {
		t.Error(fmt.Sprint(limit))
	}
}
