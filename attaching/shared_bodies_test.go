package attaching

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/distros"
	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/target"
)

// bodyOf is the body of a function whose caller is given, in the same file.
func bodyOf(caller probes.Site) probes.Site {
	body := caller
	body.Role, body.Offset = abi.RoleBody, caller.Offset+1024
	return body
}

// sharedBodies are how many bodies are attached for every process.
func (k *fakeKernel) sharedBodies() (count int) {
	for _, a := range k.open {
		if a.pid == 0 && slices.ContainsFunc(a.sites, func(s probes.Site) bool { return s.Role == abi.RoleBody }) {
			count++
		}
	}
	return count
}

// outwaitLoading has bodies wait no longer for libraries to come.
func outwaitLoading(a *Attacher) {
	a.bodies.since = time.Now().Add(-bodiesPatience)
	for _, own := range a.loading {
		own.since = time.Now().Add(-loadingPatience)
	}
}

// Where links are for every process, bodies are attached for the process alone that may have callers that are not
// probed, and go when all are.
func TestOwnBodiesComeAndGo(t *testing.T) {
	former, later, caller := startSharers(t)
	caller.Role = abi.RoleCaller
	body := bodyOf(caller)
	a, told := newTestAttacher(Options{Shared: true, ToCome: true})
	settle := func(p *Process) int {
		outwaitLoading(a)
		settleNow(t, a, p)
		return told.kernel.bodies(p.Target.PID)
	}
	attach(t, a, former, caller, body)
	if settleNow(t, a, former); told.kernel.bodies(former.Target.PID) != 1 || len(told.warnings) != 0 {
		t.Fatalf("%d bodies, warnings %v", told.kernel.bodies(former.Target.PID), told.warnings)
	}
	if settle(former) != 0 {
		t.Error("they stay though all callers are probed")
	}
	// A process with the same files has no other callers.
	a.Begin(t.Context(), later)
	attach(t, a, later, caller, body)
	if told.kernel.bodies(later.Target.PID) != 0 {
		t.Error("they come for a process whose callers are probed")
	}
	if a.LibrariesChange(t.Context(), later); told.kernel.bodies(later.Target.PID) != 1 {
		t.Error("they do not come for libraries to come")
	}
	if settle(later) != 0 {
		t.Error("they stay then")
	}
	clear(a.sharing.examined)
	later.examined = nil
	if a.Begin(t.Context(), later); told.kernel.bodies(later.Target.PID) != 1 {
		t.Error("they do not come for a process of whose files nothing is known")
	}
	other := caller
	other.Offset = 512
	if settle(later) != 0 {
		t.Error("they stay then")
	}
	attach(t, a, later, caller, other, body)
	if told.kernel.bodies(later.Target.PID) != 1 {
		t.Error("they do not come for a caller that was not probed")
	}
	told.kernel.refuse = func(s probes.Site) error {
		if s.Offset == 256 {
			return errors.New("refused")
		}
		return nil
	}
	refused := caller
	refused.Offset = 256
	attach(t, a, later, caller, other, refused, body)
	if settle(later) != 1 {
		t.Error("they are detached though a caller is not probed")
	}
	a.Release(later)
	if a.Sweep(); told.kernel.bodies(later.Target.PID) != 0 || len(a.loading) != 0 {
		t.Error("they stay when that process has ended")
	}
	if told.kernel.sharedBodies() != 0 {
		t.Error("every process has bodies")
	}
}

// While more processes load something at a time than can be attended to one after the other, bodies are attached for
// every process. They go when all callers are probed.
func TestSharedBodiesForManyThatLoad(t *testing.T) {
	first, _, caller := startSharers(t)
	caller.Role = abi.RoleCaller
	body := bodyOf(caller)
	a, told := newTestAttacher(Options{Shared: true, ToCome: true})
	attach(t, a, first, caller, body)
	processes := []*Process{first}
	finder := target.NewFinder()
	for len(processes) <= maxLoading {
		p, module := startProcess(t, finder, 0)
		runROS2(p, module)
		if told.kernel.sharedBodies() != 0 || len(a.loading) != len(processes) {
			t.Fatalf("%d processes load, %d have bodies, every one has %d", len(processes), len(a.loading), told.kernel.sharedBodies())
		}
		attach(t, a, p, caller, body)
		a.LibrariesChange(t.Context(), p)
		processes = append(processes, p)
	}
	own := 0
	for _, p := range processes {
		own += told.kernel.bodies(p.Target.PID)
	}
	if told.kernel.sharedBodies() != 1 || own != 0 || len(a.loading) != 0 {
		t.Errorf("every process has %d bodies, single ones %d", told.kernel.sharedBodies(), own)
	}
	a.LibrariesChange(t.Context(), first)
	if told.kernel.bodies(first.Target.PID) != 0 {
		t.Error("one process has bodies beside those of every one")
	}
	first.bodies.stay = true
	outwaitLoading(a)
	if settleNow(t, a, processes...); told.kernel.sharedBodies() != 1 {
		t.Error("they are detached though a process needs them")
	}
	first.bodies.stay = false
	outwaitLoading(a)
	if settleNow(t, a, processes...); told.kernel.sharedBodies() != 0 {
		t.Error("they stay")
	}
}

