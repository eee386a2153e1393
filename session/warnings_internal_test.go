package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
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
	if told != 3 || w.waiting() != 999 {
		t.Errorf("%d were told, %d wait", told, w.waiting())
	}
}

// However many kinds of warnings processes give reason for, what the recorder itself has to say is told.
func TestOwnWarningsHaveRoom(t *testing.T) {
	var w warnings
	for i := range 10 * warningKinds {
		w.add(strings.Repeat("x", i))
	}
	for i := range ownKinds {
		if !w.addOwn(strings.Repeat("y", i+1)) {
			t.Errorf("%d of its own are not told", i)
		}
	}
	if w.addOwn("z") || w.add("zz") {
		t.Error("there is room for more kinds")
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
	if lines := w.takeGathered("", ""); !slices.Equal(lines, got[warningKinds:]) || w.waiting() != 0 {
		t.Errorf("%q are told, %d wait", lines, w.waiting())
	}
	if lines := w.takeGathered("", ""); len(lines) > 0 {
		t.Errorf("%q are told again", lines)
	}
}

// TestSoManyWarningsAreKept: many kinds with many warnings each do not add up, and none of the kinds is crowded out.
func TestSoManyWarningsAreKept(t *testing.T) {
	var w warnings
	for kind := range warningKinds {
		for number := range 2 * alikeWarnings {
			w.add(fmt.Sprint(strings.Repeat("x", kind), " ", number))
		}
	}
	kept, counted := 0, 0
	for _, kind := range w.order {
		if len(kind.kept) == 0 {
			t.Errorf("of %q none is kept", kind.first)
		}
		kept, counted = kept+len(kind.kept), counted+int(kind.more)
	}
	if kept != len(w.list()) || kept > keptWarnings+warningKinds || kept+counted != 2*alikeWarnings*warningKinds {
		t.Errorf("%d are kept, %d listed, %d counted", kept, len(w.list()), counted)
	}
}

func TestNoWarnings(t *testing.T) {
	var w warnings
	if got := w.list(); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

// TestAlikeWarningsAreToldOnce: of warnings that differ in the process only one is told when it comes; of the others a
// line says how many there are, and session.json has each.
func TestAlikeWarningsAreToldOnce(t *testing.T) {
	const processes = 30
	of := func(pid int) error { return fmt.Errorf("PID %d (node_%c) has other builds", pid, 'a'+rune(pid)) }
	for name, test := range map[string]struct {
		happens func(*journal)
		told    []string // at once
		later   []string
		listed  int
	}{
		"one":            {func(j *journal) { j.warn(of(1)) }, []string{of(1).Error()}, nil, 1},
		"one, and again": {func(j *journal) { j.warn(of(1)); j.warn(of(1)) }, []string{of(1).Error()}, nil, 1},
		"one each of 30 processes": {
			func(j *journal) {
				for pid := range processes {
					j.warn(of(pid))
				}
			},
			[]string{of(0).Error()}, []string{"29 more like this, see session.json: " + of(0).Error()}, processes,
		},
		"those of 30 processes, in one error": {
			func(j *journal) {
				var all []error
				for pid := range processes {
					all = append(all, of(pid))
				}
				j.warn(errors.Join(all...))
			},
			[]string{of(0).Error()}, []string{"29 more like this, see session.json: " + of(0).Error()}, processes,
		},
		"two kinds": {
			func(j *journal) {
				for pid := range 2 {
					j.warn(of(pid))
					j.warn(fmt.Errorf("PID %d is gone", pid))
				}
			},
			[]string{of(0).Error(), "PID 0 is gone"},
			[]string{"1 more like this, see session.json: " + of(0).Error(), "1 more like this, see session.json: PID 0 is gone"}, 4,
		},
		"one that could not be told at once": {
			func(j *journal) { j.gather(of(1)) }, nil, []string{of(1).Error()}, 1,
		},
		"several that could not be told at once": {
			func(j *journal) {
				j.gather(of(1))
				j.gather(of(2))
			}, nil, []string{of(1).Error() + " (and 1 more of this kind)"}, 2,
		},
		"what ended the session, which is told as its error": {
			func(j *journal) {
				j.report.Error = "the disk is full"
				j.gather(errors.New("the disk is full"))
			}, nil, nil, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var told []string
			j := newJournal(Observer{Message: func(text string) { told = append(told, text) }})
			j.report.State = trace.StateStopped
			test.happens(j)
			if !slices.Equal(told, test.told) {
				t.Errorf("told %q, want %q", told, test.told)
			}
			told = nil
			j.tellGathered()
			j.tellGathered()
			if !slices.Equal(told, test.later) || j.warnings.waiting() != 0 {
				t.Errorf("told later %q, want %q; %d wait", told, test.later, j.warnings.waiting())
			}
			if listed := j.warnings.list(); len(listed) != test.listed {
				t.Errorf("listed %q", listed)
			}
		})
	}
}

// TestNothingRefersToADatasetThatIsNot: a recording that did not begin leaves none.
func TestNothingRefersToADatasetThatIsNot(t *testing.T) {
	var told []string
	j := newJournal(Observer{Message: func(text string) { told = append(told, text) }})
	j.warn(errors.New("PID 1 is gone"))
	j.warn(errors.New("PID 2 is gone"))
	j.tellGathered()
	if want := []string{"PID 1 is gone", "1 more like this: PID 1 is gone"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}
