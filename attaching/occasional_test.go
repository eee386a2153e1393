package attaching

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
)

// settleAll lets the patience of an Attacher with shared links be over, and settles processes.
func settleAll(t *testing.T, a *Attacher, processes ...*Process) {
	a.occasional.since = time.Now().Add(-IntraProcessPatience)
	a.aloneTries.next = time.Time{}
	settleNow(t, a, processes...)
}

func settleNow(t *testing.T, a *Attacher, processes ...*Process) {
	for _, p := range processes {
		a.Settle(t.Context(), p)
	}
	a.SettleShared(t.Context())
}

// What all processes share for intra-process communication is detached when all do without, and comes back for the
// first one that does not, and for those of which nothing is known.
func TestSharedIntraProcessComesAndGoes(t *testing.T) {
	for _, toCome := range []bool{false, true} {
		t.Run(fmt.Sprintf("to come %v", toCome), func(t *testing.T) {
			first, second, intra := startSharers(t)
			intra.Event, intra.Optional, intra.Form = abi.EventRclcppRingBufferEnqueue, true, abi.FormDerived
			a, told := newUnopened(Options{Shared: true, ToCome: toCome})
			attached := func() bool { return slices.Contains(told.kernel.events(0), intra.Event) }
			attach(t, a, first, intra)
			attach(t, a, second, intra)
			a.Open()
			told.noIntra, told.withIntra = true, map[*Process]bool{second: true}
			told.kernel.sharesLinks = true // no process can have it for itself
			if settleAll(t, a, first, second); !attached() {
				t.Error("it was detached though a process needs it")
			}
			told.kernel.sharesLinks = false
			third := NewProcess(second.Target)
			for name, come := range map[string]func(){
				"a process that has some":    func() { told.withIntra = map[*Process]bool{second: true}; settleAll(t, a, second) },
				"libraries to come":          func() { a.LibrariesChange(t.Context(), first) },
				"a process that begins":      func() { a.Begin(t.Context(), NewProcess(second.Target)) },
				"when nobody runs ROS 2":     func() { a.AwaitFirst(t.Context()) },
				"a process that is attached": func() { attach(t, a, third, intra) },
			} {
				told.withIntra = nil
				if settleAll(t, a, first, second); attached() {
					t.Fatalf("not detached before %s: %v", name, told.kernel.events(0))
				}
				if come(); !attached() {
					t.Errorf("it does not come back for %s", name)
				}
				told.withIntra = nil
				if settleNow(t, a, first); !attached() {
					t.Errorf("it does not stay for %s", name)
				}
			}
			for _, p := range []*Process{first, second, third} {
				if own := told.kernel.events(p.Target.PID); len(own) != 0 {
					t.Errorf("%v of single processes", own)
				}
			}
		})
	}
}

// Before a recording begins, what is not needed by what memories say goes without waiting.
func TestSettleBeforeOpening(t *testing.T) {
	for _, shared := range []bool{false, true} {
		for _, needed := range []bool{false, true} {
			t.Run(fmt.Sprintf("shared %v, needed %v", shared, needed), func(t *testing.T) {
				first, second, intra := startSharers(t)
				intra.Event, intra.Optional, intra.Form = abi.EventRclcppRingBufferEnqueue, true, abi.FormDerived
				a, told := newUnopened(Options{Shared: shared})
				attach(t, a, first, intra)
				attach(t, a, second, intra)
				told.noIntra = true
				if needed {
					told.withIntra = map[*Process]bool{second: true}
				}
				a.SettleBeforeOpening()
				for _, p := range []*Process{first, second} {
					pid, want := p.Target.PID, needed && p == second
					if shared {
						pid, want = 0, needed
					}
					if got := slices.Contains(told.kernel.events(pid), intra.Event); got != want {
						t.Errorf("of PID %d attached: %v", pid, got)
					}
				}
				a.Open()
				pid := first.Target.PID
				if shared {
					pid = 0
				}
				if a.AwaitIntraProcess(t.Context(), first, monotonicNow()); !slices.Contains(told.kernel.events(pid), intra.Event) {
					t.Error("it does not come back")
				}
			})
		}
	}
}

// Where nobody has mapped the file, what is attached for processes to come stays: it costs nobody anything.
func TestOccasionalSitesStayForProcessesToCome(t *testing.T) {
	first, other, intra := startSharers(t)
	other.Target.Modules = nil
	intra.Event, intra.Optional, intra.Form = abi.EventRclcppRingBufferEnqueue, true, abi.FormDerived
	a, told := newTestAttacher(Options{Shared: true, ToCome: true})
	plan := &probes.Plan{Distro: first.Target.Distro, Sites: []probes.Site{intra}}
	if _, err := a.Prepare(t.Context(), NewProcess(first.Target), plan); err != nil {
		t.Fatal(err)
	}
	attach(t, a, other)
	told.noIntra = true
	if settleAll(t, a, other); !slices.Equal(told.kernel.events(0), []abi.Event{intra.Event}) {
		t.Errorf("attached: %v", told.kernel.events(0))
	}
}

