package trace_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/trace"
)

func exampleSession() *trace.Session {
	s := trace.NewSession()
	s.Recorder = trace.Recorder{Name: "caret-bpf", Version: "1.2.3", PID: 77}
	s.Host = trace.Host{Name: "robot", Kernel: "6.12.1", Machine: "x86_64", BootID: "b"}
	s.Configuration = json.RawMessage(`{"buffer_size":1}`)
	s.Targets = []trace.Target{{PID: 5, ProcessStart: 9, Command: "talker", Executable: "/bin/talker", Distro: "humble"}}
	s.Plan.Sites = []trace.Site{{Event: "callback_start", File: "/lib/libtracetools.so", BuildID: "ab", Symbol: "ros_trace_callback_start", Offset: 0x1234, Class: "emulated"}}
	s.Plan.Missing = []trace.MissingEvent{{Event: "rclcpp_intra_publish", Reason: "Humble does not have it"}}
	s.Enter(trace.StateConfigured, time.Unix(1, 5))
	s.Enter(trace.StateRecording, time.Unix(2, 0))
	s.Clock = trace.Clock{MonotonicTimestamp: 1, RealtimeTimestamp: 3, RealtimeOffset: 2, Uncertainty: 1}
	s.Rows = map[string]uint64{trace.TableCallback: 3}
	s.Losses = []trace.LossTotal{{Kind: trace.LostTake, Reason: trace.LossRingFull, Count: 4}}
	s.Warnings = []string{"w"}
	s.Unstamped = []trace.UnstampedType{{MessageType: "a/msg/A", Reason: "not installed", PIDs: []int{5}}}
	return s
}

func TestSessionSurvivesItsFile(t *testing.T) {
	want := exampleSession()
	text, err := trace.EncodeSession(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := trace.DecodeSession(text)
	if err != nil {
		t.Fatal(err)
	}
	// The file is indented, the configuration in it too.
	var configuration any
	if err := json.Unmarshal(got.Configuration, &configuration); err != nil {
		t.Fatal(err)
	}
	got.Configuration, want.Configuration = nil, nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got.State != trace.StateRecording || got.History[0].Timestamp != 1_000_000_005 {
		t.Errorf("state %s, history %v", got.State, got.History)
	}
}

func TestSessionWritesEmptyListsAsSuch(t *testing.T) {
	text, err := trace.EncodeSession(trace.NewSession())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "null") {
		t.Errorf("session.json has null:\n%s", text)
	}
}

func TestDecodeSessionChecksTheFormat(t *testing.T) {
	cases := []struct {
		name, text string
		newer      bool
	}{
		{"later version", `{"format_version": 99, "targets": "of another type"}`, true},
		{"no version", `{"state": "stopped"}`, false},
		{"cut short", `{"format_version": 1, "sta`, false},
		{"empty", ``, false},
		{"no object", `[]`, false},
		{"trailing text", `{"format_version": 1} and more`, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := trace.DecodeSession([]byte(c.text))
			if err == nil || errors.Is(err, trace.ErrNewerFormat) != c.newer {
				t.Errorf("error %v, newer format: %v", err, c.newer)
			}
		})
	}
}
