package recording

import (
	"maps"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/trace"
)

// behaviours are flags of the stand-in that together bring about everything that a thread can do, at a moderate load.
// Where no message may be lost, queues hold what comes while a slow machine attaches.
var behaviours = map[string]string{
	"topics":         "--nodes 2 --topics 2 --rate 50 --depth 1000 --expect-all",
	"threads":        "--nodes 2 --topics 3 --rate 50 --threads 4 --reentrant --chain --service-rate 50 --outside-rate 100 --depth 1000 --expect-all",
	"intra_shared":   "--nodes 2 --rate 100 --intra-process --callback-form shared --chain --depth 1000 --expect-all",
	"intra_unique":   "--nodes 2 --rate 100 --intra-process --callback-form unique --threads 3 --outside-rate 50 --depth 1000 --expect-all",
	"intra_overflow": "--rate 200 --intra-process --callback-form reference --depth 1 --publishers-per-timer 2",
	"intra_at_once":  "--nodes 3 --rate 300 --intra-process --callback-form shared --threads 4 --reentrant --chain --outside-rate 300 --depth 3",
	"nested":         "--nested-depth 5 --nested-rate 20 --rate 20 --throw-every 7 --polled-rate 30 --polled-then-spin",
	"nested_catch":   "--nested-depth 5 --nested-rate 50 --rate 20 --throw-every 7 --count 5",
	"too_deep":       "--nested-depth 20 --nested-rate 20 --rate 20",
	"polled":         "--polled-rate 30 --rate 50 --service-rate 20 --throw-every 50",
	"fail_rcl":       "--fail-every 3 --fail-at rcl --rate 50 --outside-rate 50",
	"fail_rmw":       "--fail-every 3 --fail-at rmw --rate 50 --throw-every 5",
	"fail_dds":       "--fail-every 3 --fail-at dds --rate 50 --outside-rate 50",
	"churn":          "--churn-rate 20 --rate 20",
	"churn_exit":     "--churn-rate 20 --exit-in-callback --rate 20",
	"services":       "--service-rate 50 --service-clients 3 --deferred-service-rate 30 --untaken-response-rate 20 --empty-take-rate 30 --rate 20",
	"services_threads": "--service-rate 50 --service-clients 2 --deferred-service-rate 50 --untaken-response-rate 20 --threads 4 --reentrant " +
		"--throw-every 31",
	"static":         "--static-executor --nodes 2 --rate 50 --service-rate 30 --deferred-service-rate 20 --polled-rate 20",
	"static_throw":   "--static-executor --rate 50 --throw-every 3 --publish-after-throw",
	"static_intra":   "--static-executor --nodes 2 --rate 50 --intra-process --service-rate 20",
	"recreate":       "--recreate-rate 4 --rate 50 --service-rate 20",
	"recreate_intra": "--recreate-rate 4 --rate 50 --intra-process",
	"raw":            "--serialized-rate 50 --loaned-rate 50 --polled-rate 20 --rate 20 --throw-every 31",
	"raw_threads":    "--serialized-rate 50 --loaned-rate 50 --polled-rate 20 --rate 50 --threads 3",
	"raw_static":     "--static-executor --serialized-rate 50 --loaned-rate 50 --polled-rate 20 --service-rate 20",
	"raw_fail_rcl":   "--serialized-rate 50 --loaned-rate 50 --fail-every 3 --fail-at rcl --rate 20",
	"raw_fail_rmw":   "--serialized-rate 50 --loaned-rate 50 --fail-every 3 --fail-at rmw --rate 20",
	"timers":         "--timer-forms 20 --rate 20 --nodes 2",
	"timers_threads": "--timer-forms 20 --rate 20 --threads 3 --reentrant",
	"features":       "--lifecycle-rate 30 --sim-time-rate 50 --rate 20",
	"same_name":      "--nodes 3 --same-name --topics 2 --rate 50 --threads 3 --service-rate 20 --depth 1000 --expect-all",
	"evicted":        "--evict-strings --lifecycle-rate 30 --rate 20 --service-rate 20",
	"random1":        "--random 1",
	"random2":        "--random 2",
	"random3":        "--random 3",
}

// shortBehaviours are those that -short is content with. On kernels without uprobe_multi every recording takes seconds
// to end.
var shortBehaviours = []string{"threads", "services", "intra_unique", "nested", "too_deep", "fail_dds", "raw", "features", "timers"}

// forEachBehaviour runs a test, parallel to others, for each of the named behaviours.
func forEachBehaviour(t *testing.T, names []string, test func(t *testing.T, name string)) {
	t.Helper()
	for _, name := range names {
		if testing.Short() && !slices.Contains(shortBehaviours, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, name)
		})
	}
}

// enough is how many executions of callbacks a recording must have to show anything.
const enough = 50

// TestRecordingIsExact attaches to running nodes and detaches from them again.
func TestRecordingIsExact(t *testing.T) {
	forEachLayout(t, func(t *testing.T, l layout) {
		t.Parallel()
		forEachBehaviour(t, slices.Sorted(maps.Keys(behaviours)), func(t *testing.T, name string) {
			n := startReadyNode(t, l, behaviours[name])
			r := record(t, session.Configuration{PIDs: n.pidText()})
			r.waitForRows(trace.TableCallback, enough)
			data := r.stop()
			r.requireExact(data, n.stop(), oracle.Circumstances{Found: true, Evicted: name == "evicted"})
			requireEnding(t, data, trace.EndingSignal)
		})
	})
}

// TestRecordingOfAWholeLife begins before a node has done anything, and ends with it: every single thing that it did
// must be there, with all names.
func TestRecordingOfAWholeLife(t *testing.T) {
	forEachLayout(t, func(t *testing.T, l layout) {
		t.Parallel()
		forEachBehaviour(t, []string{"threads", "intra_unique", "nested", "churn_exit", "services", "recreate", "raw", "features", "evicted", "random2"}, func(t *testing.T, name string) {
			n, r := recordFromTheBeginning(t, l, session.Configuration{}, behaviours[name])
			r.waitForRows(trace.TableCallback, enough)
			truth, data := n.stop(), r.wait()
			r.requireExact(data, truth, oracle.Circumstances{Evicted: name == "evicted"})
			oracle.RequireEntities(t, data, truth, r.span(data, truth.Header.PID))
			requireEnding(t, data, trace.EndingTargetsExited)
		})
	})
}

// recordFromTheBeginning records a node that has not been allowed to begin before.
func recordFromTheBeginning(t *testing.T, l layout, configuration session.Configuration, flags string) (*node, *recording) {
	t.Helper()
	n, release := startHeldNode(t, l, flags)
	configuration.PIDs = n.pidText()
	r := record(t, configuration)
	release()
	return n, r
}

func requireEnding(t *testing.T, data *oracle.Dataset, want trace.Ending) {
	t.Helper()
	if got := data.Session.Ending; got != want {
		t.Errorf("the recording ended by %s, not %s", got, want)
	}
}
