package target

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeProcess is a directory of the form of /proc with one process in it, whose root directory is of the test's making.
type fakeProcess struct {
	t    *testing.T
	proc string
	root string
	maps strings.Builder
}

const fakePID = 4242

func newFakeProcess(t *testing.T, environment ...string) *fakeProcess {
	t.Helper()
	f := &fakeProcess{t: t, proc: t.TempDir(), root: t.TempDir()}
	f.write(filepath.Join(f.proc, "sys/kernel/random/boot_id"), "0b3f3a3c-0000-4000-8000-000000000000\n")
	f.writeProcess("stat", fmt.Sprintf("%d (a) name (x)) S 7 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 0 0", fakePID))
	f.writeProcess("status", fmt.Sprintf("Name:\tx\nTgid:\t%d\n%sNSpid:\t%d\t17\t5\nCapEff:\t1\n", fakePID, identityOf(os.Getuid(), os.Getgid()), fakePID))
	f.writeProcess("cmdline", "component_container\x00--ros-args\x00")
	f.writeProcess("auxv", "vector")
	f.writeProcess("environ", strings.Join(environment, "\x00")+"\x00")
	f.writeProcess("maps", "")
	f.link("mnt:[4026532000]", "ns/mnt")
	f.link("/proc/self/ns/mnt", "ns/mnt:[4026532000]") // which is where the link leads: it can be opened, as the kernel's
	f.link("pid:[4026532001]", "ns/pid")
	f.link("/usr/bin/component_container", "exe")
	f.link(f.root, "root")
	return f
}

// identityOf is what status says of a process with the rights of one user.
func identityOf(user, group int) string {
	return fmt.Sprintf("Uid:\t%[1]d\t%[1]d\t%[1]d\t%[1]d\nGid:\t%[2]d\t%[2]d\t%[2]d\t%[2]d\nGroups:\t \n", user, group)
}

func (f *fakeProcess) write(path, content string) {
	f.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fakeProcess) processPath(name string) string {
	return filepath.Join(f.proc, fmt.Sprint(fakePID), name)
}

func (f *fakeProcess) writeProcess(name, content string) {
	f.t.Helper()
	f.write(f.processPath(name), content)
}

func (f *fakeProcess) link(destination, name string) {
	f.t.Helper()
	path := f.processPath(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.Symlink(destination, path); err != nil {
		f.t.Fatal(err)
	}
}

// inRoot is the path at which the test finds a path of the process.
func (f *fakeProcess) inRoot(path string) string { return filepath.Join(f.root, path) }

// writeRoot writes a file of the process's root directory.
func (f *fakeProcess) writeRoot(path, content string) {
	f.t.Helper()
	f.write(f.inRoot(path), content)
}

// install builds a library in the process's root directory.
func (f *fakeProcess) install(path string, options ...string) {
	f.t.Helper()
	directory := filepath.Dir(f.inRoot(path))
	if err := os.MkdirAll(directory, 0o755); err != nil {
		f.t.Fatal(err)
	}
	// The path in the code makes the build-ids differ.
	name := strings.NewReplacer("/", "_", ".", "_", "-", "_").Replace(path)
	buildLibrary(f.t, directory, filepath.Base(path), functions("f"+name), options...)
}

// mapLibrary makes the process map a library of its root directory.
func (f *fakeProcess) mapLibrary(path string) {
	f.t.Helper()
	info, err := os.Stat(f.inRoot(path))
	if err != nil {
		f.t.Fatal(err)
	}
	start := 0x7f0000000000 + uint64(f.maps.Len())<<16
	fmt.Fprintf(&f.maps, "%x-%x r--p 00000000 08:01 %d   %s\n", start, start+0x1000, inodeOf(f.t, info), path)
	fmt.Fprintf(&f.maps, "%x-%x r-xp 00001000 08:01 %d   %s\n", start+0x1000, start+0x2000, inodeOf(f.t, info), path)
	f.writeProcess("maps", f.maps.String())
	f.link(f.inRoot(path), fmt.Sprintf("map_files/%x-%x", start+0x1000, start+0x2000))
}

func (f *fakeProcess) open() *Process {
	f.t.Helper()
	return openProcess(f.t, NewFinderAt(f.proc), fakePID)
}

// inspect is open for a process that need not be one of ROS 2.
func (f *fakeProcess) inspect() *Process {
	f.t.Helper()
	process, err := NewFinderAt(f.proc).Inspect(f.t.Context(), fakePID)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { process.Close() })
	return process
}
