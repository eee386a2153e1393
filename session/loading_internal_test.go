package session

import (
	"testing"

	"golang.org/x/sys/unix"
)

// When a recording begins that selects by name, all processes are looked at but those that were just attached to, and
// have long mapped their libraries.
func TestLookForLoading(t *testing.T) {
	named, err := (Configuration{Name: "sleep", Output: t.TempDir()}).compile()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		recorded, old bool
		want          bool
	}{
		"recorded, and old":   {recorded: true, old: true},
		"recorded, and young": {recorded: true, want: true},
		"not recorded":        {old: true, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			pid := int32(startSleeping(t).Process.Pid)
			s := strangersOf(named, nil)
			defer s.processes.close()
			found, err := s.finder.Inspect(t.Context(), pid)
			if err != nil {
				t.Fatal(err)
			}
			entry := &process{target: found, recorded: test.recorded}
			entry.row.PID = pid
			if !test.old {
				entry.row.ProcessStart = readClock(unix.CLOCK_BOOTTIME)
			}
			s.processes.byPID[pid] = entry
			f := &follower{configuration: named, finder: s.finder, processes: s.processes, looks: s.looks, journal: s.journal}
			f.lookForLoading()
			asked := map[int32]bool{}
			for next, ok := s.looks.next(); ok; next, ok = s.looks.next() {
				asked[next] = true
			}
			if asked[pid] != test.want || !asked[1] {
				t.Errorf("looked at: %v; of %d processes, PID 1 %v", asked[pid], len(asked), asked[1])
			}
		})
	}
}
