package session_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
)

// TestROSLatenciesAreThoseOfTheHits records real programs of ROS 2 that have been running for a while, all at once,
// with every single tracepoint hit, and compares the answers about latencies, response times and periods with what the
// hits tell.
func TestROSLatenciesAreThoseOfTheHits(t *testing.T) {
	forEachROS(t, func(t *testing.T, ros rosEnvironment) {
		pids := []int{
			ros.start(t, "demo_nodes_cpp", "talker"), ros.start(t, "demo_nodes_cpp", "listener"), ros.start(t, "caret_targets", "mt_nodes"),
			ros.start(t, "caret_targets", "intra_nodes"), ros.start(t, "caret_targets", "static_nodes"),
		}
		time.Sleep(5 * time.Second)
		r := record(t, session.Configuration{PIDs: strings.Trim(fmt.Sprint(pids), "[]"), Raw: true})
		time.Sleep(8 * time.Second)
		data := r.stop()
		if lost := data.Lost(); len(lost) > 0 {
			t.Fatalf("%v were lost: hits and rows cannot be compared", lost)
		}
		compared := oracle.RequireAnswersOfHits(t, r.dir, data)
		t.Logf("compared %v", compared)
		for _, what := range []string{"executions", "messages received", "messages through buffers", "messages polled", "inputs and outputs", "periods", "ways", "flows", "calls"} {
			if compared[what] == 0 {
				t.Errorf("no %s", what)
			}
		}
		if compared["longest path"] < 3 {
			t.Errorf("the longest path has %d hops", compared["longest path"])
		}
	})
}
