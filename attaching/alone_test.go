package attaching

import (
	"errors"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/probes"
)

// aloneTest is an Attacher with two processes, the second of which has intra-process communication. It has what shows
// that for itself.
type aloneTest struct {
	*Attacher
	told          *told
	first, second *Process
	intra         probes.Site
}

func startAlone(t *testing.T) *aloneTest {
	t.Helper()
	first, second, intra := startSharers(t)
	intra.Event, intra.Optional, intra.Form = abi.EventRclcppRingBufferEnqueue, true, abi.FormDerived
	a, told := newTestAttacher(Options{Shared: true, ToCome: true})
	attach(t, a, first, intra)
	attach(t, a, second, intra)
	told.noIntra, told.withIntra = true, map[*Process]bool{second: true}
	test := &aloneTest{a, told, first, second, intra}
	settleAll(t, a, first, second)
	return test
}

// links counts the links for every process, and those of each.
func (a *aloneTest) links() (shared, first, second int) {
	return len(a.told.kernel.events(0)), len(a.told.kernel.events(a.first.Target.PID)), len(a.told.kernel.events(a.second.Target.PID))
}

func (a *aloneTest) require(t *testing.T, when string, shared, first, second int) {
	t.Helper()
	if s, f, o := a.links(); s != shared || f != first || o != second {
		t.Errorf("%s: every process has %d, the first %d, the second %d, want %d, %d, %d", when, s, f, o, shared, first, second)
	}
	if len(a.told.kernel.twice) != 0 {
		t.Errorf("%s: recorded twice: %v", when, a.told.kernel.twice)
	}
	if len(a.told.kernel.hasty) != 0 {
		t.Errorf("%s: missed by hits that were under way: %v", when, a.told.kernel.hasty)
	}
	if len(a.told.warnings) != 0 {
		t.Errorf("%s: %v", when, a.told.warnings)
	}
}

// Who has intra-process communication has it probed for itself while nobody begins or loads anything, and nobody else
// pays. For those that come, every process has it again, and so on. Nothing is seen twice, and nothing is missing.
func TestFewWithIntraProcessPayAlone(t *testing.T) {
	for name, come := range map[string]func(*aloneTest){
		"a process that begins":      func(a *aloneTest) { a.Begin(t.Context(), NewProcess(a.first.Target)) },
		"libraries to come":          func(a *aloneTest) { a.LibrariesChange(t.Context(), a.second) },
		"another begins with it":     func(a *aloneTest) { a.AwaitIntraProcess(t.Context(), a.first, monotonicNow()) },
		"a process that is attached": func(a *aloneTest) { attach(t, a.Attacher, NewProcess(a.first.Target), a.intra) },
	} {
		t.Run(name, func(t *testing.T) {
			a := startAlone(t)
			a.require(t, "at first", 0, 0, 1)
			for range 3 {
				if unarmed := a.Unarmed(a.second); len(unarmed) != 0 {
					t.Errorf("not attached: %+v", unarmed)
				}
				come(a)
				a.told.warnings = nil // of who begins with it
				a.require(t, "when they come", 1, 0, 1)
				a.Sweep()
				a.require(t, "when they have come", 1, 0, 0)
				settleNow(t, a.Attacher, a.first, a.second)
				a.require(t, "soon after", 1, 0, 0)
				settleAll(t, a.Attacher, a.first, a.second)
				a.require(t, "later", 0, 0, 1)
			}
			armed := a.told.armed[a.second]
			if len(armed) != 1 {
				t.Errorf("it is said to miss something: %+v", armed)
			}
		})
	}
}

