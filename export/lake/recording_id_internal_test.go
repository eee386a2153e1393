package lake

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// TestRecordingID: copies of a recording have one name, whatever was noted of it; others have others.
func TestRecordingID(t *testing.T) {
	of := func(change func(*trace.Session)) string {
		s := &trace.Session{FormatVersion: trace.FormatVersion, Host: trace.Host{BootID: "boot"}, Recorder: trace.Recorder{PID: 7}, Rows: map[string]uint64{"callback": 5}}
		s.Clock.RealtimeTimestamp = 1_767_323_045_000_000_000
		s.History = []trace.StateChange{{State: trace.StateConfigured, Timestamp: 5}}
		change(s)
		id := idOf(s)
		if !regexp.MustCompile(`^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{16}$`).MatchString(id) {
			t.Errorf("ID %s", id)
		}
		return id
	}
	first := of(func(*trace.Session) {})
	for name, change := range map[string]func(*trace.Session){
		"attributes": func(s *trace.Session) { s.Attributes = map[string]string{"vehicle": "v12"} },
		"warnings":   func(s *trace.Session) { s.Warnings = []string{"late"} },
		"path":       func(s *trace.Session) { s.Targets = []trace.Target{{PID: 1}} },
		"rows":       func(s *trace.Session) { s.Rows["callback"] = 6 },
		"retention":  func(s *trace.Session) { s.Removed = &trace.Removed{Until: 5} },
		"state": func(s *trace.Session) {
			s.History = append(s.History, trace.StateChange{State: trace.StateStopped, Timestamp: 9})
		},
		"ending": func(s *trace.Session) { s.Ending = trace.EndingDuration },
	} {
		if id := of(change); id != first {
			t.Errorf("other %s: %s, not %s", name, id, first)
		}
	}
	for name, change := range map[string]func(*trace.Session){
		"boot":      func(s *trace.Session) { s.Host.BootID = "other" },
		"recorder":  func(s *trace.Session) { s.Recorder.PID = 8 },
		"history":   func(s *trace.Session) { s.History[0].Timestamp = 6 },
		"clock":     func(s *trace.Session) { s.Clock.MonotonicTimestamp = 6 },
		"snapshot":  func(s *trace.Session) { s.Snapshot = new(trace.Snapshot) },
		"snapshot2": func(s *trace.Session) { s.Snapshot = &trace.Snapshot{Timestamp: 5} },
	} {
		if id := of(change); id == first {
			t.Errorf("another %s has the same ID", name)
		}
	}
}

// TestRecordingIDStays: no version of caret-bpf names a recording anew that a former one has named.
func TestRecordingIDStays(t *testing.T) {
	for want, part := range map[string]string{
		"20260102T031045Z-509fca9088163173": "",
		"20260102T031046Z-d925418825357356": `, "snapshot": {"first": 1767323446000000000, "last": 1767323447000000000, "timestamp": 1767323448000000000, "reason": "asked"}`,
	} {
		s, err := trace.DecodeSession([]byte(`{"format_version": 1, "recorder": {"pid": 7}, "host": {"boot_id": "5f0c1d2e"},
			"history": [{"state": "configured", "timestamp": 1767323445500000000}],
			"clock": {"monotonic_timestamp": 5000, "realtime_timestamp": 1767323445000000000}` + part + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if id := idOf(s); id != want {
			t.Errorf("it is named %s, which was %s", id, want)
		}
	}
}

// TestWithoutSession: a recording whose session.json is lost has a name, too, and is published.
func TestWithoutSession(t *testing.T) {
	var lost []*trace.Dataset
	for range 2 {
		d := simulated(t, 1)[0]
		if err := os.Remove(filepath.Join(d.Dir(), trace.SessionFile)); err != nil {
			t.Fatal(err)
		}
		lost = append(lost, tracetest.Open(t, d.Dir()))
	}
	dir := t.TempDir()
	l := openLake(t, dir)
	first, second := mustPublish(t, l, lost[0], Request{}), mustPublish(t, l, lost[1], Request{})
	if !second.Already || second.Recording != first.Recording {
		t.Errorf("first %+v, then %+v", first, second)
	}
	other := tracetest.Open(t, lost[1].Dir())
	tracetest.AddSegment(t, other.Dir(), 77, []trace.Loss{{Kind: trace.LostCallback, Reason: trace.LossRingFull, Count: 1}})
	if third := mustPublish(t, l, other, Request{}); third.Already {
		t.Errorf("another recording: %+v", third)
	}
}
