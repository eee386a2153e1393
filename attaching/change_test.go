package attaching

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/probes"
)

// pidsOf are for whom links are open.
func pidsOf(open []*fakeAttachment) map[int32]int {
	pids := map[int32]int{}
	for _, a := range open {
		pids[a.pid] += len(a.sites)
	}
	return pids
}

// changeNames are the steps of a change.
func (k *fakeKernel) changeNames() (names []string) {
	for _, step := range k.changes {
		names = append(names, step.name)
	}
	return names
}

// All links are replaced: the new ones are complete before they take over, and then the former ones are closed. Nobody
// is told of anything, because nothing is missed.
func TestLinksAreReplaced(t *testing.T) {
	for _, toShared := range []bool{true, false} {
		t.Run(fmt.Sprintf("to shared %v", toShared), func(t *testing.T) {
			first, second, start := startSharers(t)
			end := start
			end.Event, end.Offset = abi.EventCallbackEnd, start.Offset+8
			a, told := newTestAttacher(Options{Shared: !toShared})
			attach(t, a, first, start, end)
			attach(t, a, second, start, end)
			armed := len(told.armed[first]) + len(told.armed[second])
			sites, messages := len(told.attached), len(told.messages)
			own := map[int32]int{first.Target.PID: 2, second.Target.PID: 2}
			shared := map[int32]int{0: 2}
			before, after := own, shared
			if !toShared {
				before, after = shared, own
			}
			if got := pidsOf(told.kernel.open); !maps.Equal(got, before) {
				t.Fatalf("attached at first: %v", got)
			}
			if err := a.ChangeLinks(t.Context(), toShared); err != nil {
				t.Fatal(err)
			}
			both := map[int32]int{0: 2, first.Target.PID: 2, second.Target.PID: 2}
			steps := told.kernel.changes
			if names := told.kernel.changeNames(); !slices.Equal(names, []string{"begin", "commit", "end"}) || steps[0].filter != toShared ||
				!maps.Equal(pidsOf(steps[0].open), before) || !maps.Equal(pidsOf(steps[1].open), both) || !maps.Equal(pidsOf(steps[2].open), after) {
				t.Errorf("%v: %+v", names, steps)
			}
			if a.SharesLinks() != toShared {
				t.Error("it does not know of it")
			}
			if len(told.warnings) != 0 || len(told.armed[first])+len(told.armed[second]) != armed || len(told.attached) != sites || len(told.messages) != messages {
				t.Errorf("told: %v, %v, %v, %v", told.warnings, told.armed, told.attached, told.messages)
			}
			attach(t, a, first, start, end)
			attach(t, a, second, start, end)
			if got := pidsOf(told.kernel.open); !maps.Equal(got, after) {
				t.Errorf("the next look attached again: %v", got)
			}
			a.Release(first)
			a.Sweep()
			if got := told.kernel.events(first.Target.PID); len(got) != 0 {
				t.Errorf("of a process that is over: %v", got)
			}
		})
	}
}

// Where something cannot be attached by new links, the former ones stay and go on as before.
func TestLinksStay(t *testing.T) {
	for name, hinder := range map[string]func(*fakeKernel){
		"a site is refused": func(k *fakeKernel) {
			k.refuse = func(s probes.Site) error {
				if s.Event == abi.EventCallbackEnd {
					return loader.ErrUnsafeSite
				}
				return nil
			}
		},
		"attaching fails": func(k *fakeKernel) { k.failing = errors.New("no memory") },
		"it is refused":   func(k *fakeKernel) { k.unchangeable = errors.New("no") },
		"not committed":   func(k *fakeKernel) { k.committing = func() error { return errors.New("no") } },
	} {
		for _, toShared := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, to shared %v", name, toShared), func(t *testing.T) {
				first, second, start := startSharers(t)
				end := start
				end.Event, end.Offset = abi.EventCallbackEnd, start.Offset+8
				a, told := newTestAttacher(Options{Shared: !toShared})
				attach(t, a, first, start, end)
				attach(t, a, second, start, end)
				before, armed := slices.Clone(told.kernel.open), len(told.armed[first])+len(told.armed[second])
				hinder(told.kernel)
				if err := a.ChangeLinks(t.Context(), toShared); !errors.Is(err, ErrLinksStay) {
					t.Fatal(err)
				}
				told.kernel.failing, told.kernel.refuse = nil, nil
				if names := told.kernel.changeNames(); slices.Contains(names, "commit") || len(names) > 1 && names[len(names)-1] != "end" {
					t.Errorf("steps: %v", names)
				}
				if !slices.Equal(told.kernel.open, before) || a.SharesLinks() == toShared {
					t.Errorf("attached: %v, for all: %v", pidsOf(told.kernel.open), a.SharesLinks())
				}
				attach(t, a, first, start, end)
				attach(t, a, second, start, end)
				if !slices.Equal(told.kernel.open, before) {
					t.Errorf("the next look attached again: %v", pidsOf(told.kernel.open))
				}
				if got := len(told.armed[first]) + len(told.armed[second]); got != armed {
					t.Errorf("%d files are said to be armed anew", got-armed)
				}
				if unarmed := a.Unarmed(first); len(unarmed) != 0 {
					t.Errorf("unarmed: %+v", unarmed)
				}
			})
		}
	}
}