// It stays for every process where that is cheaper, where a process may need it of which nothing is known, and where
// single ones cannot have it.
func TestIntraProcessStaysForAll(t *testing.T) {
	for name, change := range map[string]func(*aloneTest){
		"all have it":             func(a *aloneTest) { a.told.hasIntra, a.told.noIntra = true, false },
		"nothing is known of one": func(a *aloneTest) { a.told.noIntra = false },
		"links are for all":       func(a *aloneTest) { a.told.kernel.sharesLinks = true },
		"hits cannot be awaited":  func(a *aloneTest) { a.told.kernel.hasTracefs = true },
		"it cannot be attached": func(a *aloneTest) {
			a.told.kernel.failingOf = map[int32]error{a.second.Target.PID: errors.New("no memory")}
		},
		"a site is refused": func(a *aloneTest) {
			a.told.kernel.refuse = func(s probes.Site) error {
				if s.Role == abi.RoleOwnFunction {
					return loader.ErrUnsafeSite
				}
				return nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := startAlone(t)
			a.Begin(t.Context(), NewProcess(a.first.Target))
			a.Sweep()
			change(a)
			settleAll(t, a.Attacher, a.first, a.second)
			a.told.warnings = nil
			a.require(t, "later", 1, 0, 0)
		})
	}
}

// What single processes cannot have is tried again, each time after twice as long.
func TestOwnLinksInVainAreTriedSeldom(t *testing.T) {
	a := startAlone(t)
	a.Begin(t.Context(), NewProcess(a.first.Target))
	a.Sweep()
	a.told.kernel.failingOf = map[int32]error{a.second.Target.PID: errors.New("no memory")}
	var pauses []time.Duration
	for range 9 {
		settleAll(t, a.Attacher, a.first, a.second)
		next := a.aloneTries.next
		a.told.warnings = nil
		a.occasional.since = time.Time{}
		settleNow(t, a.Attacher, a.first, a.second)
		if len(a.told.warnings) != 0 || a.aloneTries.next != next {
			t.Error("tried again at once:", a.told.warnings)
		}
		pauses = append(pauses, a.aloneTries.pause)
	}
	for i := range pauses[1:] {
		if want := min(2*pauses[i], maxPause); pauses[i+1] != want {
			t.Errorf("pauses of %v: want %v after %v", pauses, want, pauses[i])
		}
	}
	a.told.kernel.failingOf = nil
	settleAll(t, a.Attacher, a.first, a.second)
	a.require(t, "when it can", 0, 0, 1)
	if a.aloneTries != (tries{}) {
		t.Errorf("afterwards: %+v", a.aloneTries)
	}
}

// When the process does without that could not have it for itself, the others need not wait until it is tried again.
func TestOwnLinksOfOthersDoNotWait(t *testing.T) {
	a := startAlone(t)
	a.Begin(t.Context(), NewProcess(a.first.Target))
	a.Sweep()
	a.told.kernel.failingOf = map[int32]error{a.second.Target.PID: errors.New("no memory")}
	for range 3 {
		settleAll(t, a.Attacher, a.first, a.second)
	}
	a.told.withIntra = map[*Process]bool{a.first: true}
	settleNow(t, a.Attacher, a.first, a.second)
	a.told.warnings = nil // of the other one, and that this one has begun with it
	a.require(t, "without the other one", 0, 1, 0)
}

// What a process has for itself goes with it, and with all links that are replaced.
func TestWhatIsAloneEnds(t *testing.T) {
	t.Run("with the process", func(t *testing.T) {
		a := startAlone(t)
		a.Release(a.second)
		a.Sweep()
		a.require(t, "at the end", 0, 0, 0)
	})
	t.Run("with the links", func(t *testing.T) {
		a := startAlone(t)
		for _, shared := range []bool{false, true} {
			if err := a.ChangeLinks(t.Context(), shared); err != nil {
				t.Fatal(err)
			}
			if shared {
				a.require(t, "shared again", 1, 0, 0)
			} else {
				a.require(t, "of each", 0, 1, 1)
			}
		}
		if armed := a.told.armed[a.second]; len(armed) != 1 {
			t.Errorf("it is said to miss something: %+v", armed)
		}
		settleAll(t, a.Attacher, a.first, a.second)
		a.require(t, "later", 0, 0, 1)
	})
	t.Run("with a written file", func(t *testing.T) {
		a := startAlone(t)
		for _, open := range a.told.kernel.open {
			open.written = true
		}
		a.Verify()
		a.told.warnings = nil
		a.require(t, "written", 0, 0, 0)
		if unarmed := a.Unarmed(a.second); len(unarmed) == 0 {
			t.Error("nothing is said to be missing")
		}
	})
}

