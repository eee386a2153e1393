package session

import "testing"

// TestLooksAreNotForgotten: every process that was asked for is looked at, once for all that asked before.
func TestLooksAreNotForgotten(t *testing.T) {
	const processes = 10_000
	l := newLooks()
	for range 2 {
		for pid := int32(1); pid <= processes; pid++ {
			l.ask(pid)
		}
	}
	for want := int32(1); want <= processes; want++ {
		<-l.asked
		if got, ok := l.next(); !ok || got != want {
			t.Fatalf("%d, %v instead of %d", got, ok, want)
		}
	}
	if pid, ok := l.next(); ok || !l.empty() {
		t.Errorf("%d is left", pid)
	}
	l.ask(7)
	if pid, ok := l.next(); !ok || pid != 7 {
		t.Errorf("%d, %v asked anew", pid, ok)
	}
}