// Bodies that were detached do not come back with new links, but when libraries change. Those that have to stay do.
func TestBodiesBesideReplacedLinks(t *testing.T) {
	for _, toShared := range []bool{true, false} {
		for _, stay := range []bool{true, false} {
			t.Run(fmt.Sprintf("to shared %v, staying %v", toShared, stay), func(t *testing.T) {
				first, _, caller := startSharers(t)
				caller.Role = abi.RoleCaller
				body := caller
				body.Role, body.Offset = abi.RoleBody, caller.Offset+32
				a, told := newTestAttacher(Options{Shared: !toShared})
				plan := &probes.Plan{Distro: first.Target.Distro, Sites: []probes.Site{caller, body}}
				first.bodies.stay = stay // as after a caller that could not be attached
				if err := a.Attach(t.Context(), first, plan); err != nil {
					t.Fatal(err)
				}
				if !stay && a.MayChangeLinks() {
					t.Error("bodies are about to be detached, and would be attached anew")
				}
				bodies := func(open []*fakeAttachment) (count int) {
					for _, a := range open {
						for _, s := range a.sites {
							if isBody(s) {
								count++
							}
						}
					}
					return count
				}
				first.bodies.since = time.Now().Add(-bodiesPatience)
				outwaitLoading(a)
				settleNow(t, a, first)
				if got := bodies(told.kernel.open); (got == 1) != stay || !a.MayChangeLinks() {
					t.Fatalf("%d bodies, may change: %v", got, a.MayChangeLinks())
				}
				if err := a.ChangeLinks(t.Context(), toShared); err != nil {
					t.Fatal(err)
				}
				for _, step := range told.kernel.changes {
					if got := bodies(step.open); (got > 0) != stay {
						t.Errorf("%s: %d bodies", step.name, got)
					}
				}
				if a.LibrariesChange(t.Context(), first); bodies(told.kernel.open) != 1 {
					t.Errorf("%d bodies when libraries change", bodies(told.kernel.open))
				}
			})
		}
	}
}

// What was missed of intra-process communication before the links were replaced is told as soon as a process turns out
// to have any.
func TestGapsBeforeReplacedLinks(t *testing.T) {
	for _, toShared := range []bool{true, false} {
		for _, before := range []bool{true, false} {
			t.Run(fmt.Sprintf("to shared %v, known before %v", toShared, before), func(t *testing.T) {
				first, second, intra := startSharers(t)
				intra.Event, intra.Optional, intra.Form = abi.EventRclcppRingBufferEnqueue, true, abi.FormDerived
				a, told := newTestAttacher(Options{Shared: !toShared})
				attach(t, a, first, intra)
				attach(t, a, second, intra)
				told.noIntra = true
				first.occasional.since, second.occasional.since = time.Now().Add(-IntraProcessPatience), time.Now().Add(-IntraProcessPatience)
				settleAll(t, a, first, second)
				gap, armed := a.occasionalOf(first).gaps[0], len(told.armed[first])
				turnsOut := func() { told.noIntra, told.withIntra = false, map[*Process]bool{first: true} }
				if before {
					turnsOut()
				}
				if err := a.ChangeLinks(t.Context(), toShared); err != nil {
					t.Fatal(err)
				}
				turnsOut()
				settleNow(t, a, first, second)
				missed := told.armed[first][armed:]
				if len(missed) != 1 || missed[0].At <= gap.from || missed[0].At == Never || !slices.Equal(missed[0].Events, []abi.Event{intra.Event}) {
					t.Errorf("missed: %+v", missed)
				}
			})
		}
	}
}