// A unit that is probed again comes to a process that has the others for itself.
func TestReinstatedUnitOfWhoIsAlone(t *testing.T) {
	a := startAlone(t)
	a.budget.byUnit = true
	a.Begin(t.Context(), NewProcess(a.first.Target)) // what is attached from now on is attached unit by unit
	settleAll(t, a.Attacher, a.first, a.second)
	a.require(t, "later", 0, 0, 1)
	units := []abi.Unit{optionalUnit(a.intra)}
	a.retireUnits(units, retirement{})
	a.require(t, "retired", 0, 0, 0)
	a.BeginReinstating(units)
	attach(t, a.Attacher, a.second, a.intra)
	if err := a.EndReinstating(); err != nil {
		t.Fatal(err)
	}
	if s, _, o := a.links(); s+o == 0 {
		t.Error("it is not attached again")
	}
	if len(a.told.kernel.twice) != 0 {
		t.Errorf("recorded twice: %v", a.told.kernel.twice)
	}
}

// Where hits that are under way cannot be awaited, every process keeps its links.
func TestLinksOfAllStayWhereHitsCannotBeAwaited(t *testing.T) {
	a := startAlone(t)
	a.Begin(t.Context(), NewProcess(a.first.Target))
	a.Sweep()
	a.told.kernel.waiting = errors.New("no memory")
	settleAll(t, a.Attacher, a.first, a.second)
	if len(a.told.warnings) == 0 {
		t.Error("nothing is said")
	}
	a.told.kernel.waiting, a.told.warnings = nil, nil
	a.require(t, "then", 1, 0, 0)
}

// What every process has in place of single ones' links does not end these before hits that are under way are over.
func TestReplacedLinksStayWhereHitsCannotBeAwaited(t *testing.T) {
	a := startAlone(t)
	a.told.kernel.waiting = errors.New("no memory")
	a.Begin(t.Context(), NewProcess(a.first.Target))
	a.Sweep()
	settleAll(t, a.Attacher, a.first, a.second)
	if len(a.told.warnings) == 0 {
		t.Error("nothing is said")
	}
	if err := a.ChangeLinks(t.Context(), false); !errors.Is(err, ErrLinksStay) {
		t.Error("changed:", err)
	}
	a.told.warnings = nil
	a.require(t, "meanwhile", 1, 0, 1)
	a.told.kernel.waiting = nil
	a.Sweep()
	a.require(t, "then", 1, 0, 0)
	settleAll(t, a.Attacher, a.first, a.second)
	a.require(t, "later", 0, 0, 1)
}

// What a process has for itself again and again is told once.
func TestWhatIsAloneIsToldOnce(t *testing.T) {
	a := startAlone(t)
	before := len(a.told.attached)
	for range 3 {
		a.Begin(t.Context(), NewProcess(a.first.Target))
		settleAll(t, a.Attacher, a.first, a.second)
	}
	a.require(t, "later", 0, 0, 1)
	if again := a.told.attached[before:]; len(again) != 0 {
		t.Errorf("told again: %v", again)
	}
}

// What is to be detached from all processes is also detached from those that have had it for themselves.
func TestReplacedLinksGoWithTheOthers(t *testing.T) {
	for name, end := range map[string]func(*aloneTest){
		"a file that may not be shared": func(a *aloneTest) { a.unshare(a.intra.File, errNotShared) },
		"a unit":                        func(a *aloneTest) { a.retireUnits([]abi.Unit{optionalUnit(a.intra)}, retirement{}) },
	} {
		t.Run(name, func(t *testing.T) {
			a := startAlone(t)
			a.budget.byUnit = true
			for range 2 { // what is attached from now on is attached unit by unit
				a.Begin(t.Context(), NewProcess(a.first.Target))
				settleAll(t, a.Attacher, a.first, a.second)
			}
			a.Begin(t.Context(), NewProcess(a.first.Target))
			a.require(t, "replaced", 1, 0, 1)
			end(a)
			a.require(t, "ended", 0, 0, 0)
		})
	}
}