// The executor's step is probed until the exceptions of all processes are seen being caught, and for those that begin.
func TestStepsUntilExceptionsAreSeen(t *testing.T) {
	first, second, step := startSharers(t)
	step.Event = abi.EventExecutorExecute
	exception := site(abi.EventExceptionCaught, abi.RoleFunction)
	a, told := newTestAttacher(Options{Shared: true, ToCome: true})
	attached := func() bool { return slices.Contains(told.kernel.events(0), step.Event) }
	attach(t, a, first, step, exception)
	attach(t, a, second, step)
	if settleAll(t, a, first, second); !attached() {
		t.Error("detached though the exceptions of a process are not seen")
	}
	attach(t, a, second, step, exception)
	if settleAll(t, a, first, second); attached() {
		t.Error("not detached")
	}
	if unarmed := a.Unarmed(first); len(unarmed) != 0 {
		t.Errorf("unarmed: %+v", unarmed)
	}
	third := NewProcess(second.Target)
	if a.Begin(t.Context(), third); !attached() {
		t.Error("it does not come back for a process that begins")
	}
	attach(t, a, third, step, exception)
	a.AwaitIntraProcess(t.Context(), third, monotonicNow())
	if armed := told.armed[third]; len(armed) != 0 {
		t.Errorf("told to be armed: %+v", armed)
	}
}

// Of a process that begins while what shows intra-process communication is detached, nothing is missing if it has none
// before that is attached again, as far as it is seen what it creates. Otherwise it is told since when it is recorded.
func TestArmedWithoutIntraProcess(t *testing.T) {
	for name, test := range map[string]struct {
		hasIntra bool // when its plan is attached
		inits    bool // it is seen what it creates
		began    bool // it has begun before it is attached, and that is read later
		missing  bool
	}{
		"it has none":                                {inits: true},
		"it has some by then":                        {hasIntra: true, inits: true, missing: true},
		"it begins with it later":                    {inits: true, began: true, missing: true},
		"what it creates is not seen":                {missing: true},
		"what it creates is not seen, nor its start": {hasIntra: true, missing: true},
	} {
		t.Run(name, func(t *testing.T) {
			first, second, intra := startSharers(t)
			init := intra
			init.Event, init.Offset = abi.EventRclcppSubscriptionCallbackAdded, 32
			intra.Event, intra.Optional, intra.Form = abi.EventRclcppRingBufferEnqueue, true, abi.FormDerived
			sites := []probes.Site{intra}
			if test.inits {
				sites = append(sites, init)
			}
			a, told := newTestAttacher(Options{Shared: true, ToCome: true})
			told.noIntra = true
			attach(t, a, first, sites...)
			settleAll(t, a, first)
			began := monotonicNow()
			a.Begin(t.Context(), second)
			told.withIntra = map[*Process]bool{second: test.hasIntra}
			attach(t, a, second, sites...)
			if test.began {
				told.withIntra = map[*Process]bool{second: true}
				a.AwaitIntraProcess(t.Context(), second, began)
			}
			var missing bool
			for _, armed := range told.armed[second] {
				missing = missing || slices.Contains(armed.Events, intra.Event) && armed.At >= began
			}
			if missing != test.missing {
				t.Errorf("armed since %d: %+v", began, told.armed[second])
			}
		})
	}
}

// What was missed of a process is told whenever it becomes known that it has intra-process communication, though the
// sites are attached again by then, for another process.
func TestGapsAreToldLate(t *testing.T) {
	first, second, intra := startSharers(t)
	init := intra
	init.Event, init.Offset = abi.EventRclcppSubscriptionCallbackAdded, 32
	intra.Event, intra.Optional, intra.Form = abi.EventRclcppRingBufferEnqueue, true, abi.FormDerived
	a, told := newTestAttacher(Options{Shared: true, ToCome: true})
	told.noIntra = true
	for _, p := range []*Process{first, second} {
		attach(t, a, p, intra, init)
	}
	for range 2 {
		settleAll(t, a, first, second)
		a.Begin(t.Context(), NewProcess(first.Target))
	}
	if !a.MissedIntraProcess(0) || a.MissedIntraProcess(monotonicNow()) {
		t.Error("it is not known when it was missed")
	}
	before := len(told.armed[second])
	told.withIntra = map[*Process]bool{second: true}
	for range 2 {
		settleNow(t, a, second) // nobody has announced it
	}
	missed := told.armed[second][before:]
	if len(missed) != 2 || missed[0].Since != a.occasional.gaps[0].from || missed[0].At != a.occasional.gaps[0].to || missed[1].At != a.occasional.gaps[1].to {
		t.Errorf("told %+v of %+v", missed, a.occasional.gaps)
	}
}