// Of a process that has ended meanwhile nothing can be attached. The others have their new links.
func TestLinksAreReplacedBesideAnEnd(t *testing.T) {
	first, second, start := startSharers(t)
	a, told := newTestAttacher(Options{Shared: true})
	attach(t, a, first, start)
	attach(t, a, second, start)
	if err := unix.Kill(int(second.Target.PID), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for second.Target.Alive() {
		time.Sleep(time.Millisecond)
	}
	told.kernel.failingOf = map[int32]error{second.Target.PID: loader.ErrProcessGone}
	if err := a.ChangeLinks(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if got := pidsOf(told.kernel.open); !maps.Equal(got, map[int32]int{first.Target.PID: 1}) {
		t.Errorf("attached: %v", got)
	}
}

// What the former links did not have is recorded from the instant on at which the new ones take over, however early
// they were attached, and is told.
func TestNewLinksRecordFromTheCommit(t *testing.T) {
	for _, toShared := range []bool{true, false} {
		t.Run(fmt.Sprintf("to shared %v", toShared), func(t *testing.T) {
			first, _, start := startSharers(t)
			end := start
			end.Event, end.Offset = abi.EventCallbackEnd, start.Offset+8
			a, told := newTestAttacher(Options{Shared: !toShared})
			refused := true
			told.kernel.refuse = func(s probes.Site) error {
				if s.Event == end.Event && refused {
					return errors.New("no room")
				}
				return nil
			}
			attach(t, a, first, start, end)
			armed, sites := len(told.armed[first]), len(told.attached)
			refused = false
			committed := Never
			told.kernel.committing = func() error {
				time.Sleep(time.Millisecond)
				committed = monotonicNow()
				return nil
			}
			if err := a.ChangeLinks(t.Context(), toShared); err != nil {
				t.Fatal(err)
			}
			fresh := told.armed[first][armed:]
			if len(fresh) != 1 || fresh[0].At < committed || !slices.Equal(fresh[0].Events, []abi.Event{end.Event}) {
				t.Errorf("armed: %+v, committed at %d", fresh, committed)
			}
			if got := told.attached[sites:]; len(got) != 1 || got[0].Event != end.Event {
				t.Errorf("attached: %v", got)
			}
		})
	}
}

// A process to which nothing could be attached does not keep the others from their new links.
func TestLinksAreReplacedBesideAProcessWithoutAny(t *testing.T) {
	first, second, start := startSharers(t)
	a, told := newTestAttacher(Options{})
	told.kernel.failingOf = map[int32]error{first.Target.PID: errors.New("the share is used up")}
	if err := a.Attach(t.Context(), first, &probes.Plan{Distro: first.Target.Distro, Sites: []probes.Site{start}}); err == nil {
		t.Fatal("attached")
	}
	attach(t, a, second, start)
	if err := a.ChangeLinks(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if got := pidsOf(told.kernel.open); !maps.Equal(got, map[int32]int{0: 1}) {
		t.Errorf("attached: %v", got)
	}
	if err := a.ChangeLinks(t.Context(), false); !errors.Is(err, ErrLinksStay) {
		t.Errorf("%v, though the first one would lose its probes", err)
	}
}

// Files whose callers are known, and attached for every process, are known to be.
func TestFilesAreForAllAfterAChange(t *testing.T) {
	first, _, start := startSharers(t)
	a, _ := newTestAttacher(Options{})
	attach(t, a, first, start)
	if err := a.ChangeLinks(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if !a.IsForAll(start.File) {
		t.Error("it is not")
	}
}

// Who ends the recording meanwhile waits for no further process.
func TestLinksStayWhenTheRecordingEnds(t *testing.T) {
	first, second, start := startSharers(t)
	a, told := newTestAttacher(Options{Shared: true})
	attach(t, a, first, start)
	attach(t, a, second, start)
	before := slices.Clone(told.kernel.open)
	ctx, cancel := context.WithCancel(t.Context())
	told.kernel.failingAt = func([]probes.Site) error {
		cancel()
		return ctx.Err()
	}
	if err := a.ChangeLinks(ctx, false); !errors.Is(err, ErrLinksStay) || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if !slices.Equal(told.kernel.open, before) {
		t.Errorf("attached: %v", pidsOf(told.kernel.open))
	}
}
