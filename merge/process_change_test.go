package merge_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/entities"
	"github.com/caret-bpf/caret-bpf/merge"
	"github.com/caret-bpf/caret-bpf/trace"
)

// start is when the processes of these tests started, to the resolution of /proc.
const start = 120_000_000

func processChange(status uint8, startBoottime uint64) []byte {
	return encode(abi.ProcessRecord{Header: header(abi.KindProcess, status, 0), StartBoottimeNs: startBoottime})
}

// identified returns options with which a process gets the start time that is next in the list.
func identified(starts ...int64) merge.Options {
	return merge.Options{Identify: func(pid int32) *merge.Process {
		key := trace.ProcessKey{BootID: "boot", PID: pid, ProcessStart: starts[0]}
		starts = starts[1:]
		return &merge.Process{Key: key, Graph: entities.New(key)}
	}}
}

func TestProcessChanges(t *testing.T) {
	for name, test := range map[string]struct {
		change    []byte
		wantTopic string
		wantStart int64
	}{
		"an exec ends the entities, not the process":         {processChange(abi.ProcessExec, start+9_999_999), "", start},
		"an exec of another process with the PID":            {processChange(abi.ProcessExec, start+10_000_000), "", 2 * start},
		"a fork with a PID that another process had":         {processChange(abi.ProcessFork, 2*start), "", 2 * start},
		"a fork that is known already":                       {processChange(abi.ProcessFork, start), "/in", start},
		"an exit of another process that had the PID":        {processChange(abi.ProcessExit, start-10_000_000), "/in", start},
		"an exit, after which other threads have their ends": {processChange(abi.ProcessExit, start), "/in", start},
	} {
		t.Run(name, func(t *testing.T) {
			records := append(append(announcedEntities(), test.change), fedCallback(0x30))
			rows := feed(t, identified(start, 2*start), records...)
			if len(rows.Callbacks) != 1 {
				t.Fatalf("rows %+v", rows)
			}
			row := rows.Callbacks[0]
			if row.TopicName != test.wantTopic || row.ProcessStart != test.wantStart {
				t.Errorf("topic %q, process of %d; not %q, %d", row.TopicName, row.ProcessStart, test.wantTopic, test.wantStart)
			}
		})
	}
}

