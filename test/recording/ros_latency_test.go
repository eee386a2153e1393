package recording

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
			ros.start(t, "demo_nodes_cpp", "talker"), ros.start(t, "demo_nodes_cpp", "listener"),
			ros.start(t, "examples_rclcpp_multithreaded_executor", "multithreaded_executor"),
			ros.start(t, "intra_process_demo", "two_node_pipeline"), ros.start(t, "intra_process_demo", "cyclic_pipeline"),
			ros.start(t, "composition", "manual_composition"),
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
		for _, what := range []string{"executions", "messages received", "messages through buffers", "inputs and outputs", "periods", "ways", "flows", "calls"} {
			if compared[what] == 0 {
				t.Errorf("no %s", what)
			}
		}
		// Paths of several hops, and messages that are polled, are those of stand-ins: no demo has any.
		if compared["longest path"] < 1 {
			t.Error("no path")
		}
	})
}
