package attaching

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/distros"
	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/quota"
	"github.com/caret-bpf/caret-bpf/target"
)

// fakeKernel attaches nothing, and keeps what it was asked for.
type fakeKernel struct {
	open    []*fakeAttachment
	closed  int // calls
	refuse  func(probes.Site) error
	failing error // of every process
	unable  error // of links for all processes
	// failingAt decides for some sites.
	failingAt func([]probes.Site) error
	retired   []abi.Unit
	// changes are the steps of replacing all links, and what was attached at each.
	changes      []changeStep
	unchangeable error           // of all links
	committing   func() error    // what comes of committing
	failingOf    map[int32]error // of single processes
	sharesLinks  bool
	hasTracefs   bool // in place of uprobe_multi
	// prefersOwn is what was last told of links of single processes, and twice are the events that were recorded twice.
	prefersOwn bool
	twice      []abi.Event
	// awaited says that all hits were awaited since something was attached, hasty are the events of links that were closed
	// before that, though hits may have passed the place of the newer ones.
	awaited bool
	hasty   []abi.Event
	waiting error // what comes of awaiting
	// payers are who pays for what is done in processes, or in every one (0).
	payers map[int32]*quota.Account
}

type fakeAttachment struct {
	pid     int32
	sites   []probes.Site
	written bool
}

func (a *fakeAttachment) Verify() error {
	if a.written {
		return loader.ErrFileChanged
	}
	return nil
}

func (k *fakeKernel) Attach(ctx context.Context, pid int32, sites []probes.Site) (attachment, []loader.SiteError, error) {
	if k.payers != nil {
		k.payers[pid] = quota.From(ctx)
	}
	if k.failing != nil {
		return nil, nil, k.failing
	}
	if err := k.failingOf[pid]; err != nil {
		return nil, nil, err
	}
	if pid == 0 && k.unable != nil {
		return nil, nil, k.unable
	}
	if k.failingAt != nil {
		if err := k.failingAt(sites); err != nil {
			return nil, nil, err
		}
	}
	attached := &fakeAttachment{pid: pid}
	var problems []loader.SiteError
	for _, site := range sites {
		if k.refuse != nil {
			if err := k.refuse(site); err != nil {
				problems = append(problems, loader.SiteError{Site: site, Err: err})
				continue
			}
		}
		attached.sites = append(attached.sites, site)
	}
	k.open, k.awaited = append(k.open, attached), false
	k.forBothKinds(func(own, shared int, event abi.Event) {
		if (shared < own) != k.prefersOwn {
			k.twice = append(k.twice, event)
		}
	})
	return attached, problems, nil
}

// PreferOwnLinks must not be called while both kinds are attached.
func (k *fakeKernel) PreferOwnLinks(own bool) error {
	k.prefersOwn = own
	k.forBothKinds(func(_, _ int, event abi.Event) { k.twice = append(k.twice, event) })
	return nil
}

func (k *fakeKernel) AwaitHits() error {
	k.awaited = k.waiting == nil
	return k.waiting
}

// forBothKinds tells of the sites at which a process has a link of its own beside one for every process, and which of
// the open ones they are: a hit calls the newer one first.
func (k *fakeKernel) forBothKinds(tell func(own, shared int, event abi.Event)) {
	for i, own := range k.open {
		for _, site := range own.sites {
			if site.Role != abi.RoleOwnFunction {
				continue
			}
			shared := slices.IndexFunc(k.open, func(a *fakeAttachment) bool {
				return a.pid == 0 && slices.ContainsFunc(a.sites, func(s probes.Site) bool { return keyOf(s) == keyOf(site) })
			})
			if shared >= 0 {
				tell(i, shared, site.Event)
			}
		}
	}
}

// changeStep is a step of replacing all links.
type changeStep struct {
	name   string
	filter bool
	open   []*fakeAttachment
}

func (k *fakeKernel) step(name string, filter bool) error {
	k.changes = append(k.changes, changeStep{name, filter, slices.Clone(k.open)})
	return nil
}

func (k *fakeKernel) BeginChange(filter bool) error {
	return errors.Join(k.unchangeable, k.step("begin", filter))
}

func (k *fakeKernel) CommitChange() error {
	if k.committing != nil {
		if err := k.committing(); err != nil {
			return err
		}
	}
	return k.step("commit", false)
}

func (k *fakeKernel) SharesLinks() bool { return k.sharesLinks }

