package session_test

import (
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/session"
)

// behaviours are flags of the stand-in that bring about everything that a thread can do.
var behaviours = map[string]string{
	"topics":         "--nodes 2 --topics 2 --rate 50 --expect-all",
	"threads":        "--nodes 2 --topics 3 --rate 50 --threads 4 --reentrant --expect-all",
	"chain":          "--nodes 2 --topics 2 --rate 50 --chain --threads 2 --expect-all",
	"intra_shared":   "--nodes 2 --rate 100 --intra-process --callback-form shared --chain --expect-all",
	"intra_unique":   "--nodes 2 --rate 100 --intra-process --callback-form unique --threads 3 --expect-all",
	"intra_overflow": "--rate 200 --intra-process --callback-form reference --depth 1 --publishers-per-timer 2",
	"nested":         "--nested-depth 5 --nested-rate 20 --rate 20",
	"nested_throw":   "--nested-depth 5 --nested-rate 20 --rate 20 --throw-every 7",
	"nested_catch":   "--nested-depth 5 --nested-rate 50 --rate 20 --throw-every 7 --count 5",
	"too_deep":       "--nested-depth 20 --nested-rate 20 --rate 20",
	"polled":         "--polled-rate 30 --rate 50",
	"polled_spin":    "--polled-rate 30 --rate 50 --polled-then-spin --nested-depth 2 --nested-rate 10",
	"service":        "--service-rate 50 --rate 20",
	"throw":          "--throw-every 5 --rate 50 --nodes 2",
	"outside":        "--outside-rate 100 --rate 20",
	"fail_rcl":       "--fail-every 3 --fail-at rcl --rate 50",
	"fail_rmw":       "--fail-every 3 --fail-at rmw --rate 50",
	"fail_dds":       "--fail-every 3 --fail-at dds --rate 50",
	"churn":          "--churn-rate 20 --rate 20",
	"churn_exit":     "--churn-rate 20 --exit-in-callback --rate 20",
	"random1":        "--random 1",
	"random2":        "--random 2",
	"random3":        "--random 3",
}

func TestRecordingIsExact(t *testing.T) {
	forEachLayout(t, func(t *testing.T, l layout) {
		for name, flags := range behaviours {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				node := startReadyNode(t, l, flags)
				r := record(t, session.Configuration{PIDs: node.pidText()})
				time.Sleep(time.Second)
				data := r.stop()
				r.requireExact(data, node.stop())
			})
		}
	})
}