// What was missed of a process that turns out late to have intra-process communication is told before it has links of
// its own, by which nothing is missed.
func TestGapsAreToldBeforeItIsAlone(t *testing.T) {
	a := startAlone(t)
	attach(t, a.Attacher, NewProcess(a.first.Target), a.intra) // for which every process has it
	a.Sweep()
	a.told.withIntra[a.first] = true // as it is read behind Settle
	before := len(a.told.armed[a.first])
	settleAll(t, a.Attacher)
	for range 2 {
		settleAll(t, a.Attacher, a.first, a.second)
	}
	if missed := a.told.armed[a.first][before:]; len(missed) != 1 {
		t.Errorf("%d gaps are told", len(missed))
	}
}

// Links of a process that was released match the program that it runs now, until they are swept.
func TestReleasedLinksBesideThoseOfAll(t *testing.T) {
	a := startAlone(t)
	a.Release(a.second)
	a.Begin(t.Context(), NewProcess(a.second.Target))
	a.require(t, "when another program begins", 1, 0, 1)
}

// Where links for every process cannot be attached again, or others cannot take the place of all, a process keeps what
// it has for itself, until they can.
func TestWhatIsAloneStays(t *testing.T) {
	for name, hinder := range map[string]func(*testing.T, *aloneTest){
		"all links are refused": func(t *testing.T, a *aloneTest) {
			a.told.kernel.unable = errors.New("no memory")
			a.Begin(t.Context(), NewProcess(a.first.Target))
			a.told.kernel.unable = nil
		},
		"a site is refused": func(t *testing.T, a *aloneTest) {
			a.told.kernel.refuse = func(probes.Site) error { return errors.New("no room") }
			a.Begin(t.Context(), NewProcess(a.first.Target))
			a.told.kernel.refuse = nil
		},
		"a change cannot begin": func(t *testing.T, a *aloneTest) {
			a.told.kernel.unchangeable = errors.New("no")
			if err := a.ChangeLinks(t.Context(), false); err == nil {
				t.Error("changed")
			}
		},
		"a change is not committed": func(t *testing.T, a *aloneTest) {
			a.told.kernel.committing = func() error { return errors.New("no") }
			if err := a.ChangeLinks(t.Context(), false); err == nil {
				t.Error("changed")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := startAlone(t)
			hinder(t, a)
			a.Sweep()
			a.told.warnings = nil
			a.require(t, "hindered", 0, 0, 1)
			if unarmed := a.Unarmed(a.second); len(unarmed) != 0 {
				t.Errorf("not attached: %+v", unarmed)
			}
			a.Begin(t.Context(), NewProcess(a.first.Target))
			a.Sweep()
			a.require(t, "later", 1, 0, 0)
		})
	}
}

// A site that could not be attached for every process is tried again, also after others in vain for single ones.
func TestSiteOfAllBesideOwnLinksInVain(t *testing.T) {
	a := startAlone(t)
	third, another := NewProcess(a.first.Target), a.intra
	another.Event, another.Offset = abi.EventRclcppIntraPublish, a.intra.Offset+64
	a.told.kernel.refuse = func(s probes.Site) error {
		if s.Event == another.Event {
			return errors.New("no room")
		}
		return nil
	}
	a.Begin(t.Context(), third)
	for _, p := range []*Process{a.first, a.second, third} {
		attach(t, a.Attacher, p, a.intra, another)
	}
	a.Sweep()
	a.told.kernel.refuse, a.told.kernel.waiting, a.told.warnings = nil, errors.New("no memory"), nil
	settleAll(t, a.Attacher, a.first, a.second, third)
	if len(a.told.warnings) == 0 {
		t.Fatal("nothing was in vain")
	}
	a.told.kernel.waiting, a.told.warnings = nil, nil
	attach(t, a.Attacher, a.second, a.intra, another)
	a.require(t, "tried again", 2, 0, 0)
}
