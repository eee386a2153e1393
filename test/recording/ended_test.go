package recording

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/trace"
)

// kernelLinks is how many links and trace events this program holds. Before Linux 6.6 they are in a table of
// descriptors that only one thread has.
func kernelLinks(t *testing.T) (links int) {
	t.Helper()
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	var counted []int // a thread of each table
	for _, entry := range threads {
		thread, err := strconv.Atoi(entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(counted, func(other int) bool { return shareDescriptors(t, thread, other) }) {
			continue
		}
		counted = append(counted, thread)
		files, _ := filepath.Glob(filepath.Join("/proc/self/task", entry.Name(), "fd/*")) // none if it has ended
		for _, file := range files {
			to, _ := os.Readlink(file)
			if strings.Contains(to, "bpf_link") || strings.Contains(to, "perf_event") {
				links++
			}
		}
	}
	return links
}

// shareDescriptors reports whether two threads have one table of descriptors, or one of them has ended (kcmp(2)).
func shareDescriptors(t *testing.T, one, other int) bool {
	t.Helper()
	const kcmpFiles = 2 // KCMP_FILES
	order, _, err := unix.Syscall6(unix.SYS_KCMP, uintptr(one), uintptr(other), kcmpFiles, 0, 0, 0)
	if err != 0 && err != unix.ESRCH {
		t.Fatal("kcmp: ", err)
	}
	return err == unix.ESRCH || order == 0
}

// TestProbesOfEndedProcesses: what was probed for one process alone is detached when it has ended, while the recording
// goes on. Left, each probe would make the hits of its site dearer in all processes.
func TestProbesOfEndedProcesses(t *testing.T) {
	requireRecording(t)
	prefix := uniqueName("short")
	stays := startReadyNode(t, oneLayout, "--rate 50 --nodes 1 --prefix "+prefix)
	r := record(t, session.Configuration{Name: prefix})
	r.waitForRows(trace.TableCallback, enough)
	before := kernelLinks(t)
	const others = 3
	var nodes []*node
	for range others {
		nodes = append(nodes, startReadyNode(t, oneLayout, "--rate 50 --nodes 1 --prefix "+prefix))
	}
	await := func(what string, wanted func(links int) bool) {
		t.Helper()
		links := 0
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			if links = kernelLinks(t); wanted(links) {
				return
			}
		}
		t.Errorf("%s: %d links, %d before", what, links, before)
	}
	await("while they run", func(links int) bool { return links >= before+others })
	for _, n := range nodes {
		n.stop()
	}
	await("when they have ended", func(links int) bool { return links <= before })
	data := r.stop()
	truth := stays.stop()
	requireExactProcess(t, data, truth, r.span(data, truth.Header.PID), oracle.Circumstances{Found: true})
}

// endedPidfds is how many descriptors this process holds of processes that have ended.
func endedPidfds(t *testing.T) (ended int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fdinfo")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		text, _ := os.ReadFile(filepath.Join("/proc/self/fdinfo", entry.Name()))
		if strings.Contains(string(text), "Pid:\t-1\n") {
			ended++
		}
	}
	return ended
}

// TestStrangersThatEndAreLetGo: of a process that is nothing of ROS 2, whose end the kernel side does not tell, nothing
// is held when it has ended, although nobody looks at it any more by then.
func TestStrangersThatEndAreLetGo(t *testing.T) {
	requireRecording(t)
	requireLong(t)
	r := record(t, session.Configuration{All: true})
	const strangers = 5
	var programs []*exec.Cmd
	for range strangers {
		program := exec.Command("sleep", "8") // longer than it is young
		if err := program.Start(); err != nil {
			t.Fatal(err)
		}
		programs = append(programs, program)
	}
	for _, program := range programs {
		if err := program.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	held := 0
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if held = endedPidfds(t); held < strangers {
			break
		}
	}
	if held >= strangers {
		t.Errorf("%d processes that have ended are held", held)
	}
	r.stop()
}
