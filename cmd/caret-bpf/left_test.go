package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"github.com/caret-bpf/caret-bpf/test/standin"
)

// present is what there is on this machine that recorders leave behind if they leave anything.
type present struct {
	kernel   held         // programs, maps and links, whoever holds them
	programs map[int]bool // processes that run this program
}

func lookAround(t *testing.T) present {
	t.Helper()
	now := present{held{"map_id": {}, "prog_id": {}, "link_id": {}}, map[int]bool{}}
	for id, err := ebpf.MapGetNextID(0); ; id, err = ebpf.MapGetNextID(id) {
		if !isNext(t, err) {
			break
		}
		now.kernel["map_id"][uint32(id)] = true
	}
	for id, err := ebpf.ProgramGetNextID(0); ; id, err = ebpf.ProgramGetNextID(id) {
		if !isNext(t, err) {
			break
		}
		now.kernel["prog_id"][uint32(id)] = true
	}
	links := new(link.Iterator)
	defer links.Close()
	for links.Next() {
		now.kernel["link_id"][uint32(links.ID)] = true
	}
	if err := links.Err(); err != nil {
		t.Fatal(err)
	}
	own, err := os.Stat("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range allProcesses(t) {
		if program, err := os.Stat(fmt.Sprintf("/proc/%d/exe", pid)); err == nil && os.SameFile(program, own) {
			now.programs[pid] = true
		}
	}
	return now
}

// isNext reports whether there is another object of the kernel's.
func isNext(t *testing.T, err error) bool {
	t.Helper()
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

func allProcesses(t *testing.T) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// requireNothingLeft requires that nothing is left of a recorder that began after a look around, and is over. The
// kernel may take a moment. What other processes hold that still run is theirs, but none of them may run this program.
func requireNothingLeft(t *testing.T, before present, recorder int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		left := lookAround(t).since(before)
		if len(left) > 0 {
			left = left.without(t)
		}
		if len(left) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the recorder has left %v", left)
		}
	}
	for _, root := range []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"} {
		events, _ := os.ReadFile(filepath.Join(root, "uprobe_events")) // where there is none, none can be left
		if strings.Contains(string(events), fmt.Sprintf("caret_bpf_%d_", recorder)) {
			t.Errorf("trace events are left:\n%s", events)
		}
	}
}

// A recorder that still runs is seen: its process, and what it has in the kernel.
func TestWhatIsLeftIsSeen(t *testing.T) {
	requireRecording(t)
	node := standin.StartReady(t, standin.Config{Distro: standin.Jazzy, RMW: standin.CycloneDDS, Arguments: []string{"--rate", "50"}})
	before := lookAround(t)
	r := startRecorder(t, "-p", fmt.Sprint(node.PID()), "-o", filepath.Join(t.TempDir(), "recording"))
	r.waitFor("recording to")
	came := lookAround(t).since(before)
	for _, kind := range []string{"map_id", "prog_id", "link_id", "process"} {
		if len(came[kind]) == 0 {
			t.Errorf("no %s is seen: %v", kind, came)
		}
	}
	// What the recorder has closed the kernel may still have.
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		rest := lookAround(t).since(before).without(t)
		if len(rest) == 1 && len(rest["process"]) > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("nobody holds %v", rest)
		}
	}
	r.signal(syscall.SIGINT)
	r.exitCode()
	requireNothingLeft(t, before, r.command.Process.Pid)
	node.Stop()
}

// leftovers are kinds of things with the number of each.
type leftovers map[string][]uint32

func (p present) since(before present) leftovers {
	came := leftovers{}
	for kind, ids := range p.kernel {
		for id := range ids {
			if !before.kernel[kind][id] {
				came[kind] = append(came[kind], id)
			}
		}
	}
	for pid := range p.programs {
		if !before.programs[pid] {
			came["process"] = append(came["process"], uint32(pid))
		}
	}
	return came
}

// without leaves out what living processes hold.
func (l leftovers) without(t *testing.T) leftovers {
	t.Helper()
	others := held{"map_id": {}, "prog_id": {}, "link_id": {}}
	for _, pid := range allProcesses(t) {
		for kind, ids := range heldBy(t, pid) {
			for id := range ids {
				others[kind][id] = true
			}
		}
	}
	rest := leftovers{}
	for kind, ids := range l {
		for _, id := range ids {
			if !others[kind][id] {
				rest[kind] = append(rest[kind], id)
			}
		}
	}
	return rest
}
