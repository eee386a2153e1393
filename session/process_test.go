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

// A program that ends before anybody looks at it has its own name, and nothing of the program that the process ran
// before.
func TestProgramsNobodyHasLookedAt(t *testing.T) {
	shell := trace.Process{ProcessKey: trace.ProcessKey{PID: 1, ProcessStart: 7}, Command: "sh", Executable: "/usr/bin/dash", CommandLine: "sh brief.sh"}
	node := trace.Process{ProcessKey: shell.ProcessKey, Command: "node", Executable: "/opt/node", CommandLine: "/opt/node --flag"}
	for name, test := range map[string]struct {
		known   trace.Process
		ros2    bool
		start   int64
		program bool
		want    trace.Process
	}{
		"another program":           {shell, false, 7, true, trace.Process{ProcessKey: shell.ProcessKey, Command: "node"}},
		"it was looked at already":  {node, false, 7, true, node},
		"the former ran ROS 2":      {shell, true, 7, true, shell},
		"a child":                   {shell, false, 7, false, shell},
		"another one with that PID": {shell, false, 8, true, shell},
	} {
		t.Run(name, func(t *testing.T) {
			p := followerOfAll().processes
			entry := &process{row: test.known, told: test.known, ros2: test.ros2}
			p.byPID[1] = entry
			p.noteBegin(1, test.start, 100, test.program, "node")
			got := entry.row
			got.RecordingEndTimestamp, got.Exited = test.want.RecordingEndTimestamp, false
			if got != test.want {
				t.Errorf("%+v, not %+v", got, test.want)
			}
		})
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
		f.merger.AddIfAbsent(pid, func() *merge.Process {
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

// TestBeginsThatAreRead: a process may have ended before its begin is read, and another one may have got its PID
// although nothing has told that it has ended.
func TestBeginsThatAreRead(t *testing.T) {
	const tick = 10_000_000
	for name, test := range map[string]struct {
		ended  bool
		status uint8
		begins int64
		known  bool // that it is known still
	}{
		"its own, after its end":        {true, abi.ProcessFork, 5 * tick, true},
		"of another, after its end":     {true, abi.ProcessFork, 9 * tick, false},
		"its own":                       {false, abi.ProcessExec, 5 * tick, true},
		"of another, instead of an end": {false, abi.ProcessExec, 9 * tick, false},
	} {
		t.Run(name, func(t *testing.T) {
			entry := &process{ended: test.ended, row: trace.Process{ProcessKey: trace.ProcessKey{PID: 7, ProcessStart: 5 * tick}}}
			table := newProcesses(datasetClock{}, nil, nil)
			table.put(entry)
			record := abi.ProcessRecord{StartBoottimeNs: uint64(test.begins)}
			record.Header.PID, record.Header.Status = 7, test.status
			newAnnounced(datasetClock{}, table, new(mappings), new(recentStarts), newLooks()).onProcess(record)
			if known := table.find(7) == entry; known != test.known || len(table.gone) == 1 == test.known || entry.ended != (test.ended || !test.known) {
				t.Errorf("known: %v, ended: %v, %d are gone", known, entry.ended, len(table.gone))
			}
			if entry.forgotten != (test.known && test.status == abi.ProcessExec) {
				t.Errorf("forgotten: %v", entry.forgotten)
			}
		})
	}
}
