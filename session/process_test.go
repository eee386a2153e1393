package session

import (
	"os"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/entities"
	"github.com/caret-bpf/caret-bpf/merge"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
)

// The kernel may tell of a process's exit while the process is looked at once more: the look must not make it run on.
func TestDescribingAProcessAnewKeepsItsExit(t *testing.T) {
	p, err := target.NewFinder().Inspect(t.Context(), int32(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	entry := newProcess(p)
	entry.row.RecordingStartTimestamp, entry.row.RecordingEndTimestamp = trace.Some(int64(5)), trace.Some(int64(7))
	entry.row.Exited = true
	p.RMW = "rmw_cyclonedds_cpp"
	entry.describeAnew()
	want := describe(p)
	want.RecordingStartTimestamp, want.RecordingEndTimestamp, want.Exited = trace.Some(int64(5)), trace.Some(int64(7)), true
	if entry.row != want {
		t.Errorf("got %+v, want %+v", entry.row, want)
	}
}

// Of a process that has ended the last records are still to be read: it is forgotten later.
func TestProcessesThatEndedLongAgoAreForgotten(t *testing.T) {
	now := time.Now()
	f := followerOfAll()
	f.processes.byPID = map[int32]*process{
		1: {},
		2: {ended: true, endedAt: now.Add(-afterlife / 2)},
		3: {ended: true, endedAt: now.Add(-2 * afterlife)},
	}
	for pid, entry := range f.processes.byPID {
		entry.row.ProcessKey = trace.ProcessKey{PID: pid}
		f.merger.Introduce(pid, func() *merge.Process {
			return &merge.Process{Key: entry.row.ProcessKey, Graph: entities.New(entry.row.ProcessKey)}
		})
	}
	f.forgetLongEnded(now)
	for pid, want := range map[int32]bool{1: true, 2: true, 3: false} {
		merged := false
		_ = f.merger.Update(trace.ProcessKey{PID: pid}, func(*merge.Process) error {
			merged = true
			return nil
		})
		if _, listed := f.processes.byPID[pid]; listed != want || merged != want {
			t.Errorf("process %d: known to the session %v, to the merger %v, want %v", pid, listed, merged, want)
		}
	}
}

// That a process was over is seen before the record of its begin is read: it is no other one with its PID, and is
// forgotten in its time.
func TestBeginThatIsReadAfterTheEnd(t *testing.T) {
	const tick = 10_000_000
	for name, test := range map[string]struct {
		begins int64
		known  bool
	}{
		"its own":                 {5 * tick, true},
		"of another with its PID": {9 * tick, false},
	} {
		t.Run(name, func(t *testing.T) {
			entry := &process{ended: true, row: trace.Process{ProcessKey: trace.ProcessKey{PID: 7, ProcessStart: 5 * tick}}}
			table := newProcesses(datasetClock{}, nil, nil)
			table.put(entry)
			record := abi.ProcessRecord{StartBoottimeNs: uint64(test.begins)}
			record.Header.PID, record.Header.Status = 7, abi.ProcessFork
			newAnnounced(datasetClock{}, table, new(mappings), new(strangers), newLooks()).onProcess(record)
			if known := table.find(7) == entry; known != test.known || len(table.gone) == 1 == test.known {
				t.Errorf("known: %v, %d are gone", known, len(table.gone))
			}
		})
	}
}

// TestProgramsThatNobodySaw: a process that runs another program and ends before anybody looks has no other name in its
// last row than the kernel told, and nothing of its former program.
func TestProgramsThatNobodySaw(t *testing.T) {
	const pid, start = 7, 10_000_000
	seen := trace.Process{
		ProcessKey: trace.ProcessKey{PID: pid, ProcessStart: start}, Command: "sh", Executable: "/bin/sh", CommandLine: "sh -c talker", Distro: "humble",
	}
	unseen := trace.Process{ProcessKey: seen.ProcessKey, Command: "talker"}
	for name, test := range map[string]struct {
		at   int64 // when the program began; the row was made at 100
		want trace.Process
	}{
		"after the look":  {101, unseen},
		"before the look": {99, seen},
	} {
		t.Run(name, func(t *testing.T) {
			entry := &process{row: seen, described: 100}
			all := newProcesses(datasetClock{}, nil, newJournal(Observer{}))
			all.put(entry)
			a := newAnnounced(datasetClock{}, all, new(mappings), &strangers{starts: new(recentStarts)}, newLooks())
			record := abi.ProcessRecord{Header: abi.RecordHeader{PID: pid, Status: abi.ProcessExec}, StartBoottimeNs: start, TimeNs: uint64(test.at)}
			copy(record.Command[:], "talker")
			a.onProcess(record)
			record.Header.Status, record.TimeNs = abi.ProcessExit, 200
			a.onProcess(record)
			test.want.Exited, test.want.RecordingEndTimestamp = true, trace.Some[int64](200)
			if entry.row != test.want {
				t.Errorf("%+v, want %+v", entry.row, test.want)
			}
		})
	}
}
