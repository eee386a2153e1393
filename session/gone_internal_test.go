package session

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/writer"
)

// A recording that waits for processes to be gone waits for one that was recorded, which is a process of ROS 2 that
// was there when the recording began, or came later.
func TestWhenProcessesAreGone(t *testing.T) {
	for name, test := range map[string]struct {
		before, later func(p *processes, ros2 func(pid int32) *process)
		gone          bool
	}{
		"there was none":         {},
		"it has not begun":       {before: func(_ *processes, ros2 func(int32) *process) { ros2(1) }},
		"one that was there ran": {before: func(_ *processes, ros2 func(int32) *process) { ros2(1) }, later: func(*processes, func(int32) *process) {}},
		"one had ended before the begin": {
			before: func(p *processes, ros2 func(int32) *process) { p.end(ros2(1), 5, true) }, later: func(*processes, func(int32) *process) {},
		},
		"one that was there has ended": {
			before: func(_ *processes, ros2 func(int32) *process) { ros2(1) }, later: func(p *processes, _ func(int32) *process) { p.end(p.find(1), 5, true) }, gone: true,
		},
		"one that came has ended": {later: func(p *processes, ros2 func(int32) *process) { p.end(ros2(1), 5, true) }, gone: true},
		"another one runs": {later: func(p *processes, ros2 func(int32) *process) {
			p.end(ros2(1), 5, true)
			ros2(2)
		}},
		"what came was nothing of ROS 2": {later: func(p *processes, ros2 func(int32) *process) {
			other := &process{row: trace.Process{ProcessKey: trace.ProcessKey{PID: 1}}}
			p.begin(other)
			p.end(other, 5, true)
		}},
		"it was forgotten, and another one is nothing of ROS 2": {later: func(p *processes, ros2 func(int32) *process) {
			entry := ros2(1)
			p.end(entry, 5, true)
			p.remove(entry, func(int32) {})
			p.begin(&process{row: trace.Process{ProcessKey: trace.ProcessKey{PID: 2}}})
		}, gone: true},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := writer.Create(t.TempDir(), writer.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = w.Discard() }()
			p := newProcesses(datasetClock{}, rowsOf(w), newJournal(Observer{}))
			ros2 := func(pid int32) *process {
				entry := &process{row: trace.Process{ProcessKey: trace.ProcessKey{PID: pid}}, ros2: true}
				p.begin(entry)
				p.write(entry)
				return entry
			}
			if test.before != nil {
				test.before(p, ros2)
			}
			if test.later != nil {
				p.start(1)
				test.later(p, ros2)
			}
			if got := p.areGone(); got != test.gone {
				t.Errorf("they are gone: %v", got)
			}
		})
	}
}
