package attaching

import (
	"errors"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
)

// bodies are how many bodies are attached to a process, or to every one (0).
func isBody(s probes.Site) bool { return s.Role == abi.RoleBody || s.Role == abi.RoleOwnBody }

func (k *fakeKernel) bodies(pid int32) (count int) {
	for _, a := range k.open {
		if a.pid == pid {
			count += len(slices.DeleteFunc(slices.Clone(a.sites), func(s probes.Site) bool { return !isBody(s) }))
		}
	}
	return count
}

// attachUncertain attaches a caller and its body in a process that may have other callers.
func attachUncertain(t *testing.T, a *Attacher, p *Process, caller, body probes.Site) {
	t.Helper()
	plan := &probes.Plan{Sites: []probes.Site{caller, body}, Uncertain: []probes.UncertainCallers{{Event: caller.Event}}}
	if err := a.Attach(t.Context(), p, plan); err != nil {
		t.Fatal(err)
	}
}

// Before a recording begins, bodies are attached to a process only if it has callers that are not probed. When it
// loads libraries afterwards they are, and nobody is warned of callers that came before.
func TestBodiesBeforeTheRecording(t *testing.T) {
	refused := errors.New("refused")
	caller, body := site(abi.EventCallbackStart, abi.RoleCaller), site(abi.EventCallbackStart, abi.RoleBody)
	body.Offset = 32
	later := site(abi.EventCallbackEnd, abi.RoleCaller)
	for name, test := range map[string]struct {
		uncertain bool
		refuses   bool
		want      int
	}{
		"all callers are probed":      {false, false, 0},
		"a caller cannot be probed":   {true, false, 1},
		"a caller cannot be attached": {false, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			a, told := newUnopened(Options{})
			if test.refuses {
				told.kernel.refuse = func(s probes.Site) error {
					if s.Role == abi.RoleCaller {
						return refused
					}
					return nil
				}
			}
			p := processNumber(1)
			plan := &probes.Plan{Sites: []probes.Site{caller, body}}
			if test.uncertain {
				plan.Uncertain = []probes.UncertainCallers{{Event: caller.Event}}
			}
			if err := a.Attach(t.Context(), p, plan); err != nil {
				t.Fatal(err)
			}
			if got := told.kernel.bodies(1); got != test.want {
				t.Errorf("%d bodies, want %d", got, test.want)
			}
			warned := len(told.warnings)
			plan.Sites = append(plan.Sites, later)
			if err := a.Attach(t.Context(), p, plan); err != nil {
				t.Fatal(err)
			}
			if got := told.kernel.bodies(1); got != test.want || !test.refuses && len(told.warnings) != warned {
				t.Errorf("mapped meanwhile: %d bodies, want %d; %v", got, test.want, told.warnings)
			}
			a.Open()
			if a.LibrariesChange(t.Context(), p); told.kernel.bodies(1) != 1 {
				t.Errorf("%d bodies when it loads libraries", told.kernel.bodies(1))
			}
		})
	}
}

// The same for bodies that every process shares.
func TestSharedBodiesBeforeTheRecording(t *testing.T) {
	first, second, caller := startSharers(t)
	caller.Role = abi.RoleCaller
	body := bodyOf(caller)
	a, told := newUnopened(Options{Shared: true})
	a.Begin(t.Context(), first)
	attach(t, a, first, caller, body)
	if told.kernel.sharedBodies() != 0 {
		t.Error("they are attached though all callers are probed")
	}
	attachUncertain(t, a, second, caller, body)
	if told.kernel.sharedBodies() != 0 || told.kernel.bodies(second.Target.PID) != 1 {
		t.Error("they are not attached for a process with uncertain callers, and for it alone")
	}
	a, told = newUnopened(Options{Shared: true, ToCome: true})
	if attach(t, a, first, caller, body); told.kernel.sharedBodies() != 0 {
		t.Error("they are attached though no process is about to begin")
	}
	if a.Await(t.Context()); told.kernel.sharedBodies() != 1 {
		t.Error("they are not attached for a program of which nothing is known")
	}
	a, told = newUnopened(Options{Shared: true})
	attach(t, a, first, caller, body)
	a.Open()
	if a.LibrariesChange(t.Context(), first); told.kernel.bodies(first.Target.PID) != 1 {
		t.Error("they do not come for libraries to come")
	}
}

// Few processes that have just begun have bodies of their own when a recording begins, many have them with everybody.
func TestYoungProcessesBeforeTheRecording(t *testing.T) {
	first, second, caller := startSharers(t)
	caller.Role = abi.RoleCaller
	body := bodyOf(caller)
	shell := processNumber(1) // which leads to programs of which nothing is known
	for name, test := range map[string]struct {
		young       []*Process
		own, shared int
	}{
		"none":    {},
		"one":     {[]*Process{second}, 1, 0},
		"many":    {slices.Repeat([]*Process{second}, maxLoading+1), 0, 1},
		"a shell": {[]*Process{second, shell}, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			a, told := newUnopened(Options{Shared: true, ToCome: true})
			attach(t, a, first, caller, body)
			a.AwaitLoading(t.Context(), test.young)
			if own, shared := told.kernel.bodies(second.Target.PID), told.kernel.sharedBodies(); own != test.own || shared != test.shared {
				t.Errorf("the process has %d bodies, every one %d", own, shared)
			}
			if told.kernel.bodies(first.Target.PID) != 0 {
				t.Error("another process has bodies of its own")
			}
			a.Open()
			outwaitLoading(a)
			if settleNow(t, a, first, second); told.kernel.bodies(second.Target.PID)+told.kernel.sharedBodies() != 0 {
				t.Error("they stay though all callers are probed")
			}
		})
	}
}

// When callers cannot be attached at all, bodies are until it is tried again.
func TestBodiesBeforeTheRecordingWhereCallersFail(t *testing.T) {
	caller, body := site(abi.EventCallbackStart, abi.RoleCaller), site(abi.EventCallbackStart, abi.RoleBody)
	body.Offset = 32
	a, told := newUnopened(Options{})
	told.kernel.failingAt = func(sites []probes.Site) error {
		if slices.ContainsFunc(sites, isCaller) {
			return errors.New("no room")
		}
		return nil
	}
	p := processNumber(1)
	if err := a.Attach(t.Context(), p, &probes.Plan{Sites: []probes.Site{caller, body}}); err == nil {
		t.Fatal("attached")
	}
	if told.kernel.bodies(1) != 1 {
		t.Errorf("%d bodies", told.kernel.bodies(1))
	}
}

// Bodies that were only remembered of one process come for its libraries, though those of another stay attached.
func TestRememberedBodiesBesideOthers(t *testing.T) {
	first, second, caller := startSharers(t)
	caller.Role = abi.RoleCaller
	body := bodyOf(caller)
	a, told := newUnopened(Options{Shared: true})
	attachUncertain(t, a, first, caller, body)
	another := body
	another.Offset += 4096
	attach(t, a, second, caller, another)
	if got := told.kernel.bodies(first.Target.PID); got != 1 {
		t.Fatalf("%d bodies", got)
	}
	a.Open()
	if a.LibrariesChange(t.Context(), second); told.kernel.bodies(second.Target.PID) != 2 || told.kernel.bodies(0) != 0 {
		t.Errorf("%d bodies, and %d of every process", told.kernel.bodies(second.Target.PID), told.kernel.bodies(0))
	}
}
