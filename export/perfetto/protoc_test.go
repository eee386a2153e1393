package perfetto_test

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/export/perfetto"
	"github.com/caret-bpf/caret-bpf/trace"
)

// protosVariable names the folder of Perfetto's sources, which has protos/perfetto/trace/trace.proto.
const protosVariable = "PERFETTO_PROTOS"

// unknownField is how protoc shows a field that a message does not have, or not of that type.
var unknownField = regexp.MustCompile(`(?m)^\s*\d+:? `)

// Perfetto's own definitions know every field that is written.
func TestProtocAgrees(t *testing.T) {
	folder := os.Getenv(protosVariable)
	if folder == "" {
		t.Skipf("%s does not name the folder of Perfetto's sources", protosVariable)
	}
	protoc, err := exec.LookPath("protoc")
	if err != nil {
		t.Skip("protoc is not installed")
	}
	rows := communication()
	rows.Callbacks = append(rows.Callbacks, ran(4, 0x13, 300, 0, trace.CallbackRecordingEnd, 0), ran(4, 0x13, 0, 290, trace.CallbackStartMissing, 0))
	rows.Losses = []trace.Loss{{Kind: trace.LostEvent, Reason: trace.LossUnarmed, FromTimestamp: begin + 5, ToTimestamp: begin + 15, PID: 77, ProcessStart: 1, File: "/lib/libnew.so"}}
	rows.Scheds = []trace.Sched{off(robot.PID, 10, 14, 20, 1, 1), off(3, 20, 0, 30, 1, 2)}
	decoded, summary := export(t, rows, analyze.Filter{}, perfetto.Options{TaskStates: true}, "[/sensor]-[/points]-[/left]")
	command := exec.CommandContext(t.Context(), protoc, "-I", folder, "--decode=perfetto.protos.Trace", "protos/perfetto/trace/trace.proto")
	command.Stdin = bytes.NewReader(decoded.Packets)
	var problems strings.Builder
	command.Stderr = &problems
	text, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, problems.String())
	}
	if at := unknownField.FindIndex(text); at != nil {
		t.Errorf("an unknown field: %s", text[max(0, at[0]-300):min(len(text), at[1]+100)])
	}
	events := 2*len(decoded.Slices) + len(decoded.Instants) + len(decoded.Counters)
	for what, want := range map[string]int{
		"track_event {": events, "track_descriptor {": len(decoded.Tracks), "clock_snapshot {": 1, "primary_trace_clock: BUILTIN_CLOCK_REALTIME": 1,
		"terminating_flow_ids: ": len(decoded.Flows), "type: TYPE_SLICE_BEGIN": len(decoded.Slices), "type: TYPE_INSTANT": len(decoded.Instants),
		"type: TYPE_COUNTER": len(decoded.Counters), `process_name: "robot"`: 1, "correlation_id: ": 4,
		"state: TASK_STATE_RUNNING": 2 * 2, "state: TASK_STATE_RUNNABLE": 2 + 2, "state: TASK_STATE_INTERRUPTIBLE_SLEEP": 1, "prio: 120": int(summary.TaskStates),
		`comm: "robot"`: 3,
	} {
		if got := strings.Count(string(text), what); got != want {
			t.Errorf("%q is there %d times, want %d", what, got, want)
		}
	}
}
