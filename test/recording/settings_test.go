package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/excerpt"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/writer"
)

// driven has settings be changed while recording.
func driven(o *session.Options) { o.Driven = true }

// change gives a recording other settings, and returns around which instants.
func (r *recording) change(change func(*session.Settings)) (before, after uint64) {
	r.t.Helper()
	before = monotonic()
	if _, err := r.handle.Change(r.t.Context(), change); err != nil {
		r.t.Fatal(err)
	}
	return before, monotonic()
}

func isNode(name string) func(string) bool {
	return func(node string) bool { return strings.HasSuffix(node, name) }
}

// TestFilterChanges: each filter decides from its own instant on, to the row, also for what the kernel had dropped.
func TestFilterChanges(t *testing.T) {
	requireRecording(t)
	n := startReadyNode(t, oneLayout, "--nodes 2 --topics 2 --rate 100 --threads 2")
	r := record(t, session.Configuration{PIDs: n.pidText()}, driven)
	const more = 40
	r.waitForMoreRows(trace.TableCallback, more)
	before1, after1 := r.change(func(s *session.Settings) { s.IgnoreNodes = []string{"standin0$"} })
	r.waitForMoreRows(trace.TableCallback, more)
	before2, after2 := r.change(func(s *session.Settings) { s.IgnoreNodes, s.SelectNodes = nil, []string{"standin0$"} })
	r.waitForMoreRows(trace.TableCallback, more)
	before3, after3 := r.change(func(s *session.Settings) { s.SelectNodes = nil })
	r.waitForMoreRows(trace.TableCallback, more)
	if now := r.handle.Settings(); len(now.SelectNodes)+len(now.IgnoreNodes) != 0 || now.Profile != probes.ProfileStandard {
		t.Errorf("the settings are %+v", now)
	}
	data := r.stop()
	oracle.RequirePhases(t, data, n.stop(), []oracle.Phase{
		{From: r.opened, To: before1}, {From: after1, To: before2, Drops: isNode("standin0")},
		{From: after2, To: before3, Drops: isNode("standin1")}, {From: after3, To: r.closing},
	})
	requireChanges(t, data, `ignore-node["standin0$"]`, `select-node["standin0$"]`, `ignore-node[]`, `select-node[]`)
}

// requireChanges requires that session.json tells of these changes of settings.
func requireChanges(t *testing.T, data *oracle.Dataset, want ...string) {
	t.Helper()
	var told []string
	for _, change := range data.Session.Changes {
		var value bytes.Buffer
		if err := json.Compact(&value, change.Value); err != nil {
			t.Fatal(err)
		}
		told = append(told, change.What+value.String())
	}
	if !slices.Equal(told, want) {
		t.Errorf("session.json tells of %q, not %q", told, want)
	}
}

// TestProfileChanges: a smaller profile detaches probes, and the former one has them again. Nothing else changes.
func TestProfileChanges(t *testing.T) {
	forEachLayout(t, func(t *testing.T, l layout) {
		t.Parallel()
		n := startReadyNode(t, l, "--rate 100 --intra-process --threads 2")
		r := record(t, session.Configuration{PIDs: n.pidText(), Profile: probes.ProfileFull}, driven)
		r.waitForMoreRows(trace.TableCallback, enough/2)
		smaller, small := r.change(func(s *session.Settings) { s.Profile = probes.ProfileMinimal })
		r.waitForMoreRows(trace.TableCallback, enough/2)
		larger, large := r.change(func(s *session.Settings) { s.Profile = probes.ProfileFull })
		r.waitForMoreRows(trace.TableCallback, enough/2)
		data := r.stop()
		truth := n.stop()
		requireExactSince(t, r, data, truth, large)
		oracle.RequirePhases(t, data, truth, []oracle.Phase{{From: r.opened, To: smaller}, {From: small, To: larger}, {From: large, To: r.closing}})
		for i, p := range []oracle.Phase{{From: r.opened, To: smaller}, {From: small, To: larger}, {From: large, To: r.closing}} {
			raw, dequeues, layers := optionalParts(data, p.From, p.To)
			t.Logf("phase %d: %d raw events, %d dequeues, %d publishes by rclcpp", i, raw, dequeues, layers)
			if full := i != 1; (raw > 0) != full || (dequeues > 0) != full || (layers > 0) != full {
				t.Errorf("phase %d is of another profile", i)
			}
		}
		for _, loss := range data.Losses {
			t.Errorf("a loss is told: %+v", loss)
		}
		if missing := data.Session.MissingEvents(); slices.Contains(missing, "rclcpp_publish") {
			t.Errorf("missing in the end: %q", missing)
		}
	})
}

// optionalParts counts what a recording can do without, between two instants: raw events, times of dequeues, and layers
// of publishes above rcl.
func optionalParts(data *oracle.Dataset, from, to uint64) (raw, dequeues, layers int) {
	in := func(at int64) bool {
		instant := uint64(at - data.Session.Clock.RealtimeOffset)
		return instant > from && instant < to
	}
	for _, e := range data.Events {
		if in(e.EventTimestamp) {
			raw++
		}
	}
	for _, c := range data.Callbacks {
		if in(c.CallbackStartTimestamp.Value) && c.DequeueTimestamp.Valid {
			dequeues++
		}
	}
	for _, p := range data.Publishes {
		for _, layer := range []trace.Optional[int64]{p.RclcppPublishTimestamp, p.RclcppIntraPublishTimestamp} {
			if layer.Valid && in(layer.Value) {
				layers++
			}
		}
	}
	return raw, dequeues, layers
}

