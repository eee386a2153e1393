package attaching

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/distros"
	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/target"
)

// since gathers when events were armed in a process, and since when they had not been.
func (s *told) armedEvents(p *Process) (events []abi.Event, again int) {
	for _, armed := range s.armed[p] {
		events = append(events, armed.Events...)
		if armed.Since != 0 {
			again++
		}
	}
	slices.Sort(events)
	return events, again
}

// TestArmedIsToldOnce: of each site it is told once since when it is recorded, and again when that is interrupted.
func TestArmedIsToldOnce(t *testing.T) {
	a, told := newTestAttacher(Options{})
	p := processNumber(7)
	start, end := site(abi.EventCallbackStart, abi.RoleFunction), site(abi.EventCallbackEnd, abi.RoleFunction)
	before := monotonicNow()
	attach(t, a, p, start)
	attach(t, a, p, start, end)
	attach(t, a, p, start, end)
	events, again := told.armedEvents(p)
	if !slices.Equal(events, []abi.Event{abi.EventCallbackStart, abi.EventCallbackEnd}) || again != 0 {
		t.Errorf("%v, %d again", events, again)
	}
	for _, armed := range told.armed[p] {
		if armed.At < before || armed.At > monotonicNow() || armed.Path != "lib.so" {
			t.Errorf("%+v", armed)
		}
	}
	if never := a.Unarmed(p); never != nil {
		t.Errorf("never armed: %+v", never)
	}
}

// TestWhatCannotBeAttachedIsUnarmed: whether it is tried again or not.
func TestWhatCannotBeAttachedIsUnarmed(t *testing.T) {
	for _, failure := range []error{loader.ErrUnsafeSite, errors.New("no memory")} {
		a, told := newTestAttacher(Options{})
		told.kernel.refuse = func(s probes.Site) error {
			if s.Event == abi.EventCallbackEnd {
				return failure
			}
			return nil
		}
		p := processNumber(7)
		attach(t, a, p, site(abi.EventCallbackStart, abi.RoleFunction), site(abi.EventCallbackEnd, abi.RoleFunction),
			site(abi.EventExceptionCaught, abi.RoleFunction))
		never := a.Unarmed(p)
		if len(never) != 1 || never[0].At != Never || !slices.Equal(never[0].Events, []abi.Event{abi.EventCallbackEnd}) {
			t.Errorf("%v: %+v", failure, never)
		}
		if events, _ := told.armedEvents(p); !slices.Equal(events, []abi.Event{abi.EventCallbackStart}) {
			t.Errorf("%v: %v", failure, events)
		}
	}
}

// TestCallersAreSeenInBodies: what a caller does is recorded as long as the function that it calls is probed.
func TestCallersAreSeenInBodies(t *testing.T) {
	a, told := newTestAttacher(Options{})
	p := processNumber(7)
	body, caller := site(abi.EventCallbackEnd, abi.RoleBody), site(abi.EventCallbackEnd, abi.RoleCaller)
	other := site(abi.EventCallbackStart, abi.RoleCaller) // of which no body is probed
	body.File.Inode = 99
	attach(t, a, p, body)
	bodies := p.bodies.armed
	attach(t, a, p, body, caller, other)
	armed := told.armed[p]
	if len(armed) != 2 || armed[0].At != bodies || !slices.Equal(armed[0].Events, []abi.Event{abi.EventCallbackEnd}) || armed[1].At <= bodies {
		t.Errorf("%+v, the bodies at %d", armed, bodies)
	}
}

// TestSharingInterrupts: links for every process take the place of those of single ones, and the other way round. It is
// told of each process for how long nothing was attached.
func TestSharingInterrupts(t *testing.T) {
	former, later, probed := startSharers(t)
	a, told := newTestAttacher(Options{Shared: true, ToCome: true})
	former.Target.Distro = "" // then it is probed alone
	attach(t, a, former, probed)
	former.Target.Distro = later.Target.Distro
	attach(t, a, later, probed)
	for p, want := range map[*Process]int{former: 1, later: 0} {
		if events, again := told.armedEvents(p); len(events) != 1+want || again != want {
			t.Errorf("PID %d: %v, %d of them again", p.Target.PID, events, again)
		}
	}
	a.unshare(probed.File, errContested)
	a.attachOthers(t.Context(), nil)
	for p, want := range map[*Process]int{former: 2, later: 1} {
		if _, again := told.armedEvents(p); again != want {
			t.Errorf("PID %d: %d times again, want %d", p.Target.PID, again, want)
		}
		for _, armed := range told.armed[p] {
			if armed.Since > armed.At {
				t.Errorf("%+v", armed)
			}
		}
	}
}

// TestWrittenFileIsUnarmed: a file that is probed no more need not have been since it was last seen to be as proven:
// when it was looked at, or attached to.
func TestWrittenFileIsUnarmed(t *testing.T) {
	p, _, probed := startSharers(t)
	a, told := newTestAttacher(Options{Shared: true, ToCome: true})
	attach(t, a, p, probed)
	if never := a.Unarmed(p); len(never) != 0 {
		t.Errorf("%+v", never)
	}
	before := monotonicNow()
	a.Verify()
	clean := monotonicNow()
	told.kernel.open[0].written = true
	a.Verify()
	if never := a.Unarmed(p); len(never) != 1 || never[0].Since < before || never[0].Since > clean || never[0].At != Never {
		t.Errorf("%+v, it was clean at the last look, from %d to %d", never, before, clean)
	}
}