func (k *fakeKernel) MayChangeLinks() bool { return !k.sharesLinks && !k.hasTracefs }

func (k *fakeKernel) EndChange() error { return k.step("end", false) }

func (k *fakeKernel) RetireUnit(unit abi.Unit) error {
	k.retired = append(k.retired, unit)
	return nil
}

func (k *fakeKernel) ReinstateUnits(units []abi.Unit) error {
	k.retired = slices.DeleteFunc(k.retired, func(unit abi.Unit) bool { return slices.Contains(units, unit) })
	return nil
}

func (k *fakeKernel) Close(attachments []attachment) error {
	k.closed++
	k.forBothKinds(func(own, shared int, event abi.Event) {
		closes := func(i int) bool { return slices.Contains(attachments, attachment(k.open[i])) }
		older, newer := min(own, shared), max(own, shared)
		if !k.awaited && closes(older) && !closes(newer) {
			k.hasty = append(k.hasty, event)
		}
	})
	k.open = slices.DeleteFunc(k.open, func(a *fakeAttachment) bool { return slices.Contains(attachments, attachment(a)) })
	return nil
}

// events are what is attached to a process, or to every one (0), in the order in which it was.
func (k *fakeKernel) events(pid int32) []abi.Event {
	var events []abi.Event
	for _, a := range k.open {
		for _, site := range a.sites {
			if a.pid == pid {
				events = append(events, site.Event)
			}
		}
	}
	return events
}

// told keeps what an Attacher tells, and answers for entities.
type told struct {
	kernel            *fakeKernel
	warnings          []error
	messages          []string
	attached          []probes.Site
	retiring          []abi.Unit
	missing           map[*Process][]probes.Missing
	armed             map[*Process][]Armed
	hasIntra, noIntra bool              // of every process
	withIntra         map[*Process]bool // these have it whatever others do
}

func (s *told) Warn(err error) {
	if err != nil {
		s.warnings = append(s.warnings, err)
	}
}
func (s *told) Message(text string)                          { s.messages = append(s.messages, text) }
func (s *told) Attached(_ int32, sites []probes.Site)        { s.attached = append(s.attached, sites...) }
func (s *told) Armed(p *Process, armed []Armed)              { s.armed[p] = append(s.armed[p], armed...) }
func (s *told) Missing(p *Process, missing []probes.Missing) { s.missing[p] = missing }
func (s *told) Retiring(unit abi.Unit, _ ThreadShare)        { s.retiring = append(s.retiring, unit) }
func (s *told) HasIntraProcess(p *Process) bool              { return s.hasIntra || s.withIntra[p] }
func (s *told) NoIntraProcess(p *Process) bool               { return s.noIntra && !s.withIntra[p] }

// newTestAttacher is one whose recording has begun.
func newTestAttacher(options Options) (a *Attacher, reporter *told) {
	a, reporter = newUnopened(options)
	a.Open()
	return a, reporter
}

func newUnopened(options Options) (a *Attacher, reporter *told) {
	reporter = &told{kernel: &fakeKernel{}, missing: map[*Process][]probes.Missing{}, armed: map[*Process][]Armed{}}
	return newAttacher(reporter.kernel, options, reporter, reporter), reporter
}

func processNumber(pid int32) *Process {
	return NewProcess(&target.Process{Identity: target.Identity{PID: pid}, Command: "node", Distro: distros.Humble})
}

func site(event abi.Event, role abi.Role) probes.Site {
	return probes.Site{Event: event, Role: role, File: target.FileID{Inode: uint64(event) + 1}, Offset: 16, Library: "lib.so"}
}

func attach(t *testing.T, a *Attacher, p *Process, sites ...probes.Site) {
	t.Helper()
	plan := &probes.Plan{Distro: distros.Humble, Sites: sites}
	for _, module := range p.Target.Modules {
		plan.Examined = append(plan.Examined, module.File)
	}
	if err := a.Attach(t.Context(), p, plan); err != nil {
		t.Fatal(err)
	}
}

