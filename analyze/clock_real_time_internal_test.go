package analyze

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
)

// Where a clock was stepped back the worst of all measurements counts. It is found once: not each time that is asked
// about looks at all of them.
func TestWorstOfSteppedBackClockIsFoundOnce(t *testing.T) {
	const second, ago = int64(1_000_000_000), int64(60_000_000_000)
	h := new(clockHost)
	for i := range int64(100) {
		c := trace.Clock{MonotonicTimestamp: i * second, RealtimeOffset: 2 * ago, Uncertainty: i, Synchronized: trace.Some(true), MaxError: trace.Some(1000 + i)}
		if i >= 50 {
			c.RealtimeOffset -= ago
		}
		h.measured = append(h.measured, c)
	}
	e := newRealTimeError(h)
	want := realTimeBounds{following: 50 + ago, synchronization: trace.Some(1000 + 98 + second/maxErrorShare + trace.MaxErrorStep)}
	if got := e.bounds(0); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	clear(e.measured)
	for at := range int64(100) {
		if got := e.bounds(at * second); got != want {
			t.Fatalf("got %+v of measurements that are not there, want %+v", got, want)
		}
	}
}
