package recording

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestRingsThatAreNotNoted: one process shows so many intra-process subscriptions that there is no room for those of
// another. What is taken from these unseen is counted as lost.
func TestRingsThatAreNotNoted(t *testing.T) {
	requireRecording(t)
	n, release := startHeldNode(t, layout{standin.Humble, standin.FastDDS}, "--static-executor --rate 50 --intra-process")
	r := record(t, session.Configuration{PIDs: n.pidText()})
	fillMap(t, "subscription_rings")
	release()
	r.waitForMoreRows(trace.TableEnqueue, enough)
	data := r.stop()
	n.stop()
	lost := uint64(0)
	for _, loss := range data.Losses {
		if loss.Kind == trace.LostTake && loss.Reason == trace.LossMapFull {
			lost += loss.Count
		}
	}
	if lost == 0 {
		t.Errorf("%d enqueues, and nothing that was taken is lost", len(data.Enqueues))
	}
}

// fillMap fills a map, of addresses of processes, of a recording of this process.
func fillMap(t *testing.T, name string) {
	t.Helper()
	descriptors, err := filepath.Glob("/proc/self/fdinfo/*")
	if err != nil {
		t.Fatal(err)
	}
	filled := 0
	for _, path := range descriptors {
		id, ok := mapID(path)
		if !ok {
			continue
		}
		m, err := ebpf.NewMapFromID(id)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		info, err := m.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Name == "" || !strings.HasPrefix(name, info.Name) {
			continue
		}
		filled++
		value := make([]byte, m.ValueSize())
		for i := range m.MaxEntries() {
			err := m.Put([16]byte{byte(i), byte(i >> 8), byte(i >> 16), 1}, value)
			if err != nil && !errors.Is(err, ebpf.ErrKeyExist) {
				break // it is full
			}
		}
	}
	if filled == 0 {
		t.Fatalf("no map %s", name)
	}
}

// mapID returns which map a descriptor is of.
func mapID(fdinfo string) (id ebpf.MapID, ok bool) {
	file, err := os.Open(fdinfo)
	if err != nil {
		return 0, false // it is closed by now
	}
	defer func() { _ = file.Close() }()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if n, err := fmt.Sscanf(lines.Text(), "map_id: %d", &id); err == nil && n == 1 {
			return id, true
		}
	}
	return 0, false
}
