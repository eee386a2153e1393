package target

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Without the links of the kernel, a file is taken for the one that is mapped if the path leads to the same one, and to
// one that may be read.
func TestFilesByPath(t *testing.T) {
	const library = "/opt/librcl.so"
	for name, test := range map[string]struct {
		root, path string
		mapped     func(unix.Stat_t) Mapping
		same       bool
	}{
		"the same":          {"", library, func(s unix.Stat_t) Mapping { return Mapping{Device: s.Dev, Inode: s.Ino} }, true},
		"another":           {"", library, func(s unix.Stat_t) Mapping { return Mapping{Device: s.Dev, Inode: s.Ino + 1} }, false},
		"on another device": {"", library, func(s unix.Stat_t) Mapping { return Mapping{Device: s.Dev + 1, Inode: s.Ino} }, false},
		"the kernel's":      {"/", "/proc/version", func(s unix.Stat_t) Mapping { return Mapping{Device: s.Dev, Inode: s.Ino} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			fake := newFakeProcess(t)
			fake.install(library)
			path := fake.inRoot(test.path)
			if test.root != "" {
				path = filepath.Join(test.root, test.path)
				if err := os.Remove(fake.processPath("root")); err != nil {
					t.Fatal(err)
				}
				fake.link(test.root, "root")
			}
			var stat unix.Stat_t
			if err := unix.Stat(path, &stat); err != nil {
				t.Fatal(err)
			}
			learned := fake.inspect().learnByPath(t.Context(), Module{Path: test.path, Mappings: []Mapping{test.mapped(stat)}})
			if (learned.err == nil) != test.same || !test.same && !errors.Is(learned.err, os.ErrPermission) {
				t.Errorf("%v", learned.err)
			}
			if learned.opened != nil {
				learned.opened.Release()
			}
		})
	}
}

// An overlay shows a file under another device than the kernel says of its mappings if its layers are on several file
// systems.
func TestFilesByPathOnOverlays(t *testing.T) {
	executable, _ := buildROSProgram(t)
	elsewhere, err := os.MkdirTemp("/dev/shm", "overlay")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(elsewhere) })
	for name, upper := range map[string]string{"one file system": t.TempDir(), "two": elsewhere} {
		t.Run(name, func(t *testing.T) {
			_, pid := startInContainer(t, overOverlay, filepath.Dir(executable), upper, "true")
			process := openProcess(t, NewFinder(), pid)
			module, found := process.FindModule("librcl.so")
			if !found {
				t.Fatalf("%+v", process.Modules)
			}
			t.Logf("stat tells device %#x, the kernel %#x", module.Device, module.Mappings[0].Device)
			learned := process.learnByPath(t.Context(), module)
			if learned.err != nil {
				t.Fatal(learned.err)
			}
			learned.opened.Release()
		})
	}
}
