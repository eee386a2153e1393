package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"github.com/caret-bpf/caret-bpf/test/standin"
)

// held are the numbers of what a process holds of the kernel, by kind.
type held map[string]map[uint32]bool

// heldBy looks at the descriptors of all threads of a process: before Linux 6.6 links are held by one alone.
func heldBy(t *testing.T, pid int) held {
	t.Helper()
	all := held{"map_id": {}, "prog_id": {}, "link_id": {}}
	descriptors, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/fdinfo/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range descriptors {
		file, err := os.Open(path)
		if err != nil {
			continue // it is closed by now
		}
		for lines := bufio.NewScanner(file); lines.Scan(); {
			var kind string
			var id uint32
			if n, _ := fmt.Sscanf(lines.Text(), "%s %d", &kind, &id); n == 2 && len(kind) > 1 && all[kind[:len(kind)-1]] != nil {
				all[kind[:len(kind)-1]][id] = true
			}
		}
		_ = file.Close()
	}
	return all
}

// left counts what of it the kernel still has.
func (h held) left() map[string]int {
	finders := map[string]func(id uint32) (interface{ Close() error }, error){
		"map_id":  func(id uint32) (interface{ Close() error }, error) { return ebpf.NewMapFromID(ebpf.MapID(id)) },
		"prog_id": func(id uint32) (interface{ Close() error }, error) { return ebpf.NewProgramFromID(ebpf.ProgramID(id)) },
		"link_id": func(id uint32) (interface{ Close() error }, error) { return link.NewFromID(link.ID(id)) },
	}
	left := map[string]int{}
	for kind, ids := range h {
		for id := range ids {
			found, err := finders[kind](id)
			if err == nil {
				_ = found.Close()
			}
			if !errors.Is(err, os.ErrNotExist) {
				left[kind]++
			}
		}
	}
	return left
}

// A recorder that ends, by itself or killed, leaves no program, map or link in the kernel.
func TestEndedRecorderLeavesNothing(t *testing.T) {
	requireRecording(t)
	node := standin.StartReady(t, standin.Config{Distro: standin.Jazzy, RMW: standin.CycloneDDS, Arguments: []string{"--rate", "50"}})
	for name, signal := range map[string]syscall.Signal{"interrupted": syscall.SIGINT, "killed": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			r := startRecorder(t, "-p", fmt.Sprint(node.PID()), "-o", filepath.Join(t.TempDir(), "rec"))
			r.waitFor("recording to")
			kept := heldBy(t, r.command.Process.Pid)
			if there := kept.left(); there["map_id"] == 0 || there["prog_id"] == 0 || there["link_id"] == 0 {
				t.Fatalf("while it records there are %v", there)
			}
			r.signal(signal)
			r.exitCode()
			for deadline := time.Now().Add(time.Minute); len(kept.left()) > 0; time.Sleep(20 * time.Millisecond) { // the kernel may take a moment
				if time.Now().After(deadline) {
					t.Fatalf("left are %v", kept.left())
				}
			}
		})
	}
	node.Stop()
}
