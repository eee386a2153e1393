package recording

import (
	"fmt"
	"maps"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/attaching"
	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestExactWhereverItIsSeen records the same behaviours at function entries, at callers only, and at both. Humble's
// tracepoints are those with callers.
func TestExactWhereverItIsSeen(t *testing.T) {
	requireRecording(t)
	for _, mode := range []attaching.SiteMode{attaching.SitesEntries, attaching.SitesCallers, attaching.SitesBoth, attaching.SitesAuto} {
		t.Run("mode_"+string(mode), func(t *testing.T) {
			for _, rmw := range standin.RMWs() {
				for _, name := range []string{"threads", "nested", "raw", "polled"} {
					if testing.Short() && (rmw != standin.CycloneDDS || name != "nested") {
						continue
					}
					t.Run(rmw+"_"+name, func(t *testing.T) {
						t.Parallel()
						n := startReadyNode(t, layout{standin.Humble, rmw}, behaviours[name])
						r := record(t, session.Configuration{PIDs: n.pidText(), Sites: mode})
						r.waitForRows(trace.TableCallback, enough)
						data := r.stop()
						r.requireExact(data, n.stop(), oracle.Circumstances{Found: true})
						requireRoles(t, data, mode)
					})
				}
			}
		})
	}
}

// requireRoles requires that a mode's kinds of sites of the tracepoint were probed, and no others.
func requireRoles(t *testing.T, data *oracle.Dataset, mode attaching.SiteMode) {
	t.Helper()
	roles := map[string]int{}
	for _, site := range data.Session.Plan.Sites {
		if site.Event == "callback_start" && site.Symbol == "ros_trace_callback_start" {
			roles[site.Role]++
		}
	}
	want := map[attaching.SiteMode]map[string]bool{
		attaching.SitesEntries: {"function": true},
		attaching.SitesCallers: {"caller": true},
		attaching.SitesBoth:    {"caller": true, "body": true},
		attaching.SitesAuto:    {"caller": true},
	}[mode]
	if runtime.GOARCH != "amd64" {
		// Callers are not searched for: bodies are emulated.
		want = map[string]bool{"function": true}
	}
	for _, role := range []string{"function", "caller", "body"} {
		if want[role] != (roles[role] > 0) {
			t.Errorf("callback_start is seen at %v, want %v", maps.Clone(roles), want)
			return
		}
	}
}

// requireCallers skips where callers are not searched for, because bodies are emulated.
func requireCallers(t *testing.T) {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("x86-64 only")
	}
}

// TestSharedBodiesComeAndGo records across the moments at which bodies are probed, for every process or, later, for one
// that loads a component, and at which they are no longer; and a process that begins later: its files are known, so
// that its callers are probed from its first event on.
func TestSharedBodiesComeAndGo(t *testing.T) {
	requireRecording(t)
	requireLong(t)
	requireCallers(t)
	if loader.MayHaveShadowStacks() {
		t.Skip("processes of this machine may have shadow stacks: shared links keep to bodies")
	}
	const goneForAll = "for every process, their bodies no longer"
	for _, rmw := range standin.RMWs() {
		for _, later := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, loads when they are gone: %v", rmw, later), func(t *testing.T) {
				t.Parallel()
				l := layout{standin.Humble, rmw}
				prefix := uniqueName("crowd_" + rmw)
				flags := "--rate 50 --threads 2 --nodes 2 --prefix " + prefix
				loading, bystander := startReadyNode(t, l, flags+" --component default"), startReadyNode(t, l, flags)
				for range 8 { // fewer young processes would have bodies of their own
					startReadyNode(t, l, "--rate 5 --prefix "+prefix)
				}
				r := record(t, session.Configuration{Name: prefix})
				r.waitForRows(trace.TableCallback, enough)
				if later {
					r.waitForMessage(goneForAll)
					before := changedText(t, bystander.PID())
					loading.Signal(syscall.SIGUSR1)
					for range 50 {
						if now := changedText(t, bystander.PID()); len(now) != len(before) {
							t.Fatalf("another process has %d probes, and had %d", len(now), len(before))
						}
						time.Sleep(20 * time.Millisecond)
					}
				} else {
					loading.Signal(syscall.SIGUSR1)
					r.waitForMessage(goneForAll)
				}
				r.waitForMoreRows(trace.TableCallback, enough)
				last := startReadyNode(t, l, flags)
				r.waitForMoreRows(trace.TableCallback, 2*enough)
				truthOfLast, truthOfLoading := last.stop(), loading.stop()
				bystander.stop()
				data := r.stop()
				if r.said("was not expected") || data.Session.Unarmed > 0 {
					t.Log("the machine is too slow for an exact comparison of the process that loads the component")
				} else {
					requireExactProcess(t, data, truthOfLoading, r.span(data, truthOfLoading.Header.PID), oracle.Circumstances{Found: true})
				}
				if from, to, found := unarmed(data, last.PID()); found {
					t.Errorf("files of the last process were not probed for %d ns", to-from)
				}
				// When it became known is not known to the test.
				first, ok := data.FirstRow(last.PID())
				if !ok {
					t.Fatal("nothing of the last process was recorded")
				}
				part := oracle.Span{OpenFrom: r.began, OpenTo: first, CloseFrom: r.closing, CloseTo: r.ended}
				requireExactProcess(t, data, truthOfLast, part, oracle.Circumstances{Unnamed: true})
			})
		}
	}
}

// TestBodiesComeForALibrary loads a component, which nobody expected. Bodies are probed before it does anything, or the
// recorder says for how long they were missing. When its callers are probed they are no longer.
func TestBodiesComeForALibrary(t *testing.T) {
	requireRecording(t)
	requireLong(t)
	requireCallers(t)
	for _, rmw := range standin.RMWs() {
		t.Run(rmw, func(t *testing.T) {
			t.Parallel()
			n := startReadyNode(t, layout{standin.Humble, rmw}, "--rate 20 --component default --threads 2")
			r := record(t, session.Configuration{PIDs: n.pidText()})
			r.waitForRows(trace.TableCallback, enough)
			n.Signal(syscall.SIGUSR1)
			r.waitForMessage("their bodies no longer")
			r.waitForMoreRows(trace.TableCallback, 4*enough)
			data := r.stop()
			truth := n.stop()
			if r.said("was not expected") || data.Session.Unarmed > 0 {
				t.Log("the machine is too slow for an exact comparison")
			} else {
				r.requireExact(data, truth, oracle.Circumstances{Found: true})
			}
			requireComponent(t, data)
		})
	}
}
