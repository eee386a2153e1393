package recording

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestTypesWithoutDefinitions: that a message type is not installed is said in session.json, once for all processes
// that use it, and to nobody who does not ask.
func TestTypesWithoutDefinitions(t *testing.T) {
	requireRecording(t)
	const sample = "standin_msgs/msg/Sample"
	var nodes []*node
	var pids []int
	for range 2 {
		n := &node{standin.Start(t, standin.Config{
			Distro: oneLayout.distro, RMW: oneLayout.rmw, Arguments: strings.Fields("--rate 50"),
			Environment: []string{"AMENT_PREFIX_PATH=" + filepath.Join(t.TempDir(), "nothing")},
		}), t}
		n.WaitReady()
		nodes, pids = append(nodes, n), append(pids, n.PID())
	}
	r := record(t, session.Configuration{PIDs: nodes[0].pidText() + "," + nodes[1].pidText()})
	r.waitForRows(trace.TableCallback, enough)
	data := r.stop()
	for _, n := range nodes {
		n.stop()
	}
	of := slices.IndexFunc(data.Session.Unstamped, func(of trace.UnstampedType) bool { return of.MessageType == sample })
	if of < 0 {
		t.Fatalf("%s is not in %+v", sample, data.Session.Unstamped)
	}
	slices.Sort(pids)
	if got := data.Session.Unstamped[of]; !slices.Equal(got.PIDs, pids) || !strings.HasPrefix(got.Reason, "no definition among ") {
		t.Errorf("%+v, want the PIDs %d", got, pids)
	}
	for _, said := range append(slices.Clone(data.Session.Warnings), r.messages...) {
		if strings.Contains(said, "message_timestamp") || strings.Contains(said, sample) {
			t.Errorf("everybody is told %q", said)
		}
	}
	for _, row := range data.Publishes {
		if row.MessageTimestamp.Valid {
			t.Fatalf("a stamp was read: %+v", row)
		}
	}
}