// TestUnwantedProcesses requires that nothing is told of a process that is not wanted, until it runs another program or
// somebody introduces it.
func TestUnwantedProcesses(t *testing.T) {
	for name, test := range map[string]struct {
		then func(m *merge.Merger) error
		want int
	}{
		"nothing happens":         {func(*merge.Merger) error { return nil }, 0},
		"it executes a program":   {func(m *merge.Merger) error { return m.Record(processChange(abi.ProcessExec, start)) }, 1},
		"it is forgotten":         {func(m *merge.Merger) error { m.ForgetUnwanted(); return nil }, 1},
		"somebody introduces one": {func(m *merge.Merger) error { m.AddIfAbsent(7, wantedProcess); return nil }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			unwanted := true
			recorded := 0
			m := newMerger(merge.Options{
				Identify: func(int32) *merge.Process {
					process := wantedProcess()
					process.Unwanted, unwanted = unwanted, false
					return process
				},
				OnRecorded: func(trace.ProcessKey) { recorded++ },
			})
			for _, record := range append(announcedEntities(), fedCallback(0x30)) {
				if err := m.Record(record); err != nil {
					t.Fatal(err)
				}
			}
			// It was taken off the kernel's list in the middle of a callback.
			if err := m.CloseThread(encode(abi.ThreadState{PID: 7, TID: 8, Depth: 1})); err != nil {
				t.Fatal(err)
			}
			if recorded != 0 {
				t.Error("it is told that there is a record")
			}
			if err := test.then(m); err != nil {
				t.Fatal(err)
			}
			if err := m.Record(fedCallback(0x30)); err != nil {
				t.Fatal(err)
			}
			if err := m.Take(func(rows *trace.Batch) error {
				if len(rows.Callbacks) != test.want || len(rows.Nodes) != 0 {
					t.Errorf("%d callbacks, %d nodes", len(rows.Callbacks), len(rows.Nodes))
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if recorded != test.want {
				t.Errorf("recorded: %d", recorded)
			}
		})
	}
}

func wantedProcess() *merge.Process {
	key := trace.ProcessKey{BootID: "boot", PID: 7, ProcessStart: start}
	return &merge.Process{Key: key, Graph: entities.New(key)}
}

// TestEntitiesOfAFormerProgramAreTold requires that what is known of a program is told when another one takes its
// place.
func TestEntitiesOfAFormerProgramAreTold(t *testing.T) {
	for name, change := range map[string][]byte{
		"exec": processChange(abi.ProcessExec, start), "fork": processChange(abi.ProcessFork, 2*start),
	} {
		t.Run(name, func(t *testing.T) {
			m := newMerger(identified(start, 2*start))
			for _, record := range append(announcedEntities(), change) {
				if err := m.Record(record); err != nil {
					t.Fatal(err)
				}
			}
			if err := m.Take(func(rows *trace.Batch) error {
				if len(rows.Nodes) != 1 || len(rows.Publishers) != 1 || len(rows.Timers) != 1 || len(rows.Subscriptions) != 1 {
					t.Errorf("%d nodes, %d publishers, %d timers, %d subscriptions", len(rows.Nodes), len(rows.Publishers), len(rows.Timers), len(rows.Subscriptions))
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestIgnoredAddressesEndWithTheProgram requires that what the filter decided about one program does not hold for the
// next.
func TestIgnoredAddressesEndWithTheProgram(t *testing.T) {
	for name, change := range map[string][]byte{
		"exec": processChange(abi.ProcessExec, start), "fork": processChange(abi.ProcessFork, 2*start),
	} {
		t.Run(name, func(t *testing.T) {
			ignored := map[uint64]bool{}
			options := identified(start, 2*start)
			options.Filter = &merge.Filter{IgnoreTopics: []*regexp.Regexp{regexp.MustCompile("^/in$")}}
			options.OnIgnored = func(_ int32, address uint64, is bool) bool { ignored[address] = is; return true }
			feed(t, options, append(append(announcedEntities(), fedCallback(0x30)), change)...)
			if is, decided := ignored[0x30]; !decided || is {
				t.Errorf("the callback was ignored: %t, is still: %t", decided, is)
			}
		})
	}
}

// TestCloseThreadKeepsPublishesApart ends the recording between the publishes of two publishers, of which the first
// one's went the intra-process way only.
func TestCloseThreadKeepsPublishesApart(t *testing.T) {
	m := newMerger(merge.Options{RealtimeOffset: offset})
	state := abi.ThreadState{PID: 7, TID: 8, PublishOpen: 1, PublishCount: 4}
	state.Publish = abi.PublishRecord{
		Header: header(abi.KindPublish, 0, 0), Number: 3, Layers: abi.LayerIntra | abi.LayerRclcpp,
		Publisher: 0x60, IntraMessage: 0x1, IntraNs: 10, Enqueues: 2, Message: 0x2, RclcppNs: 20,
	}
	if err := m.CloseThread(encode(state)); err != nil {
		t.Fatal(err)
	}
	rows := take(t, m).Publishes
	if len(rows) != 2 {
		t.Fatalf("rows %+v", rows)
	}
	first, second := rows[0], rows[1]
	if first.PublishNumber != 3 || first.Status != trace.PublishComplete || first.EnqueueCount != 2 || first.IntraMessage != 1 || first.Message != 0 ||
		first.RclcppPublishTimestamp.Valid || first.PublisherHandle != 0x60 {
		t.Errorf("first %+v", first)
	}
	if second.PublishNumber != 4 || second.Status != trace.PublishRecordingEnd || second.EnqueueCount != 0 || second.IntraMessage != 0 ||
		second.Message != 2 || second.RclcppIntraPublishTimestamp.Valid || second.PublisherHandle != 0 {
		t.Errorf("second %+v", second)
	}
}

// TestRecordedProcessesAreTold requires that every process that a record came from is told, once.
func TestRecordedProcessesAreTold(t *testing.T) {
	var told []int64
	options := identified(start, 2*start)
	options.OnRecorded = func(process trace.ProcessKey) { told = append(told, process.ProcessStart) }
	feed(t, options, processChange(abi.ProcessFork, start), fedCallback(0x30), fedCallback(0x30), processChange(abi.ProcessExec, start),
		fedCallback(0x30), processChange(abi.ProcessFork, 2*start), fedCallback(0x30))
	if want := []int64{start, 2 * start}; !slices.Equal(told, want) {
		t.Errorf("told %d, not %d", told, want)
	}
}

// TestUpdateIsOfOneProcess: what is done with a process is not done with another one that has its PID.
func TestUpdateIsOfOneProcess(t *testing.T) {
	m := merge.New(merge.Options{})
	present := trace.ProcessKey{BootID: "boot", PID: 7, ProcessStart: 2 * start}
	m.AddIfAbsent(present.PID, func() *merge.Process { return &merge.Process{Key: present, Graph: entities.New(present)} })
	for key, want := range map[trace.ProcessKey]bool{
		present: true, {BootID: "boot", PID: 7, ProcessStart: start}: false, {BootID: "boot", PID: 8, ProcessStart: 2 * start}: false,
	} {
		updated := false
		if err := m.Update(key, func(*merge.Process) error { updated = true; return nil }); err != nil || updated != want {
			t.Errorf("%v: updated %v, %v; want %v", key, updated, err, want)
		}
	}
}

// TestNewProcessesAreDoubted: initialization events may have been lost of a program that nobody knew yet.
func TestNewProcessesAreDoubted(t *testing.T) {
	const later = int64(1) << 60 / start * start // a process that began after the loss
	exec := func(at uint64) []byte {
		return encode(abi.ProcessRecord{Header: header(abi.KindProcess, abi.ProcessExec, 0), TimeNs: at, StartBoottimeNs: uint64(later)})
	}
	for name, test := range map[string]struct {
		start  int64
		before [][]byte
		topic  string
	}{
		"it ran then":                           {1, nil, ""},
		"it began later":                        {later, nil, "/in"},
		"it executed another program before":    {later, append(announcedEntities(), exec(45)), ""},
		"it executed another program afterward": {later, append(announcedEntities(), exec(55)), "/in"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMerger(identified(test.start))
			m.Doubt(20, 50)
			for _, record := range slices.Concat(test.before, announcedEntities(), [][]byte{fedCallback(0x30)}) {
				if err := m.Record(record); err != nil {
					t.Fatal(err)
				}
			}
			rows := take(t, m)
			if len(rows.Callbacks) != 1 || rows.Callbacks[0].TopicName != test.topic {
				t.Errorf("want topic %q: %+v", test.topic, rows.Callbacks)
			}
		})
	}
}
