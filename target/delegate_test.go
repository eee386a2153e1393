package target

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/identity"
	"github.com/caret-bpf/caret-bpf/quota"
)

// ownedBy makes the process one of another user, who can reach its files. It needs root.
func (f *fakeProcess) ownedBy(user int) {
	f.t.Helper()
	for _, directory := range []string{f.root, filepath.Dir(f.root)} { // made by t.TempDir
		if err := os.Chmod(directory, 0o755); err != nil {
			f.t.Fatal(err)
		}
	}
	f.writeProcess("status", fmt.Sprintf("Tgid:\t%d\n%s", fakePID, identityOf(user, user)))
}

// withScan is a process that maps a library of a message type whose definition it has at scanFile of the prefix.
func withScan(t *testing.T) *fakeProcess {
	t.Helper()
	fake := newFakeProcess(t)
	fake.install(humblePrefix + typeSupport)
	fake.install(humblePrefix + "/lib/librcl.so")
	fake.mapLibrary(humblePrefix + typeSupport)
	fake.mapLibrary(humblePrefix + "/lib/librcl.so")
	return fake
}

const secretText = "API_KEY=sk-verysecret-1234567\n"

// A process gets nothing read that its user could not read, whoever records it, and no error shows what is in a file.
func TestFilesAreReadAsTheProcess(t *testing.T) {
	requireRoot(t)
	for name, test := range map[string]struct {
		content       string
		mode          os.FileMode
		owner         int
		directory     os.FileMode
		errorContains string
	}{
		"everybody's":                    {"std_msgs/Header header\n", 0o644, 0, 0o755, ""},
		"its own":                        {"std_msgs/Header header\n", 0o600, nobody, 0o755, ""},
		"root's":                         {secretText, 0o600, 0, 0o755, "permission denied"},
		"in a directory of root's":       {secretText, 0o644, 0, 0o700, "permission denied"},
		"its own, but no definition":     {secretText, 0o600, nobody, 0o755, "line 1 is neither"},
		"everybody's, but no definition": {secretText, 0o644, 0, 0o755, "line 1 is neither"},
	} {
		t.Run(name, func(t *testing.T) {
			fake := withScan(t)
			fake.writeRoot("/etc/hidden/file", test.content)
			fake.linkRoot("/etc/hidden/file", humblePrefix+scanFile)
			fake.ownedBy(nobody)
			if err := errors.Join(os.Chown(fake.inRoot("/etc/hidden/file"), test.owner, test.owner), os.Chmod(fake.inRoot("/etc/hidden/file"), test.mode),
				os.Chmod(fake.inRoot("/etc/hidden"), test.directory)); err != nil {
				t.Fatal(err)
			}
			_, ok, err := fake.open().HeaderOffset(t.Context(), scanType)
			if ok != (test.errorContains == "") || (err == nil) != ok {
				t.Fatalf("header %v, %v", ok, err)
			}
			if err != nil && (!strings.Contains(err.Error(), test.errorContains) || strings.Contains(err.Error(), "verysecret")) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// A process that may read all files gets all of them read, if that is so where the recorder is.
func TestFilesAreReadWithTheCapabilityOfTheProcess(t *testing.T) {
	requireRoot(t)
	own, err := os.Readlink("/proc/self/ns/user")
	if err != nil {
		t.Fatal(err)
	}
	for namespace, readable := range map[string]bool{own: true, "user:[1]": false} {
		fake := withScan(t)
		fake.writeRoot(humblePrefix+scanFile, "std_msgs/Header header\n")
		fake.ownedBy(nobody)
		fake.writeProcess("status", fmt.Sprintf("Tgid:\t%d\n%sCapEff:\t0000000000000002\n", fakePID, identityOf(nobody, nobody)))
		fake.link(namespace, "ns/user")
		if err := os.Chmod(fake.inRoot(humblePrefix+scanFile), 0); err != nil {
			t.Fatal(err)
		}
		if _, ok, err := fake.open().HeaderOffset(t.Context(), scanType); ok != readable || (err == nil) != readable {
			t.Errorf("in namespace %s: header %v, %v", namespace, ok, err)
		}
	}
}

// Whose files those of a set-user-ID program are cannot be told.
func TestFilesOfProgramsWithSeveralUsers(t *testing.T) {
	fake := withScan(t)
	fake.writeRoot(humblePrefix+scanFile, "std_msgs/Header header\n")
	fake.writeProcess("status", fmt.Sprintf("Tgid:\t%d\nUid:\t1000\t0\t0\t0\nGid:\t0\t0\t0\t0\nGroups:\t\n", fakePID))
	process := fake.open()
	if _, ok, err := process.HeaderOffset(t.Context(), scanType); ok || !errors.Is(err, ErrNotRead) {
		t.Errorf("header %v, %v", ok, err)
	}
	if libraries, err := process.Expected(t.Context()); len(libraries) > 0 || !errors.Is(err, ErrNotRead) {
		t.Errorf("%v, %v", libraries, err)
	}
}

// Expected libraries are found as the process, too.
func TestLibrariesAreExpectedAsTheProcess(t *testing.T) {
	requireRoot(t)
	const lib = "/opt/ros/humble/lib/"
	fake := newFakeProcess(t)
	for _, name := range []string{"librcl.so", "librmw_cyclonedds_cpp.so", "librmw_fastrtps_cpp.so"} {
		fake.install(lib + name)
	}
	fake.mapLibrary(lib + "librcl.so")
	fake.ownedBy(nobody)
	if err := os.Chmod(fake.inRoot(lib+"librmw_fastrtps_cpp.so"), 0o600); err != nil {
		t.Fatal(err)
	}
	if found := expectedPaths(t, fake.open()); !slices.Equal(found, []string{"rmw " + lib + "librmw_cyclonedds_cpp.so"}) {
		t.Errorf("%q", found)
	}
}

func TestSpecialFilesAreNotRead(t *testing.T) {
	for name, lead := range map[string]func(*fakeProcess, string) error{
		"FIFO":      func(f *fakeProcess, path string) error { return unix.Mkfifo(path, 0o644) },
		"directory": func(f *fakeProcess, path string) error { return os.Mkdir(path, 0o755) },
		// Regular files for stat; reading the kernel's log waits for the next message, and takes it away from others.
		"kmsg":    func(f *fakeProcess, path string) error { return f.show(path, "/proc/kmsg") },
		"environ": func(f *fakeProcess, path string) error { return f.show(path, "/proc/self/environ") },
		"pipe":    func(f *fakeProcess, path string) error { return f.show(path, "/sys/kernel/tracing/trace_pipe") },
	} {
		t.Run(name, func(t *testing.T) {
			const prefix = "/ws"
			fake := newFakeProcess(t, "AMENT_PREFIX_PATH="+prefix)
			fake.install(prefix + "/lib/librcl.so")
			fake.mapLibrary(prefix + "/lib/librcl.so")
			for _, path := range []string{prefix + scanFile, filepath.Join(prefix, componentIndex, "x")} {
				if err := os.MkdirAll(filepath.Dir(fake.inRoot(path)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := lead(fake, fake.inRoot(path)); err != nil {
					t.Skip(err)
				}
			}
			process := fake.open()
			if _, ok, err := process.HeaderOffset(t.Context(), scanType); ok || err == nil || !strings.Contains(err.Error(), "not read") {
				t.Errorf("header %v, %v", ok, err)
			}
			if libraries, err := process.Expected(t.Context()); err != nil || len(libraries) > 0 {
				t.Errorf("%v, %v", libraries, err)
			}
		})
	}
}

// show makes a path lead to a file of the host, which the root directory of the process then is.
func (f *fakeProcess) show(path, file string) error {
	f.t.Helper()
	if _, err := os.Stat(file); err != nil {
		return err
	}
	root := f.processPath("root")
	if err := os.Remove(root); err != nil {
		f.t.Fatal(err)
	}
	f.link("/", "root")
	f.writeProcess("environ", "AMENT_PREFIX_PATH="+f.inRoot("/ws")+"\x00")
	return os.Symlink(file, path)
}

// A file that is exchanged for a link which leads elsewhere when it is followed from here never leads there.
func TestExchangedFilesAreInTheRoot(t *testing.T) {
	fake := newFakeProcess(t)
	outside := filepath.Join(t.TempDir(), "file")
	fake.write(outside, "outside")
	fake.writeRoot(outside, "inside") // where the link leads within the root
	fake.writeRoot("/file", "inside")
	fake.linkRoot(outside, "/link")
	d := fake.delegate()
	defer d.close()

	opened, err := ask(d, func(root rootDirectory) (namedFile, error) { return root.openFirst([]string{"/absent", "/file"}) })
	if err != nil || opened.path != "/file" || opened.index != 1 {
		t.Fatalf("%+v, %v", opened, err)
	}
	defer opened.file.Close()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				if err := unix.Renameat2(unix.AT_FDCWD, fake.inRoot("/file"), unix.AT_FDCWD, fake.inRoot("/link"), unix.RENAME_EXCHANGE); err != nil {
					t.Error(err)
					return
				}
			}
		}
	}()
	for range 2000 {
		text, err := ask(d, func(root rootDirectory) ([]byte, error) { return root.readFile("/file", 100) })
		if err != nil || string(text) != "inside" {
			t.Errorf("%q, %v", text, err)
			break
		}
	}
	close(stop)
	<-stopped
	if text, err := readAll(opened.file, 100); err != nil || string(text) != "inside" {
		t.Errorf("%q, %v", text, err)
	}
}

// delegate starts a delegate for the process.
func (f *fakeProcess) delegate() *delegate {
	f.t.Helper()
	process := f.inspect()
	d, err := process.newDelegate(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	return d
}

// Nobody waits for files for ever, and only so many threads do.
func TestFilesThatAreNotAnswered(t *testing.T) {
	fake := newFakeProcess(t)
	process := fake.inspect()
	release := make(chan struct{})
	hang := func(rootDirectory) (int, error) { <-release; return 1, nil }
	for range maxDelegates {
		d, err := process.newDelegate(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		d.patience = time.Millisecond
		for range 2 {
			if _, err := ask(d, hang); !errors.Is(err, ErrNotRead) {
				t.Errorf("%v", err)
			}
		}
		d.close()
	}
	if _, err := process.newDelegate(t.Context()); !errors.Is(err, ErrNotRead) {
		t.Errorf("one more than there may be: %v", err)
	}
	close(release)
	for account, ended := process.Account(), 0; ended < maxDelegates; { // all end
		if account.Take(quota.Delegates, 1) == nil {
			ended++
		} else {
			time.Sleep(time.Millisecond)
		}
	}
}

// awaitThreads has the end of a test wait until its delegates' threads are gone: others look at the threads there are.
func awaitThreads(t *testing.T) {
	t.Cleanup(func() { awaitOwnThreads(t) })
}

// awaitOwnThreads waits until all threads have the identity of this one. Those of earlier tests may be ending.
func awaitOwnThreads(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own := identityOfThread(t, "/proc/thread-self/status")
	for !slices.Equal(identityOfThreads(t), []string{own}) {
		time.Sleep(time.Millisecond)
	}
}

// inspectFake opens the fake process with a finder that others use, too.
func inspectFake(t *testing.T, finder *Finder) *Process {
	t.Helper()
	process, err := finder.Inspect(t.Context(), fakePID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = process.Close() })
	return process
}

// requireDelegate demands that files can be read for the process.
func requireDelegate(t *testing.T, process *Process) {
	t.Helper()
	d, err := process.newDelegate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d.close()
}

// What one user's file systems do not answer does not keep the recorder from reading files for another.
func TestDelegatesOfOneUserLeaveEnough(t *testing.T) {
	requireRoot(t)
	awaitThreads(t)
	release := make(chan struct{})
	defer close(release)
	fake := newFakeProcess(t)
	fake.ownedBy(attacker)
	finder := NewFinderAt(fake.proc)
	hanging := inspectFake(t, finder)
	for range 2 * maxDelegates {
		d, err := hanging.newDelegate(t.Context())
		if err != nil {
			break
		}
		d.patience = time.Millisecond
		_, _ = ask(d, func(rootDirectory) (int, error) { <-release; return 0, nil })
		d.close()
	}
	fake.ownedBy(victim)
	requireDelegate(t, inspectFake(t, finder))
}

// Everybody waits while files are read for a process. Whose files take long is not waited for again and again.
func TestWaitingIsShared(t *testing.T) {
	requireRoot(t)
	awaitThreads(t)
	fake := newFakeProcess(t)
	fake.ownedBy(attacker)
	finder := fake.finderWith(quota.Waiting, 200)
	slow := inspectFake(t, finder)
	answered := 0
	for range 20 {
		d, err := slow.newDelegate(t.Context())
		if err != nil {
			if !errors.Is(err, ErrNotRead) {
				t.Error(err)
			}
			continue
		}
		_, _ = ask(d, func(rootDirectory) (int, error) { time.Sleep(50 * time.Millisecond); return 0, nil })
		d.close()
		answered++
	}
	if answered == 0 || answered > 3 { // the share of 100 ms is enough for two, and for one more as it is forgotten
		t.Errorf("%d were waited for", answered)
	}
	fake.ownedBy(victim)
	requireDelegate(t, inspectFake(t, finder))
}

// A delegate's identity is its thread's alone, and ends with it.
func TestDelegatesLeaveNoTrace(t *testing.T) {
	requireRoot(t)
	fake := newFakeProcess(t)
	fake.ownedBy(nobody)
	process := fake.inspect()
	for range 20 {
		d, err := process.newDelegate(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		status, err := ask(d, func(rootDirectory) (string, error) {
			text, err := os.ReadFile("/proc/thread-self/status")
			return string(text), err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{fmt.Sprintf("\nUid:\t0\t0\t0\t%d\n", nobody), fmt.Sprintf("\nGid:\t0\t0\t0\t%d\n", nobody), "\nGroups:\t \n", "\nCapEff:\t0000000000000000\n"} {
			if !strings.Contains(status, line) {
				t.Errorf("a delegate without %q: %s", line, status)
			}
		}
		d.close()
	}
	awaitOwnThreads(t) // a thread is still there for a moment after its goroutine
}

// identityOfThreads are the different identities of this process's threads.
func identityOfThreads(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil || len(paths) == 0 {
		t.Fatal(err)
	}
	var identities []string
	for _, path := range paths {
		if identity := identityOfThread(t, path); identity != "" {
			identities = append(identities, identity)
		}
	}
	slices.Sort(identities)
	return slices.Compact(identities)
}

// identityOfThread is that of a thread, by its status; "" if it has ended.
func identityOfThread(t *testing.T, status string) string {
	t.Helper()
	text, err := os.ReadFile(status)
	if err != nil {
		return ""
	}
	var identity strings.Builder
	for line := range strings.Lines(string(text)) {
		if key, _, _ := strings.Cut(line, ":"); slices.Contains([]string{"Uid", "Gid", "Groups", "CapEff"}, key) {
			identity.WriteString(line)
		}
	}
	return identity.String()
}

func TestParseFileIdentity(t *testing.T) {
	const user, group = "Tgid:\t1\nUid:\t1000\t1000\t1000\t1000\n", "Gid:\t100\t100\t100\t100\nGroups:\t4 24 4294967294 \n"
	const readsAll = 1 << unix.CAP_DAC_READ_SEARCH
	for text, expected := range map[string]identity.Identity{
		user + group: {User: 1000, Group: 100, Groups: []uint32{4, 24, 1<<32 - 2}},
		user + group + "CapEff:\t0000000000000004\n":                               {User: 1000, Group: 100, Groups: []uint32{4, 24, 1<<32 - 2}, Capabilities: readsAll},
		user + group + "CapEff:\t0000000000000002\n":                               {User: 1000, Group: 100, Groups: []uint32{4, 24, 1<<32 - 2}, Capabilities: readsAll},
		user + "Gid:\t0\t0\t0\t0\nGroups:\t\nCapEff:\t00000000a80425f9\n":          {User: 1000},
		"Tgid:\t1\nUid:\t1000\t0\t0\t0\n" + group:                                  {}, // set-user-ID
		user + "Gid:\t100\t100\t100\t5\nGroups:\t\n":                               {},
		"Tgid:\t1\n" + group:                                                       {},
		user:                                                                       {},
		user + "Gid:\t100\t100\t100\t100\nGroups:\tx\n":                            {},
		"Tgid:\t1\nUid:\t-1\t-1\t-1\t-1\n" + group:                                 {},
		"Tgid:\t1\nUid:\t4294967296\t4294967296\t4294967296\t4294967296\n" + group: {},
	} {
		found, err := parseFileIdentity([]byte(text))
		refused := expected.User == 0
		if (err != nil) != refused || !refused && (found.User != expected.User || found.Group != expected.Group ||
			!slices.Equal(found.Groups, expected.Groups) || found.Capabilities != expected.Capabilities) {
			t.Errorf("%q: %+v, %v", text, found, err)
		}
	}
}