// A process that does not run ROS 2 itself, and may be a shell, has bodies attached for every process.
func TestBodiesForWhoIsAboutToBeginAProgram(t *testing.T) {
	former, _, caller := startSharers(t)
	caller.Role = abi.RoleCaller
	shell, _ := startProcess(t, target.NewFinder(), 0)
	a, told := newTestAttacher(Options{Shared: true, ToCome: true})
	attach(t, a, former, caller, bodyOf(caller))
	other := caller
	other.Offset = 512
	attach(t, a, shell, other, bodyOf(caller))
	if told.kernel.sharedBodies() != 1 || told.kernel.bodies(shell.Target.PID) != 0 || told.kernel.bodies(former.Target.PID) != 0 {
		t.Errorf("every process has %d bodies, single ones %d", told.kernel.sharedBodies(), len(a.loading))
	}
}

// A process of another distribution does not wait for bodies that it cannot map.
func TestBodiesOfOtherDistributions(t *testing.T) {
	former, later, caller := startSharers(t)
	caller.Role = abi.RoleCaller
	a, told := newTestAttacher(Options{Shared: true, ToCome: true})
	former.Target.Distro = distros.Humble
	attach(t, a, former, caller, bodyOf(caller))
	for distro, want := range map[distros.Distro]int{distros.Humble: 1, distros.Jazzy: 0, distros.Unknown: 1} {
		later.Target.Distro = distro
		a.LibrariesChange(t.Context(), later)
		if got := told.kernel.bodies(later.Target.PID); got != want {
			t.Errorf("%q has %d bodies", distro, got)
		}
		outwaitLoading(a)
		settleNow(t, a, former, later)
	}
	if told.kernel.sharedBodies() != 0 {
		t.Error("every process has bodies")
	}
}

// A process that cannot have bodies of its own shares those of every one.
func TestOwnBodiesThatCannotBe(t *testing.T) {
	for name, test := range map[string]struct {
		failure     error
		sharesLinks bool
		shared      int
	}{
		"no room":                    {errors.New("no room"), false, 1},
		"the process ends":           {loader.ErrProcessGone, false, 0},
		"all links are of every one": {nil, true, 1},
		"nothing hinders it":         {nil, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			former, later, caller := startSharers(t)
			caller.Role = abi.RoleCaller
			a, told := newTestAttacher(Options{Shared: true, ToCome: true})
			told.kernel.sharesLinks = test.sharesLinks
			attach(t, a, former, caller, bodyOf(caller))
			outwaitLoading(a)
			settleNow(t, a, former)
			told.kernel.failingOf = map[int32]error{later.Target.PID: test.failure}
			a.LibrariesChange(t.Context(), later)
			if told.kernel.sharedBodies() != test.shared || len(told.warnings) != 0 {
				t.Errorf("%d bodies of every process, warnings %v", told.kernel.sharedBodies(), told.warnings)
			}
		})
	}
}

// What a caller does is seen as long as it is probed, or a body that is attached for its process.
func TestSharedBodiesArmCallers(t *testing.T) {
	former, later, caller := startSharers(t)
	caller.Role = abi.RoleCaller
	body := bodyOf(caller)
	a, told := newTestAttacher(Options{Shared: true, ToCome: true})
	attach(t, a, former, caller, body)
	a.Await(t.Context())
	bodies := a.bodies.attached[keyOf(body)].at
	other := caller
	other.Offset = 512
	attach(t, a, later, other, body)
	armed := told.armed[later]
	if len(armed) != 1 || armed[0].At != bodies {
		t.Errorf("armed %+v, the bodies are since %d", armed, bodies)
	}
	outwaitLoading(a)
	settleNow(t, a, former)
	third := caller
	third.Offset = 768
	before := monotonicNow()
	attach(t, a, later, other, third, body)
	if armed := told.armed[later]; len(armed) != 2 || armed[1].At < before || armed[1].At != a.loading[later].attached[keyOf(body)].at {
		t.Errorf("armed %+v, the bodies came back after %d", armed, before)
	}
}

// A file whose bodies cannot be shared is probed for each process alone.
func TestBodiesThatCannotBeShared(t *testing.T) {
	_, later, caller := startSharers(t)
	caller.Role = abi.RoleCaller
	body := bodyOf(caller)
	a, told := newTestAttacher(Options{Shared: true, ToCome: true})
	told.kernel.unable = errors.New("no memory")
	attach(t, a, later, caller, body)
	if got := len(told.kernel.events(later.Target.PID)); got != 2 || told.kernel.sharedBodies() != 0 {
		t.Errorf("%d sites of its own, %d bodies shared", got, told.kernel.sharedBodies())
	}
	if !slices.ContainsFunc(told.warnings, func(err error) bool { return strings.Contains(err.Error(), "no memory") }) {
		t.Errorf("warnings %v", told.warnings)
	}
}

