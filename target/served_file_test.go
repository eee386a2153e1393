package target

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/quota"
)

// mountUnanswered mounts a file system that never answers, neither to root. It answers with errors when the test's
// process ends.
func mountUnanswered(t *testing.T) (path string) {
	t.Helper()
	requireRoot(t)
	device, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer device.Close()
	path = t.TempDir()
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d,allow_other", device.Fd(), nobody, nobody)
	if err := unix.Mount("unanswered", path, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		t.Skip("cannot mount: ", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(path, unix.MNT_DETACH) })
	// Another process holds the other end, so that nothing hangs for ever if the test fails.
	server := exec.Command("sleep", "infinity")
	server.ExtraFiles = []*os.File{device}
	if err := server.Start(); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	return path
}

func TestFilesOfProgramsAreNotAskedFor(t *testing.T) {
	mounted := mountUnanswered(t)
	fake := newFakeProcess(t)
	const lib = "/opt/ros/humble/lib/"
	fake.install(lib + "librcl.so")
	fake.mapLibrary(lib + "librcl.so")
	served := Mapping{Start: 0x7e0000001000, End: 0x7e0000002000, Perm: "r-xp", Path: mounted + "/librclcpp.so", Device: 46, Inode: 7}
	fmt.Fprintf(&fake.maps, "%x-%x r-xp 00001000 00:2e 7   %s\n", served.Start, served.End, served.Path)
	fake.writeProcess("maps", fake.maps.String())
	fake.link(mounted, fmt.Sprintf("map_files/%x-%x", served.Start, served.End))

	process := fake.open()
	if _, err := process.OpenMapping(served); !errors.Is(err, errServedFile) {
		t.Errorf("%v", err)
	}
	module, found := process.FindModule("librclcpp.so")
	if _, err := module.Opened(); !found || !errors.Is(err, errServedFile) {
		t.Errorf("%+v, %v", module, err)
	}
	if _, err := process.OpenModule(t.Context(), module); !errors.Is(err, ErrNotRead) {
		t.Errorf("%v", err)
	}
	file, err := process.OpenMapping(Mapping{Start: 0x7f0000001000, End: 0x7f0000002000, Path: lib + "librcl.so"})
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
}

// Somebody mounts an overlay in a user namespace of his own. What it is made of does not show: it may be FUSE, which
// never answers, and it asks with his rights, whoever opens a file.
const inForeignOverlay = `mount -t tmpfs tmpfs "$1"
mkdir "$1/lower" "$1/upper" "$1/work" "$1/merged"
cp "$2"/* "$1/lower"
mount -t overlay overlay -o lowerdir="$1/lower",upperdir="$1/upper",workdir="$1/work" "$1/merged"
exec "$1/merged/ros_program"`

func TestOverlaysOfOthersAreNotAskedFor(t *testing.T) {
	executable, _ := buildROSProgram(t)
	for name, test := range map[string]struct {
		options []string
		foreign bool
	}{
		"root's":    {[]string{"--mount"}, false},
		"of a user": {[]string{"--mount", "--user", "--map-root-user", "--setuid", "0"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			requireRoot(t)
			folder := t.TempDir()
			command := exec.Command("unshare", append(test.options, "sh", "-ec", inForeignOverlay, "sh", folder, filepath.Dir(executable))...)
			program := startCommand(t, command)
			process, err := NewFinder().Inspect(t.Context(), program.pid)
			if err != nil {
				t.Fatal(err)
			}
			defer process.Close()
			module, found := process.FindModule("librcl.so")
			if !found {
				t.Fatalf("%+v", process.Modules)
			}
			if _, err := module.Opened(); errors.Is(err, ErrNotRead) != test.foreign {
				t.Errorf("%v", err)
			}
			if file, err := process.OpenMapping(module.Mappings[0]); errors.Is(err, ErrNotRead) != test.foreign {
				t.Errorf("%v, %v", file, err)
			}
		})
	}
}

