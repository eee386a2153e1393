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

// RecordingID returns the name of a recording in a lake: when it began and what tells it from others. Copies of one
// dataset have the same, also one that was made while the recording went on, in whatever version of caret-bpf.
// A rotation and a snapshot are recordings of their own. Attributes do not matter.
func RecordingID(ctx context.Context, d *trace.Dataset) (string, error) {
	if session := d.Session(); session != nil && (session.Host.BootID != "" || len(session.History) > 0) {
		return idOf(session), nil
	}
	return idOfSegments(ctx, d)
}

// idOf is that of a recording whose session.json can be read: of what is known when it begins. The text is never to
// change, since recordings that are in lakes are named by it.
func idOf(s *trace.Session) string {
	entered := int64(0)
	if len(s.History) > 0 {
		entered = s.History[0].Timestamp
	}
	text := fmt.Sprintf("%q %d %d %d %d", s.Host.BootID, s.Recorder.PID, entered, s.Clock.MonotonicTimestamp, s.Clock.RealtimeTimestamp)
	began := s.Clock.RealtimeTimestamp
	if began == 0 {
		began = entered
	}
	if part := s.Snapshot; part != nil {
		text += fmt.Sprintf(" snapshot %d %d %d", part.First, part.Last, part.Timestamp)
		began = part.First
	}
	return nameOf(began, []byte(text))
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
