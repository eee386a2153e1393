package loader

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
)

// traceEventsTest starts a target, and a recording that attaches through trace events.
func traceEventsTest(t *testing.T) (of *target, library string, r *recording) {
	t.Helper()
	requireRoot(t)
	requireTracefs(t)
	library = buildLibrary(t, "libtracepoints.so")
	return startTargetWith(t, library), library, newRecording(t, way{options: Options{ForceTracefs: true}})
}

// TestChildrenInheritNoTraceEvents looks at what a child of the program would inherit while trace events are attached.
func TestChildrenInheritNoTraceEvents(t *testing.T) {
	target, library, r := traceEventsTest(t)
	attachment := r.attach(target.pid, target.callbackSites(library)...)
	for _, path := range descriptors(t, "/proc/self/fd") {
		if strings.Contains(path, "perf") {
			t.Errorf("children inherit %s", path)
		}
	}
	target.callbacks(10, 2)
	r.expectHits(target.pid, 20)
	closeAttachment(t, attachment)
	target.callbacks(10, 2)
	r.expectHits(target.pid, 20)
}

// TestPrivateDescriptorsAreFreed looks for descriptors that closing a loader leaves, in the tables of all threads.
func TestPrivateDescriptorsAreFreed(t *testing.T) {
	target, library, r := traceEventsTest(t)
	r.attach(target.pid, target.callbackSites(library)...)
	private := r.loader.attacher.(*tracefs).private
	if held := perfEvents(t, private); held == 0 {
		t.Error("the private table has no perf event")
	}
	if err := r.loader.Detach(); err != nil {
		t.Fatal(err)
	}
	if left := perfEvents(t, private); left > 0 {
		t.Errorf("%d perf events are left", left)
	}
}

// TestRuntimeOnThePrivateThread collects garbage there, among descriptors that have taken every free number: the
// runtime finds its own.
func TestRuntimeOnThePrivateThread(t *testing.T) {
	p, err := newPrivateDescriptors()
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = p.Close() }()
	err = p.do(func() error {
		for range 64 {
			if _, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
				return err
			}
		}
		for range 20 {
			runtime.GC()
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// perfEvents counts the perf events of a private table. It is read from another thread: a test notes what it opens in a
// file that the private table does not have.
func perfEvents(t *testing.T, p *privateDescriptors) (count int) {
	t.Helper()
	var thread int
	err := p.do(func() error {
		thread = unix.Gettid()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range descriptors(t, fmt.Sprintf("/proc/self/task/%d/fd", thread)) {
		if strings.Contains(path, "perf") {
			count++
		}
	}
	return count
}

// descriptors are what those of a table lead to.
func descriptors(t *testing.T, directory string) (paths []string) {
	t.Helper()
	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Error(err)
	}
	for _, entry := range entries {
		path, err := os.Readlink(filepath.Join(directory, entry.Name()))
		if err == nil { // that of the directory is closed by now
			paths = append(paths, path)
		}
	}
	return paths
}

// TestChildrenBeginWhileDetaching begins children all the time while a trace event of two sites comes and goes and is
// hit. Before Linux 6.6 a child that has it open when it is removed crashes the kernel.
func TestChildrenBeginWhileDetaching(t *testing.T) {
	target, library, r := traceEventsTest(t)
	sites := target.callbackSites(library)
	for i := range sites {
		sites[i].Event = abi.EventCallbackStart // one program and one cookie: one event
	}
	stop := make(chan struct{})
	var children sync.WaitGroup
	for range 2 {
		children.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					if err := exec.Command("/bin/true").Run(); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	const rounds, callbacks = 20, 10
	for range rounds {
		attachment := r.attach(target.pid, sites...)
		if got := len(attachment.links); got != 1 {
			t.Fatalf("%d events, want one for both sites", got)
		}
		target.callbacks(callbacks, 1)
		closeAttachment(t, attachment)
		target.callbacks(callbacks, 1)
	}
	close(stop)
	children.Wait()
	if got, want := r.hits(target.pid, abi.EventCallbackStart), 2*rounds*callbacks; got != want {
		t.Errorf("%d hits, want %d", got, want)
	}
}