// The process has files open whose file system is in no table of mounts any more.
func TestFilesOfProgramsThatAreUnmounted(t *testing.T) {
	mounted := mountUnanswered(t)
	handle, err := unix.Open(mounted, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(handle)
	if err := unix.Unmount(mounted, unix.MNT_DETACH); err != nil {
		t.Fatal(err)
	}
	if err := newFakeProcess(t).inspect().refuseServed(t.Context(), handle); !errors.Is(err, ErrNotRead) {
		t.Errorf("%v", err)
	}
	memory, err := unix.MemfdCreate("jit", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(memory)
	if err := newFakeProcess(t).inspect().refuseServed(t.Context(), memory); err != nil {
		t.Errorf("memory: %v", err)
	}
}

func TestOpenMappingRefusesSpecialFiles(t *testing.T) {
	fake := newFakeProcess(t)
	for i, path := range []string{"/dev/null", "/proc/self/status", t.TempDir()} {
		mapping := Mapping{Start: uint64(i+1) << 12, End: uint64(i+2) << 12, Path: path}
		fake.link(path, fmt.Sprintf("map_files/%x-%x", mapping.Start, mapping.End))
		if file, err := fake.inspect().OpenMapping(mapping); !errors.Is(err, errSpecialFile) {
			t.Errorf("%s: %v, %v", path, file, err)
		}
	}
}

func TestParseMounts(t *testing.T) {
	text := "22 27 0:21 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n" +
		"27 0 259:2 / / rw shared:1 - ext4 /dev/nvme0n1p2 rw\n" +
		"90 27 0:55 / /home/me/a\\040-\\040b rw,nosuid - fuse.sshfs me@host:/ rw,user_id=1000\n" +
		"91 27 0:56 / /mnt rw - fuse x rw\n92 27 0:57 / /host rw - virtiofs x rw\n" +
		"nonsense\n1 2 3\n1 2 x:y / / rw - ext4\n-1 2 0:1 / / rw - ext4\n93 27 0:58 / / rw -\n"
	expected := []mount{
		{22, unix.Mkdev(0, 21), "sysfs"}, {27, unix.Mkdev(259, 2), "ext4"}, {90, unix.Mkdev(0, 55), "fuse.sshfs"}, {91, unix.Mkdev(0, 56), "fuse"},
		{92, unix.Mkdev(0, 57), "virtiofs"},
	}
	found := parseMounts([]byte(text))
	if !slices.Equal(found, expected) {
		t.Errorf("%+v", found)
	}
	var served []string
	for _, m := range found {
		if m.isServed() {
			served = append(served, m.fileSystem)
		}
	}
	if strings.Join(served, " ") != "fuse.sshfs fuse" {
		t.Errorf("served: %q", served)
	}
}

func FuzzParseMounts(f *testing.F) {
	f.Add([]byte("27 0 259:2 / / rw shared:1 - ext4 /dev/nvme0n1p2 rw\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, m := range parseMounts(text) {
			if m.fileSystem == "" || strings.ContainsAny(m.fileSystem, " \t\n") {
				t.Errorf("%+v", m)
			}
		}
	})
}

// TestMountTablesArePaidFor: who mounts much pays for what is read of it, and nobody waits for more than he pays.
func TestMountTablesArePaidFor(t *testing.T) {
	file, err := os.CreateTemp("/dev/shm", "served")
	if err != nil {
		t.Skip(err)
	}
	defer os.Remove(file.Name())
	defer file.Close()
	fake := newFakeProcess(t)
	fake.writeProcess("mountinfo", strings.Repeat("1 1 0:1 / /somewhere rw - tmpfs tmpfs rw\n", 20_000))
	finder := fake.finderWith(quota.Work, 16<<20)
	process, err := finder.Inspect(t.Context(), fakePID)
	if err != nil {
		t.Fatal(err)
	}
	defer process.Close()
	ctx, cancel := context.WithCancel(process.PaidBy(t.Context()))
	defer cancel()
	for files := 0; ; files++ {
		err := process.refuseServed(ctx, int(file.Fd()))
		if errors.Is(err, quota.ErrUsedUp) {
			break
		}
		if files > 100 {
			t.Fatalf("%d files were looked up in a table of 800 KB, the last: %v", files, err)
		}
	}
	cancel()
	if err := process.refuseServed(ctx, int(file.Fd())); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
