package target

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/distros"
)

func inodeOf(t *testing.T, info fs.FileInfo) uint64 {
	t.Helper()
	return info.Sys().(*syscall.Stat_t).Ino
}

func TestOpenFakeProcess(t *testing.T) {
	fake := newFakeProcess(t)
	fake.install("/opt/ros/humble/lib/librcl.so")
	fake.mapLibrary("/opt/ros/humble/lib/librcl.so")
	process := fake.open()
	if process.Command != "a) name (x)" || process.ParentPID != 7 || process.StartTime != 123_450_000_000 {
		t.Errorf("stat: %q, parent %d, start %d", process.Command, process.ParentPID, process.StartTime)
	}
	if process.NamespacePID != 5 || process.UID != uint32(os.Getuid()) || process.MountNamespace != 4026532000 || process.PIDNamespace != 4026532001 {
		t.Errorf("status: %+v", process)
	}
	if process.Distro != distros.Humble {
		t.Errorf("distribution %v by %q", process.Distro, process.DistroEvidence)
	}
	if status, err := process.Status(); err != nil || status.EffectiveCapabilities != 1 || status.ShadowStack {
		t.Errorf("status %+v, %v", status, err)
	}
	fake.writeProcess("stat", fmt.Sprintf("%d (x) S 7 1 1 0 -1 0 1 0 0 0 0 0 0 0 20 0 1 0 99999 0 0", fakePID))
	if _, err := process.Refresh(t.Context()); process.Alive() || !errors.Is(err, ErrNoProcess) {
		t.Errorf("a later process with the same PID is taken for the same: %v", err)
	}
}

