package session

import (
	"slices"
	"testing"
)

// TestLooksAreNotForgotten: every process that was asked for is looked at, once for all that asked before.
func TestLooksAreNotForgotten(t *testing.T) {
	const processes = 10_000
	l := newLooks()
	for range 2 {
		for pid := int32(1); pid <= processes; pid++ {
			l.ask(pid, canWait)
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
	l.ask(7, canWait)
	if pid, ok := l.next(); !ok || pid != 7 {
		t.Errorf("%d, %v asked anew", pid, ok)
	}
}

// TestUrgentLooksComeFirst: who has just begun something is looked at before the others, who still have their turns.
func TestUrgentLooksComeFirst(t *testing.T) {
	l := newLooks()
	for _, pid := range []int32{1, 2, 3, 4} {
		l.ask(pid, canWait)
	}
	for _, pid := range []int32{11, 12, 3, 13, 14, 15, 16, 17} {
		l.ask(pid, isUrgent)
	}
	l.ask(11, canWait) // it is among the urgent ones, and stays there
	want := []int32{11, 12, 3, 1, 13, 14, 15, 2, 16, 17, 4}
	if l.count() != len(want) {
		t.Errorf("%d wait instead of %d", l.count(), len(want))
	}
	var got []int32
	for range len(want) {
		<-l.asked
		pid, ok := l.next()
		if !ok {
			break
		}
		got = append(got, pid)
	}
	if !slices.Equal(got, want) || !l.empty() {
		t.Errorf("%v instead of %v", got, want)
	}
	if pid, ok := l.next(); ok {
		t.Errorf("%d was looked at already", pid)
	}
}
