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
		id, err := idOf(s)
		if err != nil {
			t.Fatal(err)
		}
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
		"rows":      func(s *trace.Session) { s.Rows["callback"] = 6 },
		"snapshot":  func(s *trace.Session) { s.Snapshot = new(trace.Snapshot) },
		"snapshot2": func(s *trace.Session) { s.Snapshot = &trace.Snapshot{Timestamp: 5} },
		"rotated":   func(s *trace.Session) { s.Removed = &trace.Removed{Until: 5} },
	} {
		if id := of(change); id == first {
			t.Errorf("another %s has the same ID", name)
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