// expectedPaths are the expected libraries as "kind path", sorted.
func expectedPaths(t *testing.T, process *Process) []string {
	t.Helper()
	libraries, err := process.Expected(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, library := range libraries {
		found = append(found, fmt.Sprintf("%s %s", library.Kind, library.Path))
		info, err := os.Stat(library.OpenPath)
		if err != nil || inodeOf(t, info) != library.Inode || library.BuildID == "" || library.File.BuildID != library.BuildID {
			t.Errorf("%+v: %v", library, err)
		}
		checkNoLinks(t, process, library.Path)
	}
	slices.Sort(found)
	return found
}

// checkNoLinks fails if a path in the process's root directory has symbolic links in it, which could lead elsewhere
// when followed from here.
func checkNoLinks(t *testing.T, process *Process, path string) {
	t.Helper()
	root, err := process.openRoot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer root.close()
	fd, err := unix.Openat2(int(root.start.handle.Fd()), path, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return
	}
	unix.Close(fd)
}

func TestExpectedMiddleware(t *testing.T) {
	const lib = "/opt/ros/humble/lib/"
	triplet := lib + multiarch() + "/"
	fake := newFakeProcess(t, "LD_LIBRARY_PATH=relative:/home/user/overlay/lib::/does/not/exist")
	fake.install(lib + "librcl.so")
	fake.install(lib + "libfastrtps.so.2.6")
	fake.install(lib+"librmw_fastrtps_shared_cpp.so", "-Wl,--no-as-needed", fake.inRoot(lib+"libfastrtps.so.2.6"))
	fake.install(lib+"librmw_fastrtps_cpp.so", "-Wl,--no-as-needed", fake.inRoot(lib+"librmw_fastrtps_shared_cpp.so"), fake.inRoot(lib+"libfastrtps.so.2.6"))
	fake.install(triplet + "libddsc.so.0")
	fake.install("/home/user/overlay/lib/librmw_cyclonedds_cpp.so", "-Wl,--no-as-needed", fake.inRoot(triplet+"libddsc.so.0"))
	fake.install(lib + "librmw_cyclonedds_cpp.so") // behind the overlay in the search order
	fake.install(lib + "librmw_zenoh_cpp.so")      // no probes in it
	fake.mapLibrary(lib + "librcl.so")

	process := fake.open()
	expected := []string{
		"dds " + lib + "libfastrtps.so.2.6", "dds " + triplet + "libddsc.so.0",
		"rmw /home/user/overlay/lib/librmw_cyclonedds_cpp.so",
		"rmw " + lib + "librmw_fastrtps_cpp.so", "rmw " + lib + "librmw_fastrtps_shared_cpp.so",
	}
	slices.Sort(expected)
	if found := expectedPaths(t, process); !slices.Equal(found, expected) {
		t.Errorf("expected libraries\n%q, should be\n%q", found, expected)
	}

	// With one RMW implementation mapped no other will come, but what it needs may.
	fake.mapLibrary(lib + "librmw_fastrtps_cpp.so")
	fake.mapLibrary(lib + "librmw_fastrtps_shared_cpp.so")
	if _, err := process.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if found := expectedPaths(t, process); !slices.Equal(found, []string{"dds " + lib + "libfastrtps.so.2.6"}) {
		t.Errorf("with an RMW mapped: %q", found)
	}
	fake.mapLibrary(lib + "libfastrtps.so.2.6")
	if _, err := process.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if found := expectedPaths(t, process); len(found) != 0 {
		t.Errorf("with everything mapped: %q", found)
	}
}

func TestExpectedThroughLinkerConfiguration(t *testing.T) {
	fake := newFakeProcess(t)
	fake.install("/ws/install/rcl/lib/librcl.so")
	fake.install("/srv/dds/lib/libddsc.so.0")
	fake.install("/srv/rmw/librmw_cyclonedds_cpp.so", "-Wl,--no-as-needed", fake.inRoot("/srv/dds/lib/libddsc.so.0"))
	fake.writeRoot("/etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\ninclude /etc/ld.so.conf\n")
	fake.writeRoot("/etc/ld.so.conf.d/ros.conf", "# middleware\n/srv/rmw  # here\n")
	fake.writeRoot("/etc/ld.so.conf.d/dds.conf", "/srv/dds/current\n")
	fake.writeRoot("/etc/ld.so.conf.d/ignored.txt", "/srv/ignored\n")
	// An absolute link of a container must not be followed in the host's file system.
	if err := os.Symlink("/srv/dds/lib", fake.inRoot("/srv/dds/current")); err != nil {
		t.Fatal(err)
	}
	fake.mapLibrary("/ws/install/rcl/lib/librcl.so")
	expected := []string{"dds /srv/dds/lib/libddsc.so.0", "rmw /srv/rmw/librmw_cyclonedds_cpp.so"}
	if found := expectedPaths(t, fake.open()); !slices.Equal(found, expected) {
		t.Errorf("%q, should be %q", found, expected)
	}
}

// A command that is only about to start nodes: what they will map is in its environment.
func TestExpectedOfLauncher(t *testing.T) {
	fake := newFakeProcess(t, "AMENT_PREFIX_PATH=/ws/install/mine:/opt/ros/jazzy")
	for _, name := range []string{"libtracetools.so", "librcl.so", "librclcpp.so", "librmw_cyclonedds_cpp.so"} {
		fake.install("/opt/ros/jazzy/lib/" + name)
	}
	fake.install("/ws/install/mine/lib/librclcpp.so")
	fake.install("/usr/bin/python3")
	fake.mapLibrary("/usr/bin/python3")
	process, err := NewFinderAt(fake.proc).Inspect(t.Context(), fakePID)
	if err != nil {
		t.Fatal(err)
	}
	defer process.Close()
	expected := []string{
		"core /opt/ros/jazzy/lib/librcl.so", "core /opt/ros/jazzy/lib/libtracetools.so", "core /ws/install/mine/lib/librclcpp.so",
		"rmw /opt/ros/jazzy/lib/librmw_cyclonedds_cpp.so",
	}
	if found := expectedPaths(t, process); !slices.Equal(found, expected) {
		t.Errorf("%q, should be %q", found, expected)
	}
}

func TestExpectedComponents(t *testing.T) {
	const index = "/share/ament_index/resource_index/rclcpp_components/"
	fake := newFakeProcess(t, "AMENT_PREFIX_PATH=/ws/install/first:relative:/ws/install/second:/opt/ros/humble:/missing")
	fake.install("/opt/ros/humble/lib/librcl.so")
	fake.install("/ws/install/first/lib/libtalker.so")
	fake.install("/ws/install/second/lib/liblistener_real.so")
	fake.install("/elsewhere/libabsolute.so")
	fake.writeRoot("/ws/install/first"+index+"first", "first::Talker;lib/libtalker.so\nfirst::Other;lib/libtalker.so\nfirst::Gone;lib/libgone.so\n")
	fake.writeRoot("/ws/install/second"+index+"second", "second::Listener;lib/liblistener.so\nsecond::Absolute;/elsewhere/libabsolute.so\nnonsense\n;\nsecond::Up;../../../../../../etc/passwd\n")
	fake.writeRoot("/etc/passwd", "root:x:0:0\n")
	if err := os.Symlink("liblistener_real.so", fake.inRoot("/ws/install/second/lib/liblistener.so")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("libloop.so", fake.inRoot("/ws/install/second/lib/libloop.so")); err != nil {
		t.Fatal(err)
	}
	fake.writeRoot("/opt/ros/humble"+index+"loop", "x::Loop;../../../ws/install/second/lib/libloop.so\n")
	fake.mapLibrary("/opt/ros/humble/lib/librcl.so")

	expected := []string{
		"component /elsewhere/libabsolute.so", "component /ws/install/first/lib/libtalker.so",
		"component /ws/install/second/lib/liblistener_real.so",
	}
	process := fake.open()
	if found := expectedPaths(t, process); !slices.Equal(found, expected) {
		t.Errorf("%q, should be %q", found, expected)
	}
	fake.mapLibrary("/ws/install/first/lib/libtalker.so")
	if _, err := process.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if found := expectedPaths(t, process); slices.Contains(found, expected[1]) {
		t.Errorf("a mapped component is still expected: %q", found)
	}
}

func TestResolveStaysInRoot(t *testing.T) {
	fake := newFakeProcess(t)
	fake.writeRoot("/etc/file", "in the root")
	for name, destination := range map[string]string{
		"/absolute": "/etc/file", "/up": "../../../../etc/file", "/chain": "/absolute", "/loop": "/loop2", "/loop2": "/loop", "/directory": "/etc",
	} {
		if err := os.Symlink(destination, fake.inRoot(name)); err != nil {
			t.Fatal(err)
		}
	}
	process := &Process{finder: NewFinderAt(fake.proc), pidfd: -1}
	process.PID = fakePID
	root, err := process.openRoot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer root.close()
	for name, expected := range map[string]string{
		"/etc/file": "/etc/file", "/absolute": "/etc/file", "/up": "/etc/file", "/chain": "/etc/file", "/directory/file": "/etc/file",
		"/directory/../etc/./file": "/etc/file", "/../../etc/file": "/etc/file", "/loop": "", "/absent": "", "/etc/file/below": "",
	} {
		resolved, err := root.locate(name)
		if resolved != expected || (err == nil) != (expected != "") {
			t.Errorf("%s: %q, %v", name, resolved, err)
		}
	}
}