// The user of a process pays for what is attached to it, and nobody for what is attached for everybody.
func TestWhoPaysForAttaching(t *testing.T) {
	process, err := target.NewFinder().Inspect(t.Context(), int32(os.Getpid()))
	if err != nil {
		t.Skip(err)
	}
	defer process.Close()
	own := site(abi.EventCallbackStart, abi.RoleFunction)
	for name, own := range map[string]probes.Site{
		"a function": own, "a body": site(abi.EventCallbackEnd, abi.RoleBody),
		"for intra-process communication": site(abi.EventRclcppRingBufferEnqueue, abi.RoleFunction),
	} {
		t.Run(name, func(t *testing.T) {
			a, told := newTestAttacher(Options{})
			told.kernel.payers = map[int32]*quota.Account{}
			attach(t, a, NewProcess(process), own)
			if got := told.kernel.payers[process.PID]; got != process.Account() {
				t.Errorf("%v pay", told.kernel.payers)
			}
		})
	}
	a, told := newTestAttacher(Options{})
	told.kernel.payers = map[int32]*quota.Account{}
	if _, _, err := a.prober.attach(process.PaidBy(t.Context()), 0, nil, []probes.Site{own}, attachedSites{}); err != nil || told.kernel.payers[0] != nil {
		t.Errorf("for everybody, %v pays, %v", told.kernel.payers[0], err)
	}
}

