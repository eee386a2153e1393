package lake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/caret-bpf/caret-bpf/trace"
)

// idBytes is as much of a hash as tells recordings apart.
const idBytes = 8

// RecordingID returns the name of a recording in a lake: when it began and what tells it from others, so that copies of
// one dataset have the same. A rotation and a snapshot are recordings of their own. Attributes do not matter.
func RecordingID(ctx context.Context, d *trace.Dataset) (string, error) {
	if session := d.Session(); session != nil && (session.Host.BootID != "" || len(session.History) > 0) {
		return idOf(session)
	}
	return idOfSegments(ctx, d)
}

// idOf is that of a recording whose session.json can be read.
func idOf(s *trace.Session) (string, error) {
	text, err := json.Marshal(struct {
		BootID   string
		Recorder int
		History  []trace.StateChange
		Clock    trace.Clock
		Snapshot *trace.Snapshot
		Removed  *trace.Removed
		Rows     map[string]uint64
	}{s.Host.BootID, s.Recorder.PID, s.History, s.Clock, s.Snapshot, s.Removed, s.Rows})
	if err != nil {
		return "", fmt.Errorf("name recording: %w", err)
	}
	began := s.Clock.RealtimeTimestamp
	if began == 0 && len(s.History) > 0 {
		began = s.History[0].Timestamp
	}
	if s.Snapshot != nil {
		began = s.Snapshot.First
	}
	return nameOf(began, text), nil
}

// idOfSegments goes by what there is of a recording whose session.json is lost, or tells nothing: its segments and its
// span.
func idOfSegments(ctx context.Context, d *trace.Dataset) (string, error) {
	var found struct {
		Segments map[string]int64
		Span     trace.Span
	}
	found.Segments = make(map[string]int64)
	tables, err := d.Tables()
	if err != nil {
		return "", err
	}
	for _, table := range tables {
		segments, _, err := d.Segments(table)
		if err != nil {
			return "", err
		}
		for _, s := range segments {
			found.Segments[table+"/"+filepath.Base(s.Path)] = s.Bytes
		}
	}
	// Of a damaged segment the size is known.
	found.Span, _, _ = trace.TimeSpan(ctx, d)
	text, err := json.Marshal(found)
	if err != nil {
		return "", fmt.Errorf("name recording: %w", err)
	}
	return nameOf(found.Span.First, text), nil
}

func nameOf(began int64, what []byte) string {
	hash := sha256.Sum256(what)
	return time.Unix(0, began).UTC().Format("20060102T150405Z") + "-" + hex.EncodeToString(hash[:idBytes])
}
