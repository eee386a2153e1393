package recording

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/export/ctf"
	"github.com/caret-bpf/caret-bpf/export/ctf/ctftest"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/trace"
)

// exportedHits says which arguments of a tracepoint a trace has as they are, by the names of both sides. rclcpp gives
// rclcpp_publish no publisher, a trace does.
var exportedHits = map[string]struct {
	name      string
	arguments []int
}{
	"callback_start":             {"ros2:callback_start", []int{0, 1}},
	"callback_end":               {"ros2:callback_end", []int{0}},
	"rclcpp_intra_publish":       {"ros2:rclcpp_intra_publish", []int{0, 1}},
	"rclcpp_publish":             {"ros2:rclcpp_publish", []int{1}},
	"rcl_publish":                {"ros2:rcl_publish", []int{0, 1}},
	"rmw_take":                   {"ros2:rmw_take", []int{0, 1}},
	"rclcpp_ring_buffer_enqueue": {"ros2:rclcpp_ring_buffer_enqueue", []int{0, 1, 2}},
	"rclcpp_ring_buffer_dequeue": {"ros2:rclcpp_ring_buffer_dequeue", []int{0, 1, 2}},
}

// TestCTFHasTheHits makes a trace of what was recorded merged and, beside that, hit by hit. Each hit of a tracepoint is
// in the trace, with its time, thread and arguments, and nothing else.
func TestCTFHasTheHits(t *testing.T) {
	requireLong(t)
	forEachLayout(t, func(t *testing.T, l layout) {
		t.Parallel()
		if l != oneLayout {
			t.Skip("another layout tells the same")
		}
		forEachBehaviour(t, []string{"nested", "threads", "intra_shared", "polled"}, func(t *testing.T, name string) {
			n, r := recordFromTheBeginning(t, l, session.Configuration{Raw: true}, behaviours[name])
			r.waitForRows(trace.TableCallback, enough)
			n.stop()
			r.wait()
			d, err := trace.Open(r.dir)
			if err != nil {
				t.Fatal(err)
			}
			recorded, exported := rawHits(t, d), traceHits(t, d)
			if len(recorded) < enough {
				t.Errorf("only %d different hits", len(recorded))
			}
			for _, hit := range slices.Sorted(maps.Keys(recorded)) {
				if exported[hit] != recorded[hit] {
					t.Errorf("%d of %d in the trace: %s", exported[hit], recorded[hit], hit)
				}
				delete(exported, hit)
			}
			for hit, count := range exported {
				t.Errorf("%d in the trace that were not recorded: %s", count, hit)
			}
		})
	})
}

// rawHits counts the hits that a dataset has one by one.
func rawHits(t *testing.T, d *trace.Dataset) map[string]int {
	t.Helper()
	hits := make(map[string]int)
	err := trace.Scan(t.Context(), d, trace.TableEvent, func(rows []trace.Event) error {
		for i := range rows {
			row := &rows[i]
			of, known := exportedHits[row.Event]
			if !known || row.Event == "rmw_take" && row.Argument4.Value&0xff == 0 { // nothing was taken
				continue
			}
			hit := fmt.Sprintf("%d %s on %d:", row.EventTimestamp, of.name, row.TID)
			arguments := []trace.Optional[uint64]{row.Argument1, row.Argument2, row.Argument3}
			if row.Event == "callback_start" {
				arguments[1].Value &= 1 // a bool
			}
			for _, i := range of.arguments {
				hit += fmt.Sprintf(" %d", arguments[i].Value)
			}
			hits[hit]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return hits
}

// traceHits counts the same of the trace of a dataset.
func traceHits(t *testing.T, d *trace.Dataset) map[string]int {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "trace")
	if _, err := ctf.Write(t.Context(), dir, d, ctf.Options{}); err != nil {
		t.Fatal(err)
	}
	read, err := ctftest.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	hits := make(map[string]int)
	for i := range read.Events {
		e := &read.Events[i]
		for _, of := range exportedHits {
			if of.name != e.Name {
				continue
			}
			hit := fmt.Sprintf("%d %s on %d:", e.At, e.Name, e.TID)
			for _, i := range of.arguments {
				hit += " " + e.Fields[e.Order[i]]
			}
			hits[hit]++
		}
	}
	return hits
}