// A process that runs meanwhile must not seem to begin what does not end: ends are attached before starts,
// initialization before both.
func TestOrderOfAttaching(t *testing.T) {
	a, told := newTestAttacher(Options{})
	attach(t, a, processNumber(1), site(abi.EventCallbackStart, abi.RoleFunction), site(abi.EventRclcppPublish, abi.RoleFunction),
		site(abi.EventCallbackEnd, abi.RoleFunction), site(abi.EventRclNodeInit, abi.RoleFunction))
	want := []abi.Event{abi.EventRclNodeInit, abi.EventCallbackEnd, abi.EventCallbackStart, abi.EventRclcppPublish}
	if got := told.kernel.events(1); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A site is attached once, and one that was refused is tried again unless it can never succeed.
func TestSitesAreTriedAgain(t *testing.T) {
	for name, test := range map[string]struct {
		refused error
		again   bool
	}{
		"for a reason that may pass": {errors.New("no memory"), true},
		"unsafe":                     {loader.ErrUnsafeSite, false},
		"of a file that was written": {loader.ErrFileChanged, false},
	} {
		t.Run(name, func(t *testing.T) {
			a, told := newTestAttacher(Options{})
			p := processNumber(1)
			good, bad := site(abi.EventCallbackStart, abi.RoleFunction), site(abi.EventCallbackEnd, abi.RoleFunction)
			told.kernel.refuse = func(s probes.Site) error {
				if s.Event == bad.Event {
					return test.refused
				}
				return nil
			}
			attach(t, a, p, good, bad)
			if len(told.attached) != 1 || told.attached[0].Event != good.Event || len(told.warnings) != 1 {
				t.Fatalf("told %v, %v", told.attached, told.warnings)
			}
			told.kernel.refuse = nil
			attach(t, a, p, good, bad)
			if again := len(told.attached) == 2; again != test.again {
				t.Errorf("tried again: %v, want %v", again, test.again)
			}
			if starts := slices.DeleteFunc(told.kernel.events(1), func(e abi.Event) bool { return e != good.Event }); len(starts) != 1 {
				t.Errorf("%d times attached", len(starts))
			}
		})
	}
}

// Bodies whose callers are probed are detached when nothing was mapped for a while, come back when libraries change,
// and are told of once.
func TestBodiesComeAndGo(t *testing.T) {
	a, told := newTestAttacher(Options{})
	p := processNumber(1)
	caller, body := site(abi.EventCallbackStart, abi.RoleCaller), site(abi.EventCallbackStart, abi.RoleBody)
	body.Offset = 32
	attach(t, a, p, caller, body)
	if len(told.kernel.events(1)) != 2 {
		t.Fatalf("attached %v", told.kernel.events(1))
	}
	a.Settle(t.Context(), p)
	if len(told.kernel.open) != 2 {
		t.Error("detached at once")
	}
	p.bodies.since = time.Now().Add(-bodiesPatience)
	a.Settle(t.Context(), p)
	if len(told.kernel.open) != 1 || !a.budget.settling {
		t.Errorf("%d attachments, settling %v", len(told.kernel.open), a.budget.settling)
	}
	a.LibrariesChange(t.Context(), p)
	if len(told.kernel.open) != 2 || len(told.attached) != 2 {
		t.Errorf("%d attachments, %d sites told", len(told.kernel.open), len(told.attached))
	}
}

// Bodies stay where callers cannot be probed.
func TestBodiesStayWithoutCertainCallers(t *testing.T) {
	for name, test := range map[string]struct {
		uncertain []probes.UncertainCallers
		refused   error
	}{
		"a caller that was refused": {refused: errors.New("refused")},
		"a file that may call":      {uncertain: []probes.UncertainCallers{{Event: abi.EventCallbackEnd, Library: "lib.so", Reason: "it may call"}}},
	} {
		t.Run(name, func(t *testing.T) {
			a, told := newTestAttacher(Options{})
			told.kernel.refuse = func(s probes.Site) error {
				if s.Role == abi.RoleCaller {
					return test.refused
				}
				return nil
			}
			p := processNumber(1)
			plan := &probes.Plan{Sites: []probes.Site{site(abi.EventCallbackStart, abi.RoleCaller), site(abi.EventCallbackEnd, abi.RoleBody)}}
			plan.Uncertain = test.uncertain
			if err := a.Attach(t.Context(), p, plan); err != nil {
				t.Fatal(err)
			}
			p.bodies.since = time.Now().Add(-bodiesPatience)
			a.Settle(t.Context(), p)
			if !slices.Contains(told.kernel.events(1), abi.EventCallbackEnd) {
				t.Error("detached")
			}
		})
	}
}

// What only intra-process communication needs is detached from a process that does without, and comes back when it
// turns out not to.
func TestIntraProcessComesAndGoes(t *testing.T) {
	a, told := newTestAttacher(Options{})
	p := processNumber(1)
	intra := site(abi.EventRclcppRingBufferEnqueue, abi.RoleFunction)
	intra.Optional, intra.Form = true, abi.FormDerived
	if !intra.OnlyIntraProcess() {
		t.Fatal("the site is of something else")
	}
	attach(t, a, p, site(abi.EventCallbackStart, abi.RoleFunction), intra)
	told.noIntra = true
	p.occasional.since = time.Now().Add(-IntraProcessPatience)
	a.Settle(t.Context(), p)
	if slices.Contains(told.kernel.events(1), intra.Event) {
		t.Fatal("not detached")
	}
	told.noIntra, told.hasIntra = false, true
	a.Settle(t.Context(), p)
	if !slices.Contains(told.kernel.events(1), intra.Event) || len(told.warnings) != 1 || len(told.attached) != 2 {
		t.Errorf("attached %v, warnings %v, told %d", told.kernel.events(1), told.warnings, len(told.attached))
	}
	missed := told.armed[p][len(told.armed[p])-1]
	if missed.Since != p.occasional.gaps[0].from || missed.At != p.occasional.returned || missed.At <= missed.Since || !slices.Equal(missed.Events, []abi.Event{intra.Event}) {
		t.Errorf("missed is said to be %+v", missed)
	}
}

// What was attached for processes that are over is detached, all of it at once, and nothing is attached for them any
// more.
func TestReleasedProcessesAreSwept(t *testing.T) {
	a, told := newTestAttacher(Options{})
	var over []*Process
	for pid := int32(1); pid <= 3; pid++ {
		p := processNumber(pid)
		attach(t, a, p, site(abi.EventCallbackStart, abi.RoleFunction), site(abi.EventCallbackEnd, abi.RoleBody))
		over = append(over, p)
	}
	for _, p := range over[:2] {
		a.Release(p)
	}
	a.Sweep()
	if len(told.kernel.events(1))+len(told.kernel.events(2)) != 0 || len(told.kernel.events(3)) != 2 || told.kernel.closed != 1 {
		t.Errorf("%d attachments, closed in %d steps", len(told.kernel.open), told.kernel.closed)
	}
	if a.Sweep(); told.kernel.closed != 1 {
		t.Error("there was nothing to close")
	}
	if !slices.Equal(a.processes, over[2:]) {
		t.Errorf("%d processes are kept", len(a.processes))
	}
}

// The dearest optional unit goes first, from every process, and is not attached again.
func TestBudgetRetiresTheDearest(t *testing.T) {
	a, told := newTestAttacher(Options{MaxOverhead: 0.02})
	optional := func(event abi.Event) probes.Site {
		s := site(event, abi.RoleFunction)
		s.Optional = true
		return s
	}
	cheap, dear, needed := optional(abi.EventSimTime), optional(abi.EventRequestSent), site(abi.EventCallbackStart, abi.RoleFunction)
	for pid := int32(1); pid <= 2; pid++ {
		attach(t, a, processNumber(pid), cheap, dear, needed)
	}
	var share ThreadShare
	share.PID, share.TID, share.Share = 1, 2, 0.03
	share.Units[dear.Unit()], share.Units[cheap.Unit()], share.Units[needed.Unit()] = 0.015, 0.005, 0.01
	if !a.KeepBudget([]ThreadShare{share}) {
		t.Error("nothing was retired")
	}
	if want := []abi.Unit{dear.Unit()}; !slices.Equal(told.kernel.retired, want) || !slices.Equal(told.retiring, want) {
		t.Errorf("retired %v, told %v", told.kernel.retired, told.retiring)
	}
	attach(t, a, processNumber(3), cheap, dear, needed)
	for pid := int32(1); pid <= 3; pid++ {
		if got := told.kernel.events(pid); len(got) != 2 || slices.Contains(got, dear.Event) {
			t.Errorf("PID %d: %v", pid, got)
		}
	}
}

// When attaching fails, nothing of what was asked for stays, and the error says of which process it is.
func TestAttachingFails(t *testing.T) {
	a, told := newTestAttacher(Options{})
	told.kernel.failing = loader.ErrProcessGone
	err := a.Attach(t.Context(), processNumber(7), &probes.Plan{Sites: []probes.Site{site(abi.EventCallbackStart, abi.RoleFunction)}})
	if !errors.Is(err, loader.ErrProcessGone) || !strings.Contains(err.Error(), "PID 7") || len(told.attached) != 0 {
		t.Errorf("%v, told %v", err, told.attached)
	}
}

// A file with shared links that was written is probed no more.
func TestWrittenFilesAreDetached(t *testing.T) {
	a, told := newTestAttacher(Options{})
	one, other := &fakeAttachment{written: true}, &fakeAttachment{}
	told.kernel.open = []*fakeAttachment{one, other}
	a.shared = []unitAttachment{{attachment: one, file: target.FileID{Inode: 1}}, {attachment: other, file: target.FileID{Inode: 2}}}
	a.Verify()
	if !slices.Equal(told.kernel.open, []*fakeAttachment{other}) || len(told.warnings) != 1 {
		t.Errorf("%d attachments, %v", len(told.kernel.open), told.warnings)
	}
}

// TestIntraProcessThatCannotReturn: probes that cannot be attached again are tried again, and nothing says that only
// the first moments are missing.
func TestIntraProcessThatCannotReturn(t *testing.T) {
	a, told := newTestAttacher(Options{})
	p := processNumber(1)
	intra := site(abi.EventRclcppRingBufferEnqueue, abi.RoleFunction)
	intra.Optional, intra.Form = true, abi.FormDerived
	attach(t, a, p, site(abi.EventCallbackStart, abi.RoleFunction), intra)
	told.noIntra = true
	p.occasional.since = time.Now().Add(-IntraProcessPatience)
	a.Settle(t.Context(), p)
	told.noIntra, told.hasIntra = false, true
	told.kernel.failing = errors.New("the share is used up")
	a.Settle(t.Context(), p)
	if len(told.warnings) != 1 || !strings.Contains(told.warnings[0].Error(), "PID 1") || !strings.Contains(told.warnings[0].Error(), "used up") {
		t.Errorf("told %v", told.warnings)
	}
	told.kernel.failing = nil
	a.Settle(t.Context(), p)
	if !slices.Contains(told.kernel.events(1), intra.Event) {
		t.Error("not attached when there was room again")
	}
}

// TestBodiesStayWhereCallersFail: callers that could not be attached, because there was no room, leave the bodies
// probed.
func TestBodiesStayWhereCallersFail(t *testing.T) {
	a, told := newTestAttacher(Options{})
	p := processNumber(1)
	body := site(abi.EventCallbackEnd, abi.RoleBody)
	attach(t, a, p, body)
	told.kernel.failing = errors.New("no room")
	plan := &probes.Plan{Sites: []probes.Site{body, site(abi.EventCallbackStart, abi.RoleCaller)}}
	if err := a.Attach(t.Context(), p, plan); err == nil {
		t.Fatal("attached")
	}
	told.kernel.failing = nil
	p.bodies.since = time.Now().Add(-bodiesPatience)
	a.Settle(t.Context(), p)
	if !slices.Contains(told.kernel.events(1), body.Event) {
		t.Error("the body was detached")
	}
}
