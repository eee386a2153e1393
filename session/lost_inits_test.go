package session

import (
	"errors"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/entities"
	"github.com/caret-bpf/caret-bpf/merge"
	"github.com/caret-bpf/caret-bpf/trace"
	"golang.org/x/sys/unix"
)

// TestLostInitsAreNoticed: what is lost between two looks casts doubt on what was known before, and only that.
func TestLostInitsAreNoticed(t *testing.T) {
	const publisher = 0x1000
	for name, test := range map[string]struct {
		counts []uint64
		known  bool
	}{
		"nothing was lost":            {[]uint64{0, 0}, true},
		"lost before it was known":    {[]uint64{3, 3}, true},
		"lost since it was known":     {[]uint64{0, 1}, false},
		"lost before, and once again": {[]uint64{3, 4}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var lost lostInits
			look := func(count uint64) func(*merge.Merger) {
				doubt, err := lost.look(func() (uint64, error) { return count, nil })
				if err != nil {
					t.Fatal(err)
				}
				return doubt
			}
			key := trace.ProcessKey{PID: 1}
			known := entities.New(key)
			m := merge.New(merge.Options{})
			m.AddIfAbsent(1, func() *merge.Process { return &merge.Process{Key: key, Graph: known} })
			look(test.counts[0])(m)
			known.Init(entities.InitEvent{
				Event: abi.EventRclPublisherInit, Time: readClock(unix.CLOCK_MONOTONIC), Arguments: [6]uint64{publisher}, String1: "/chatter",
			})
			look(test.counts[1])(m)
			if _, ok := known.Publisher(publisher, readClock(unix.CLOCK_MONOTONIC)); ok != test.known {
				t.Errorf("known: %v, want %v", ok, test.known)
			}
		})
	}
	failed := errors.New("no counter")
	if _, err := new(lostInits).look(func() (uint64, error) { return 0, failed }); !errors.Is(err, failed) {
		t.Errorf("error %v", err)
	}
}

// steadyMemory reads the same everywhere.
type steadyMemory struct{ understoodMemory }

func (steadyMemory) ReadAt(p []byte, _ uint64) error {
	for i := range p {
		p[i] = 1
	}
	return nil
}

// What is read of a process's memory counts for nothing if initialization events were lost since the last look, until
// the next look has told the merger.
func TestMemoryIsNotReadAfterALoss(t *testing.T) {
	var lost lostInits
	count := uint64(3)
	ask := func() (uint64, error) { return count, nil }
	memory := watchedMemory{steadyMemory{}, func() bool { return lost.meanwhile(ask) }}
	look := func() {
		if _, err := lost.look(ask); err != nil {
			t.Fatal(err)
		}
	}
	var word [8]byte
	look()
	if err := memory.ReadAt(word[:], 0x1000); err != nil || word[0] != 1 {
		t.Errorf("before: %v", err)
	}
	count++
	if err := memory.ReadAt(word[:], 0x1000); !errors.Is(err, errLostMeanwhile) {
		t.Errorf("after a loss: %v", err)
	}
	look()
	if err := memory.ReadAt(word[:], 0x1000); err != nil {
		t.Errorf("after it was told: %v", err)
	}
}
