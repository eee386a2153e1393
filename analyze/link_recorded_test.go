package analyze

import (
	"fmt"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze/system"
)

// Executions that start out of order or at the same time, polled messages, and publishes in any order find their
// inputs.
func TestRecordedLink(t *testing.T) {
	var lines []string
	l := &recordedLink{emit: func(l linked) {
		output := int64(noTime)
		if l.output != nil {
			output = l.output.at
		}
		lines = append(lines, fmt.Sprint(l.input.take, " ", output))
	}}
	a, b := &system.Callback{Name: "a"}, &system.Callback{Name: "b"}
	fed := func(c *system.Callback, start, end int64) {
		l.receive(&arrival{callback: c, start: start, end: end, take: start - 1})
	}
	poll := func(c *system.Callback, within, at int64) {
		l.receive(&arrival{callback: c, polled: true, within: within, start: at, end: noTime, take: at})
	}
	publish := func(c *system.Callback, start, at int64) { l.publish(&departure{callback: c, start: start, at: at}) }
	fed(a, 100, 200)
	fed(b, 100, 180) // at the same time
	fed(a, 300, 400)
	poll(a, 300, 320)
	fed(b, 250, 500) // told of later
	poll(b, 120, 130)
	publish(b, 100, 150)
	publish(a, 100, 160)
	publish(a, 300, 310) // before the poll
	publish(a, 300, 330)
	publish(b, 250, 260)
	publish(b, 100, 170)
	publish(a, 120, 170) // not what was executed then
	l.settle(450)
	want := []string{"99 150", "99 160", "299 310", "320 330", "249 260", "99 170"}
	if !slices.Equal(lines, want) {
		t.Errorf("got %q, want %q", lines, want)
	}
	lines = nil
	publish(b, 250, 490) // of an execution that was kept, for it had not ended
	publish(b, 120, 140) // likewise
	publish(a, 300, 340) // of one that was not
	l.settle(600)
	l.end()
	if want := []string{"249 490", "130 140"}; !slices.Equal(lines, want) {
		t.Errorf("got %q, want %q", lines, want)
	}
}
