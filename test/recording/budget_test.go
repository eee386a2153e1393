package recording

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// dearCosts are so high that a few hundred hits a second exceed a budget.
var dearCosts = &probes.Costs{Instructions: map[string]time.Duration{"nop": 60 * time.Microsecond, probes.KindMove: 60 * time.Microsecond}}

// neededEvents are those that no budget gives up.
var neededEvents = map[string][]string{
	standin.Humble: {"callback_start", "callback_end", "exception_caught", "rmw_take", "rcl_publish", "dds_bind_addr_to_stamp"},
	standin.Jazzy:  {"callback_start", "callback_end", "exception_caught", "rmw_take", "rmw_publish"},
}

// TestBudgetIsKept records more than a budget allows: what is dearest is detached, callbacks and publishes go on, and
// the recording says what became of the rest.
func TestBudgetIsKept(t *testing.T) {
	forEachLayout(t, func(t *testing.T, l layout) {
		t.Parallel()
		n := startReadyNode(t, l, "--rate 200")
		r := record(t, session.Configuration{PIDs: n.pidText(), MaxOverhead: 0.02}, atCosts(dearCosts))
		r.waitForMessage("more than --max-overhead 2%")
		r.waitForMoreRows(trace.TablePublish, enough)
		data, truth := r.stop(), n.stop()
		requireDetached(t, data, l.distro)
		oracle.RequireNothingLess(t, data, r.span(data, truth.Header.PID), truth, enough)
	})
}

// TestBudgetThatSufficesChangesNothing records what costs less than it may.
func TestBudgetThatSufficesChangesNothing(t *testing.T) {
	requireRecording(t)
	t.Parallel()
	n := startReadyNode(t, oneLayout, behaviours["threads"])
	r := record(t, session.Configuration{PIDs: n.pidText(), MaxOverhead: 0.9}, atCosts(oneCost))
	r.waitForRows(trace.TableCallback, enough)
	data := r.stop()
	r.requireExact(data, n.stop(), oracle.Circumstances{Found: true})
	if o := data.Session.Overhead; len(o.Detached) > 0 {
		t.Errorf("%+v", o.Detached)
	}
}

// TestBudgetOfEveryProcess is TestBudgetIsKept with links that processes share.
func TestBudgetOfEveryProcess(t *testing.T) {
	requireRecording(t)
	n := startReadyNode(t, oneLayout, "--rate 200")
	r := record(t, session.Configuration{Name: fmt.Sprint("--domain .*", n.GroundTruthFile()), MaxOverhead: 0.02}, atCosts(dearCosts))
	r.waitForMessage("more than --max-overhead 2%")
	r.waitForMoreRows(trace.TablePublish, enough)
	data, truth := r.stop(), n.stop()
	requireDetached(t, data, oneLayout.distro)
	oracle.RequireNothingLess(t, data, r.span(data, truth.Header.PID), truth, enough)
}

// requireDetached requires that session.json tells what was detached: optional events, the dearest of each window
// first, and that they are listed as missing.
func requireDetached(t *testing.T, data *oracle.Dataset, distro string) {
	t.Helper()
	detached := data.Session.Overhead.Detached
	if len(detached) == 0 {
		t.Fatal("nothing was detached")
	}
	needed := neededEvents[distro]
	if !slices.ContainsFunc(data.Session.Plan.Sites, func(s trace.Site) bool { return s.Event == "exception_caught" }) {
		needed = append(slices.Clone(needed), "executor_execute") // links are shared
	}
	reasons := ""
	for _, missing := range data.Session.Plan.Missing {
		reasons += missing.Event + " " + missing.Reason + "\n"
	}
	for i, d := range detached {
		if slices.Contains(needed, d.Event) || d.Share <= 0.02 || d.OwnShare <= 0 || d.OwnShare > d.Share || d.PID == 0 || d.TID == 0 {
			t.Errorf("%+v", d)
		}
		if i > 0 && detached[i-1].Share == d.Share && detached[i-1].OwnShare < d.OwnShare {
			t.Errorf("%+v was detached after %+v", d, detached[i-1])
		}
		if !strings.Contains(reasons, d.Event) {
			t.Errorf("%s is not among what is missing:\n%s", d.Event, reasons)
		}
		for _, row := range data.Publishes {
			if d.Event == "rclcpp_publish" && row.RclcppPublishTimestamp.Valid && row.RclcppPublishTimestamp.Value > d.Timestamp+int64(10*time.Second) {
				t.Errorf("%s was seen %v after it was detached", d.Event, time.Duration(row.RclcppPublishTimestamp.Value-d.Timestamp))
			}
		}
	}
	if !strings.Contains(reasons, "to keep --max-overhead 2%") {
		t.Errorf("missing:\n%s", reasons)
	}
	t.Logf("detached %+v", detached)
}