// TestWrittenAtOnce: a file that was written before it was ever looked at was as proven when it was attached to, but
// not before a process began.
func TestWrittenAtOnce(t *testing.T) {
	p, later, probed := startSharers(t)
	a, told := newTestAttacher(Options{Shared: true, ToCome: true})
	before := monotonicNow()
	attach(t, a, p, probed)
	attached := monotonicNow()
	later.begun = attached
	attach(t, a, later, probed)
	told.kernel.open[0].written = true
	a.Verify()
	if never := a.Unarmed(p); len(never) != 1 || never[0].Since < before || never[0].Since > attached {
		t.Errorf("%+v, attached between %d and %d", never, before, attached)
	}
	if never := a.Unarmed(later); len(never) != 1 || never[0].Since != later.begun {
		t.Errorf("%+v of a process that began at %d", never, later.begun)
	}
}

// TestPartlyAttachedIsTold: what was attached before something failed is told, and what was not is unarmed.
func TestPartlyAttachedIsTold(t *testing.T) {
	a, told := newTestAttacher(Options{})
	p := processNumber(7)
	start, end := site(abi.EventCallbackStart, abi.RoleFunction), site(abi.EventCallbackEnd, abi.RoleFunction)
	p.attached[keyOf(end)] = siteState{settled: true, at: 5}
	told.kernel.failing = errors.New("the share is used up")
	if err := a.Attach(t.Context(), p, &probes.Plan{Sites: []probes.Site{start, end}}); err == nil {
		t.Fatal("attached")
	}
	if events, _ := told.armedEvents(p); !slices.Equal(events, []abi.Event{abi.EventCallbackEnd}) {
		t.Errorf("told %v", events)
	}
	if never := a.Unarmed(p); len(never) != 1 || !slices.Equal(never[0].Events, []abi.Event{abi.EventCallbackStart}) || !p.Planned() {
		t.Errorf("%+v", never)
	}
}

// TestCallsThatCannotBeProbed: what a library calls in ways that cannot be probed is recorded since the functions are
// probed that it calls: of a process alone, or of every one. It is told of each library, with the events that it calls.
func TestCallsThatCannotBeProbed(t *testing.T) {
	body, caller := site(abi.EventCallbackStart, abi.RoleBody), site(abi.EventCallbackStart, abi.RoleCaller)
	body.Offset = 32
	library := target.FileID{Inode: 77}
	plan := func(libraries ...target.FileID) *probes.Plan {
		made := &probes.Plan{Distro: distros.Humble, Sites: []probes.Site{body, caller}}
		for _, file := range libraries {
			made.Uncertain = append(made.Uncertain,
				probes.UncertainCallers{Event: body.Event, Library: "plugin.so", File: file}, probes.UncertainCallers{Event: abi.EventSimTime, File: file})
		}
		return made
	}
	for name, test := range map[string]struct {
		mode          SiteMode
		refused       bool
		told, unarmed int
	}{
		"in time or late":            {told: 1},
		"not, because nothing is":    {refused: true, unarmed: 1},
		"in bodies that always stay": {mode: SitesBoth},
		"not, as the user wants it":  {mode: SitesCallers},
	} {
		t.Run(name, func(t *testing.T) {
			a, told := newTestAttacher(Options{Sites: test.mode})
			p := processNumber(1)
			attach := func(plan *probes.Plan) {
				t.Helper()
				if err := a.Attach(t.Context(), p, plan); err != nil {
					t.Fatal(err)
				}
			}
			attach(plan())
			p.bodies.since = time.Now().Add(-bodiesPatience)
			a.Settle(t.Context(), p)
			if test.refused {
				told.kernel.refuse = func(s probes.Site) error {
					if s.Role == abi.RoleBody {
						return errors.New("refused")
					}
					return nil
				}
			}
			loaded := monotonicNow()
			a.LibrariesChange(t.Context(), p)
			back := monotonicNow()
			attach(plan(library))
			attach(plan(library))
			count := 0
			for _, armed := range told.armed[p] {
				if armed.File != library {
					continue
				}
				count++
				if armed.At < loaded || armed.At > back || armed.Since != 0 || armed.Path != "plugin.so" || !slices.Equal(armed.Events, []abi.Event{body.Event}) {
					t.Errorf("%+v, the bodies came back between %d and %d", armed, loaded, back)
				}
			}
			never := slices.DeleteFunc(a.Unarmed(p), func(armed Armed) bool { return armed.File != library })
			if count != test.told || len(never) != test.unarmed {
				t.Errorf("told %d times, never armed: %+v", count, never)
			}
		})
	}
}

// TestLinksOfBodiesAreLost: of a library whose calls are seen in functions only, nothing is recorded when the links of
// these are closed.
func TestLinksOfBodiesAreLost(t *testing.T) {
	a, _ := newTestAttacher(Options{})
	p := processNumber(1)
	body, library := site(abi.EventCallbackStart, abi.RoleBody), target.FileID{Inode: 77}
	plan := &probes.Plan{Sites: []probes.Site{body}, Uncertain: []probes.UncertainCallers{{Event: body.Event, File: library}}}
	if err := a.Attach(t.Context(), p, plan); err != nil {
		t.Fatal(err)
	}
	p.lose(target.FileID{Inode: 78}, 1)
	if len(p.lostSince) != 0 {
		t.Errorf("another file is lost: %v", p.lostSince)
	}
	p.begun = 5
	p.lose(body.File, 7)
	if p.lostSince[library] != 7 {
		t.Errorf("lost since %v", p.lostSince)
	}
}