// When bodies in one file cannot be attached, those in another one are attached with the next attempt.
func TestSharedBodiesAreTriedAgain(t *testing.T) {
	former, _, caller := startSharers(t)
	caller.Role = abi.RoleCaller
	first, second := bodyOf(caller), bodyOf(caller)
	second.File.Inode++
	second.Event = abi.EventCallbackEnd
	a, told := newTestAttacher(Options{Shared: true, ToCome: true})
	a.share(former, caller.File)
	a.share(former, second.File)
	attempts := 0
	told.kernel.failingAt = func(sites []probes.Site) error {
		if attempts++; sites[0].File == second.File && attempts < 2 {
			return errors.New("no memory")
		}
		return nil
	}
	if _, err := a.attachSharedBodies(t.Context(), []probes.Site{first, second}); err == nil || told.kernel.sharedBodies() != 0 {
		t.Fatalf("%v, %d bodies", err, told.kernel.sharedBodies())
	}
	if _, err := a.attachSharedBodies(t.Context(), nil); err != nil || told.kernel.sharedBodies() != 2 {
		t.Errorf("%v, %d bodies", err, told.kernel.sharedBodies())
	}
}

// Of several files, only the one that cannot be attached to for every process is probed for each alone.
func TestOnlyTheFileThatFailsIsApart(t *testing.T) {
	former, _, caller := startSharers(t)
	caller.Role = abi.RoleCaller
	good, bad := bodyOf(caller), bodyOf(caller)
	bad.File.Inode++
	a, told := newTestAttacher(Options{Shared: true, ToCome: true})
	a.share(former, bad.File)
	failures := 0
	told.kernel.failingAt = func(sites []probes.Site) error {
		if sites[0].File == bad.File && failures < 2 { // for the process alone, and for every one
			failures++
			return errors.New("no memory")
		}
		return nil
	}
	attach(t, a, former, caller, good, bad)
	if _, apart := a.sharing.apart[bad.File]; !apart || len(a.sharing.apart) != 1 {
		t.Errorf("apart: %v", a.sharing.apart)
	}
	if got := told.kernel.events(former.Target.PID); !slices.Equal(got, []abi.Event{bad.Event, good.Event}) {
		t.Errorf("%v of the process alone", got)
	}
}

// Nor must a process that runs meanwhile seem to begin what does not end where bodies are attached for all.
func TestOrderOfSharedBodies(t *testing.T) {
	former, _, caller := startSharers(t)
	start, end := bodyOf(caller), bodyOf(caller)
	start.Event, end.Event = abi.EventCallbackStart, abi.EventCallbackEnd
	end.Offset++
	a, told := newTestAttacher(Options{Shared: true, ToCome: true})
	a.share(former, caller.File)
	if _, err := a.attachSharedBodies(t.Context(), []probes.Site{start, end}); err != nil {
		t.Fatal(err)
	}
	if got, want := told.kernel.events(0), []abi.Event{end.Event, start.Event}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A file that is probed for every process no longer is not said to be.
func TestFilesThatAreProbedForAll(t *testing.T) {
	former, _, caller := startSharers(t)
	a, _ := newTestAttacher(Options{Shared: true, ToCome: true})
	if a.IsForAll(caller.File) {
		t.Error("before anything is attached")
	}
	if attach(t, a, former, caller); !a.IsForAll(caller.File) {
		t.Error("not when it is attached")
	}
	if a.unshare(caller.File, errNotShared); a.IsForAll(caller.File) {
		t.Error("still when it is detached")
	}
}

// As long as nobody runs ROS 2, bodies wait for who does, and stay for a while then.
func TestBodiesAwaitTheFirst(t *testing.T) {
	first, _, caller := startSharers(t)
	caller.Role = abi.RoleCaller
	body := bodyOf(caller)
	over := time.Now().Add(-bodiesPatience)
	for _, test := range []struct {
		name  string
		event func(a *Attacher)
		want  int
	}{
		{"nobody comes", func(*Attacher) {}, 1},
		{"others run it", func(a *Attacher) { a.AwaitNone() }, 0},
		{"others run it, and a command is about to begin", func(a *Attacher) {
			a.AwaitNone()
			a.Await(t.Context())
			a.AwaitNone()
		}, 1},
		{"the first has begun", func(a *Attacher) { a.Begin(t.Context(), first) }, 1},
		{"and was there for long", func(a *Attacher) {
			a.Begin(t.Context(), first)
			a.bodies.since = over
		}, 0},
		{"and is over", func(a *Attacher) {
			a.Begin(t.Context(), first)
			a.bodies.since = over
			settleNow(t, a, first)
			a.AwaitFirst(t.Context())
			a.bodies.since = over
		}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, told := newUnopened(Options{Shared: true, ToCome: true})
			a.share(first, caller.File)
			a.bodies.remember([]probes.Site{body})
			a.AwaitFirst(t.Context())
			a.Open()
			a.bodies.since = over
			if told.kernel.sharedBodies() != 1 {
				t.Fatalf("%d bodies when nobody runs it", told.kernel.sharedBodies())
			}
			test.event(a)
			if settleNow(t, a, first); told.kernel.sharedBodies() != test.want {
				t.Errorf("%d bodies, want %d; %v", told.kernel.sharedBodies(), test.want, told.warnings)
			}
		})
	}
}
