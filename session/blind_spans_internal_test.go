package session

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/attaching"
	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/writer"
)

// TestSpans: what a row says of a file that was not probed is never shorter than the truth, and there is none where
// nothing was missed. Times are tenths of a second before now; the recording was opened 90 before, and the process
// began 80 before, when not said otherwise.
func TestSpans(t *testing.T) {
	file := target.FileID{Inode: 7}
	now := readClock(unix.CLOCK_MONOTONIC)
	const unit = int64(time.Second / 10) // the machine may have been started a minute ago
	ago := func(units int64) int64 { return now - units*unit }
	maps := func(at int64) loader.MappingEvent {
		return loader.MappingEvent{PID: mapper, Address: 0x10000, Length: 0x1000, TimeNs: ago(at)}
	}
	const none = -1
	for name, test := range map[string]struct {
		armed   int64
		since   int64 // when links were closed before, 0: never
		absent  int64 // when it was not mapped yet for certain
		started int64
		before  []loader.MappingEvent // told before it was armed
		closed  bool                  // unmapped again, before it is judged
		after   []loader.MappingEvent // told later
		lost    int64
		from    int64
	}{
		"mapped, then armed": {armed: 50, before: []loader.MappingEvent{maps(60)}, from: 60},
		"told late":          {armed: 50, after: []loader.MappingEvent{maps(60)}, from: 60},
		"armed in advance":   {armed: 50, after: []loader.MappingEvent{maps(40)}, from: none},
		"armed in advance, before it ran this program": {armed: 50, before: []loader.MappingEvent{maps(60), {PID: mapper, TimeNs: ago(45)}, maps(44)}, from: none},
		"armed before the process began":               {armed: 85, after: []loader.MappingEvent{maps(40)}, from: none},
		"armed before the process began, not told":     {armed: 85, from: none},
		"not told":                                     {armed: 50, from: 80},
		"not told, but it was not there before":        {armed: 50, absent: 51, from: 51},
		"had before the recording":                     {armed: 50, started: 200, from: 90},
		"some were lost, and a later one told":         {armed: 50, absent: 70, before: []loader.MappingEvent{maps(55)}, lost: 60, from: 70},
		"others were lost before":                      {armed: 50, absent: 55, before: []loader.MappingEvent{maps(52)}, lost: 60, from: 52},
		"unmapped again":                               {armed: 50, before: []loader.MappingEvent{maps(60)}, closed: true, from: 60},
		"mapped, replaced by another program":          {armed: 50, before: []loader.MappingEvent{maps(60)}, after: []loader.MappingEvent{{PID: mapper, TimeNs: ago(-600)}, maps(-601)}, from: 80},
		"links of another kind took the others' place": {armed: 50, since: 51, before: []loader.MappingEvent{maps(60)}, from: 51},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := writer.Create(t.TempDir(), writer.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = w.Discard() }()
			if test.started == 0 {
				test.started = 80
			}
			module := moduleAt(0x10000, 0x14000)
			module.File, module.Path = file, "/lib/librcl.so"
			p := &target.Process{Identity: target.Identity{PID: mapper}, Modules: []target.Module{module}}
			entry := &process{target: p, ros2: true, probed: attaching.NewProcess(p), absent: map[target.FileID]int64{}}
			entry.row.PID = mapper
			entry.row.ProcessStart = ago(test.started) + readClock(unix.CLOCK_BOOTTIME) - readClock(unix.CLOCK_MONOTONIC)
			if test.absent != 0 {
				entry.absent[file] = ago(test.absent)
			}
			j := newJournal(Observer{})
			b := &blindSpans{processes: newProcesses(datasetClock{}, rowsOf(w), j), mappings: new(mappings), rows: rowsOf(w), journal: j, from: ago(90)}
			b.processes.put(entry)
			if test.lost != 0 {
				b.mappings.lostAt = ago(test.lost)
			}
			for _, event := range test.before {
				b.mappings.note(event)
			}
			armed := attaching.Armed{File: file, Events: []abi.Event{abi.EventRclPublish}, At: ago(test.armed)}
			if test.since != 0 {
				armed.Since = ago(test.since)
			}
			b.noteArmed(entry, []attaching.Armed{armed})
			b.judge(entry, false)
			if j.report.Unarmed != 0 {
				t.Error("it is judged before the kernel's notice must have been read")
			}
			if test.closed {
				p.Modules = nil
			}
			for _, event := range test.after {
				b.mappings.note(event)
			}
			b.judge(entry, true)
			if j.report.Unarmed > 1 || (j.report.Unarmed == 1) != (test.from != none) {
				t.Fatalf("%d rows", j.report.Unarmed)
			}
			if test.from == none {
				return
			}
			from := max(b.mappedSince(entry, arming{Armed: armed, module: module, seen: now}), b.from)
			if units := (now - from + unit/2) / unit; units != test.from {
				t.Errorf("from %d units ago, want %d", units, test.from)
			}
		})
	}
}

// TestWhatIsMappedInTheEnd: what was mapped since the last look is told in the end.
func TestWhatIsMappedInTheEnd(t *testing.T) {
	p := &process{refreshed: 50}
	file := target.FileID{Inode: 7}
	p.noteRefreshed(60, target.Changes{Added: []target.Module{{File: file}}})
	p.noteRefreshed(70, target.Changes{})
	if p.absent[file] != 50 || p.refreshed != 70 {
		t.Errorf("%v, %d", p.absent, p.refreshed)
	}
	p.noteUnplanned()
	p.refreshed = 90
	p.noteUnplanned()
	if p.unplanned != 70 {
		t.Errorf("unplanned since %d", p.unplanned)
	}
}

// TestIntraProcessOfTheShortLived: of a process that was over before anything was planned for it, intra-process
// communication may be missing though all its files were probed.
func TestIntraProcessOfTheShortLived(t *testing.T) {
	for name, test := range map[string]struct {
		has, missed, planned, told bool
		rows                       int
	}{
		"it had some, and the sites were not attached": {has: true, missed: true, rows: 1},
		"it had none":                        {missed: true},
		"the sites were attached":            {has: true},
		"it was planned: the attacher tells": {has: true, missed: true, planned: true},
		"it is told that nothing was probed": {has: true, missed: true, told: true},
		"neither":                            {},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := writer.Create(t.TempDir(), writer.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = w.Discard() }()
			j := newJournal(Observer{})
			b := &blindSpans{
				processes: newProcesses(datasetClock{}, rowsOf(w), j), mappings: new(mappings), rows: rowsOf(w), journal: j, from: 1,
				hasIntraProcess: func(trace.ProcessKey) bool { return test.has }, missedIntraProcess: func(int64) bool { return test.missed },
			}
			entry := &process{shown: true, toldBlind: test.told}
			if test.planned {
				entry.probed = attaching.NewProcess(new(target.Process))
				attaching.New(nil, attaching.Options{}, nil, nil).Intend(entry.probed, new(probes.Plan))
			}
			b.tellMissedIntraProcess(entry, readClock(unix.CLOCK_MONOTONIC))
			if j.report.Unarmed != test.rows {
				t.Errorf("%d rows, want %d", j.report.Unarmed, test.rows)
			}
		})
	}
}