// requireExactSince requires that a recording has everything of a process since a while after an instant, as if it had
// begun then.
func requireExactSince(t *testing.T, r *recording, data *oracle.Dataset, truth *oracle.Truth, instant uint64) {
	t.Helper()
	const later = uint64(300 * time.Millisecond)
	dataset, err := trace.Open(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	from := instant + later
	span := trace.Span{First: int64(from) + data.Session.Clock.RealtimeOffset, Last: math.MaxInt64}
	part := filepath.Join(t.TempDir(), "part")
	_, err = excerpt.Write(t.Context(), dataset, span, part, 0, writer.Options{}, func() trace.Session {
		described := *data.Session
		described.Snapshot = &trace.Snapshot{Span: span}
		return described
	})
	if err != nil {
		t.Fatal(err)
	}
	within := oracle.Span{OpenFrom: instant, OpenTo: from + later, CloseFrom: r.closing, CloseTo: r.ended}
	requireExactProcess(t, oracle.ReadDataset(t, part), truth, within, oracle.Circumstances{Found: true, Part: true})
}

// TestBudgetChanges: a budget that is set while recording detaches what exceeds it. When there is none any more, all of
// that is probed again. Callbacks and publishes lack nothing meanwhile.
func TestBudgetChanges(t *testing.T) {
	forEachLayout(t, func(t *testing.T, l layout) {
		t.Parallel()
		for name, byName := range map[string]bool{"links of its own": false, "links for every process": true} {
			if byName && l.rmw != oneLayout.rmw {
				continue
			}
			t.Run(name, func(t *testing.T) {
				if byName {
					requireLong(t)
				}
				t.Parallel()
				prefix := uniqueName("budget_" + l.distro + "_" + l.rmw + fmt.Sprint(byName))
				n := startReadyNode(t, l, "--rate 200 --prefix "+prefix)
				configuration := session.Configuration{PIDs: n.pidText()}
				if byName {
					configuration = session.Configuration{Name: prefix}
				}
				r := record(t, configuration, driven, atCosts(dearCosts))
				r.waitForMoreRows(trace.TableCallback, enough)
				lowered, _ := r.change(func(s *session.Settings) { s.MaxOverhead = 0.02 })
				r.waitForMessage("more than --max-overhead 2%")
				r.waitForMoreRows(trace.TableCallback, enough) // it was told before it is done
				low := monotonic()
				r.waitForMoreRows(trace.TableCallback, enough)
				raising, raised := r.change(func(s *session.Settings) { s.MaxOverhead = 0 })
				r.waitForMoreRows(trace.TableCallback, 4*enough)
				data, truth := r.stop(), n.stop()
				oracle.RequireNothingLess(t, data, r.span(data, truth.Header.PID), truth, enough)
				requireExactSince(t, r, data, truth, raised)
				phases := []oracle.Phase{{From: r.opened, To: lowered}, {From: low, To: raising}, {From: raised, To: r.closing}}
				oracle.RequirePhases(t, data, truth, phases)
				for i, p := range phases {
					if _, _, layers := optionalParts(data, p.From, p.To); (layers > 0) != (i != 1) {
						t.Errorf("phase %d: %d publishes by rclcpp", i, layers)
					}
				}
				requireChanges(t, data, "max-overhead0.02", "max-overhead0")
				if detached := data.Session.Overhead.Detached; len(detached) == 0 {
					t.Error("session.json tells of nothing that was detached")
				}
				if missing := data.Session.MissingEvents(); slices.Contains(missing, "rclcpp_publish") {
					t.Errorf("missing in the end: %q", missing)
				}
			})
		}
	})
}

// TestWrongChanges: what cannot be is refused, and changes nothing.
func TestWrongChanges(t *testing.T) {
	requireRecording(t)
	n := startReadyNode(t, oneLayout, "--rate 50")
	r := record(t, session.Configuration{PIDs: n.pidText()}, driven)
	was := r.handle.Settings()
	for name, change := range map[string]func(*session.Settings){
		"a larger profile":    func(s *session.Settings) { s.Profile = probes.ProfileFull },
		"no profile":          func(s *session.Settings) { s.Profile = "cheap" },
		"no expression":       func(s *session.Settings) { s.SelectNodes = []string{"("} },
		"more than all time":  func(s *session.Settings) { s.MaxOverhead = 2 },
		"right and wrong one": func(s *session.Settings) { s.IgnoreTopics, s.IgnoreNodes = []string{"x"}, []string{"["} },
	} {
		if _, err := r.handle.Change(t.Context(), change); !errors.Is(err, session.ErrConfiguration) {
			t.Errorf("%s: %v", name, err)
		}
	}
	r.waitForRows(trace.TableCallback, 10)
	data := r.stop()
	r.requireExact(data, n.stop(), oracle.Circumstances{Found: true})
	if now := r.handle.Settings(); !slices.Equal(now.IgnoreTopics, was.IgnoreTopics) || now.Profile != was.Profile || len(data.Session.Changes) > 0 {
		t.Errorf("the settings are %+v, and session.json tells of %v", now, data.Session.Changes)
	}
}