// Beyond their number gaps become longer, never fewer.
func TestGapsAreBounded(t *testing.T) {
	var all gaps
	for i := range int64(maxGaps + 2) {
		all.begin(10 * i)
		all.end(10*i + 5)
	}
	if len(all) != maxGaps || all[0] != (gap{0, 25}) || all[1] != (gap{30, 35}) || len(all.after(25)) != maxGaps-1 {
		t.Errorf("%d: %v, %v", len(all), all[0], all[1])
	}
}

// Links for every process cost others something when none that is recorded runs ROS 2.
func TestOccasionalSitesOfNobody(t *testing.T) {
	first, _, step := startSharers(t)
	step.Event = abi.EventExecutorExecute
	a, told := newTestAttacher(Options{Shared: true, ToCome: true})
	attach(t, a, first, step)
	long := time.Now().Add(-IntraProcessPatience)
	a.occasional.since = long
	if a.AwaitNone(); len(told.kernel.events(0)) != 1 {
		t.Error("detached though a recorded process needs it")
	}
	a.Release(first)
	a.occasional.since = time.Now()
	if a.AwaitNone(); len(told.kernel.events(0)) != 1 {
		t.Error("detached though another one is just beginning")
	}
	a.occasional.since = long
	if a.AwaitNone(); len(told.kernel.events(0)) != 0 {
		t.Error("not detached")
	}
	if a.Begin(t.Context(), NewProcess(first.Target)); len(told.kernel.events(0)) != 1 {
		t.Error("it does not come back")
	}
}

// A file whose links were single ones is shared, and then is not again: what was detached meanwhile is attached as at
// first.
func TestOccasionalSitesOfAFileThatIsApartAgain(t *testing.T) {
	first, second, step := startSharers(t)
	step.Event = abi.EventExecutorExecute
	exception := site(abi.EventExceptionCaught, abi.RoleFunction)
	a, told := newTestAttacher(Options{Shared: true, ToCome: true})
	a.sharing.unshareable[step.File] = errNotShared
	attach(t, a, first, step, exception)
	first.occasional.since = time.Now().Add(-IntraProcessPatience)
	if settleNow(t, a, first); slices.Contains(told.kernel.events(first.Target.PID), step.Event) {
		t.Fatal("not detached")
	}
	delete(a.sharing.unshareable, step.File)
	attach(t, a, second, step, exception)
	a.unshare(step.File, errNotShared)
	attach(t, a, first, step)
	if !slices.Contains(told.kernel.events(first.Target.PID), step.Event) {
		t.Error("not attached, though its exceptions are not seen")
	}
}

// Where it cannot be attached for every process, each has links of its own.
func TestIntraProcessThatCannotBeShared(t *testing.T) {
	first, second, intra := startSharers(t)
	intra.Event, intra.Optional, intra.Form = abi.EventRclcppRingBufferEnqueue, true, abi.FormDerived
	a, told := newUnopened(Options{Shared: true})
	attach(t, a, first, intra)
	if len(told.kernel.events(0)) != 1 {
		t.Fatalf("attached for all: %v", told.kernel.events(0))
	}
	told.kernel.unable = errors.New("refused")
	another := intra
	another.Offset += 4096
	attach(t, a, second, intra, another)
	if own := told.kernel.events(second.Target.PID); len(own) != 2 || len(told.kernel.events(0)) != 0 {
		t.Errorf("attached for it %v, for all %v", own, told.kernel.events(0))
	}
	if own := told.kernel.events(first.Target.PID); len(own) != 1 {
		t.Errorf("attached for the other one %v", own)
	}
}

// A budget counts where intra-process communication is shared, also if it stays.
func TestBudgetBesideSharedIntraProcess(t *testing.T) {
	first, _, intra := startSharers(t)
	intra.Event, intra.Optional, intra.Form = abi.EventRclcppRingBufferEnqueue, true, abi.FormDerived
	a, told := newTestAttacher(Options{Shared: true})
	attach(t, a, first, intra)
	told.withIntra = map[*Process]bool{first: true}
	a.occasional.attachedAt = time.Now().Add(-IntraProcessPatience - NoticeTime)
	a.Settle(t.Context(), first)
	if a.settlesSoon(first.Target.PID) {
		t.Error("its costs are not believed yet")
	}
}
