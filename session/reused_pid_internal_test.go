package session

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/merge"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestExitOfTheFormer: a process has got the PID of another one, and was met, before the exit of that one is read.
func TestExitOfTheFormer(t *testing.T) {
	const pid, formerStart, start, exit = 7, 10_000_000, 50_000_000, 49_000_000
	key := func(start int64) trace.ProcessKey { return trace.ProcessKey{PID: pid, ProcessStart: start} }
	former := &process{row: trace.Process{ProcessKey: key(formerStart)}}
	present := &process{row: trace.Process{ProcessKey: key(start)}}
	all := newProcesses(datasetClock{}, nil, newJournal(Observer{}))
	all.put(former)
	all.put(present)
	a := newAnnounced(datasetClock{}, all, new(mappings), new(recentStarts), newLooks())
	a.onProcess(abi.ProcessRecord{
		Header: abi.RecordHeader{PID: pid, Status: abi.ProcessExit}, StartBoottimeNs: formerStart, TimeNs: exit,
	})
	if present.ended || !former.ended || former.row.RecordingEndTimestamp != trace.Some[int64](exit) {
		t.Errorf("present ended: %v; former ended: %v at %v", present.ended, former.ended, former.row.RecordingEndTimestamp)
	}
	a.onProcess(abi.ProcessRecord{
		Header: abi.RecordHeader{PID: pid, Status: abi.ProcessFork}, StartBoottimeNs: start, TimeNs: start,
	})
	if present.ended || all.find(pid) != present {
		t.Error("the present one is no more when its begin is read")
	}
}

// TestRecordsOfTheFormer: a process was announced and is over, and another one has its PID. What is read next is of the
// former one, as long as it can be.
func TestRecordsOfTheFormer(t *testing.T) {
	now := readClock(unix.CLOCK_MONOTONIC)
	for name, test := range map[string]struct {
		announced time.Duration // before now
		others    int64         // how much earlier than the process the announced one began; 0: it is the process
		former    bool
	}{
		"it was announced":               {time.Second, 0, false},
		"another one was, just before":   {time.Second, 1_000_000_000, true},
		"another one was, long before":   {time.Minute, 1_000_000_000, false},
		"it was itself, long before now": {time.Minute, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			pid := int32(startSleeping(t).Process.Pid)
			s := strangersOf(&compiled{Configuration: Configuration{All: true}}, nil)
			defer s.processes.close()
			start, err := s.finder.StartTime(pid)
			if err != nil {
				t.Fatal(err)
			}
			s.starts.note(pid, processStart{start - test.others, "former", now - int64(test.announced)})
			turns := newTurns(roundTime)
			a := &admission{
				configuration: s.configuration, finder: s.finder, merger: merge.New(merge.Options{}), processes: s.processes, memories: s.memories,
				looks: s.looks, starts: s.starts, turns: &turns, journal: s.journal,
			}
			if entry := a.meet(t.Context(), pid); (entry == nil) != test.former {
				t.Errorf("met: %v", entry != nil)
			}
			merged := s.identify(pid)
			want := start
			if test.former {
				want -= test.others
			}
			if merged.Key.ProcessStart != want {
				t.Errorf("its records are said to be of a process that began at %d, want %d", merged.Key.ProcessStart, want)
			}
		})
	}
}
