package session

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestWarningsAreCounted(t *testing.T) {
	var w warnings
	told := 0
	add := func(text string) {
		if w.add(text) {
			told++
		}
	}
	add("first")
	for pid := range 1000 {
		add(fmt.Sprintf("PID %d is gone", pid))
		add("first")
	}
	add("last")
	want := []string{"first"}
	for pid := range alikeWarnings {
		want = append(want, fmt.Sprintf("PID %d is gone", pid))
	}
	want[alikeWarnings] += fmt.Sprintf(" (and %d more of this kind)", 1000-alikeWarnings)
	want = append(want, "last")
	if got := w.list(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if told != len(want) {
		t.Errorf("%d were told, want %d", told, len(want))
	}
}

func TestKindsOfWarningsAreLimited(t *testing.T) {
	var w warnings
	for i := range 10 * warningKinds {
		w.add(strings.Repeat("x", i))
	}
	got := w.list()
	if len(got) != warningKinds+1 || !strings.HasPrefix(got[warningKinds], fmt.Sprint(9*warningKinds)) {
		t.Errorf("%d warnings, the last %q", len(got), got[len(got)-1])
	}
}

func TestNoWarnings(t *testing.T) {
	var w warnings
	if got := w.list(); len(got) != 0 {
		t.Errorf("%q", got)
	}
}
