package session

import (
	"slices"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/distros"
	"github.com/caret-bpf/caret-bpf/entities"
	"github.com/caret-bpf/caret-bpf/merge"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
)

// A process of which memory was left out is scanned again, a few times, but not when the recording is over, and not
// while what was found last is still to take effect.
func TestPartialScansAreRepeated(t *testing.T) {
	for name, test := range map[string]struct {
		scanned scanned
		closed  bool
		running bool
		want    bool
	}{
		"not scanned yet":             {want: true},
		"it is being scanned":         {running: true},
		"wholly":                      {scanned: scanned{begun: true}},
		"partly":                      {scanned: scanned{begun: true, partial: true}, want: true},
		"partly for the last time":    {scanned: scanned{begun: true, partial: true, repeats: maxRepeats}},
		"partly, and nobody will ask": {scanned: scanned{begun: true, partial: true}, closed: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScans(datasetClock{}, nil, merge.New(merge.Options{}), nil, newJournal(Observer{}))
			s.closed = test.closed
			entry := &process{scanned: test.scanned}
			if test.running {
				s.running[entry] = func() {}
			}
			if got := s.wants(entry); got != test.want {
				t.Errorf("wanted: %v", got)
			}
		})
	}
}

// Those that want a scan all the time do not keep others of their user from having one, whatever their PIDs are.
func TestScansTakeTurns(t *testing.T) {
	now := time.Now()
	all := newProcesses(datasetClock{}, nil, newJournal(Observer{}))
	for pid, of := range map[int32]struct {
		user uint32
		ago  time.Duration // since its pause was over; none if it was not scanned
	}{
		1: {user: 1000, ago: time.Second},
		2: {user: 1000, ago: 2 * time.Second},
		3: {user: 1000},
		4: {user: 1001, ago: time.Second},
	} {
		entry := &process{
			ros2: true, recorded: true, payer: of.user, target: &target.Process{Distro: distros.Humble},
			row: trace.Process{ProcessKey: trace.ProcessKey{PID: pid}},
		}
		if of.ago != 0 {
			entry.scanned = scanned{begun: true, pause: now.Add(-of.ago)}
		}
		all.byPID[pid] = entry
	}
	s := newScans(datasetClock{}, all, nil, nil, nil)
	s.spent[1000] = time.Second
	s.lineUp()
	var order []int32
	for _, entry := range s.waiting {
		order = append(order, entry.row.PID)
	}
	if want := []int32{4, 3, 2, 1}; !slices.Equal(order, want) {
		t.Errorf("in the order %v, want %v", order, want)
	}
}

// Memory is searched of one process at a time, of as many as there is room for, and of none that has ended since it was
// lined up.
func TestNextScanHasRoom(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(*scans, *process)
		waits   bool
	}{
		"another one is searched": {func(s *scans, _ *process) { s.unsearched.Add(1) }, true},
		"too many are to take effect": {func(s *scans, _ *process) {
			for range scansAtOnce {
				s.running[new(process)] = func() {}
			}
		}, true},
		"it has ended":                 {func(_ *scans, p *process) { p.ended = true }, false},
		"it is not opened any more":    {func(_ *scans, p *process) { p.target = nil }, false},
		"it is left alone for a while": {func(_ *scans, p *process) { p.scanned.pause = time.Now().Add(time.Hour) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			all := newProcesses(datasetClock{}, nil, newJournal(Observer{}))
			entry := &process{ros2: true, recorded: true, target: &target.Process{Distro: distros.Humble}}
			all.byPID[1] = entry
			s := newScans(datasetClock{}, all, nil, nil, nil)
			s.lineUp()
			test.prepare(s, entry)
			s.next(t.Context())
			if waits := len(s.waiting) == 1; waits != test.waits || s.running[entry] != nil {
				t.Errorf("it waits: %v, it is scanned: %v", waits, s.running[entry] != nil)
			}
		})
	}
}

// Processes that were scanned before leave time between their scans, which one that was not does not wait for.
func TestRepeatedScansLeaveTime(t *testing.T) {
	const took = time.Hour
	for name, test := range map[string]struct {
		former  scanResult
		scanned scanned
		begins  bool
	}{
		"again behind one again":        {scanResult{repeated: true, took: took}, scanned{begun: true, partial: true}, false},
		"for the first time":            {scanResult{repeated: true, took: took}, scanned{}, true},
		"again behind one that was not": {scanResult{took: took}, scanned{begun: true, partial: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			all := newProcesses(datasetClock{}, nil, newJournal(Observer{}))
			p, err := target.NewFinder().Inspect(t.Context(), int32(startSleeping(t).Process.Pid))
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			p.Distro = distros.Humble
			entry := &process{ros2: true, recorded: true, target: p, scanned: test.scanned}
			all.byPID[p.PID] = entry
			s := newScans(datasetClock{}, all, merge.New(merge.Options{}), entities.NewLayouts(), newJournal(Observer{}))
			test.former.entry = new(process)
			s.running[test.former.entry] = func() {}
			s.apply(test.former)
			s.lineUp()
			s.next(t.Context())
			begins := entry.scanned != test.scanned
			s.stop(entry)
			if begins != test.begins {
				t.Errorf("it begins: %v", begins)
			}
		})
	}
}
