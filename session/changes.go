package session

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

// Bounds of what session.json tells of changes.
const (
	maxChanges     = 10_000
	maxChangeBytes = 1 << 20 // of all values
	// maxRotations is how many rotations are told of: the newest. They never fill the list.
	maxRotations = 1000
)

// errChanges is returned for one change too many.
var errChanges = fmt.Errorf("%w: it was changed so often that session.json has no room for more", ErrConfiguration)

// hasRoom reports whether a list of changes has room for some more. A value that cannot be told has none.
func hasRoom(changes []trace.Change, more ...any) bool {
	count, bytes := len(more), 0
	for _, value := range more {
		text, err := json.Marshal(value)
		if err != nil {
			return false
		}
		bytes += len(text)
	}
	for _, c := range changes {
		if c.What != trace.ChangeRotated {
			count++
			bytes += len(c.Value)
		}
	}
	return count <= maxChanges && bytes <= maxChangeBytes
}

// withChange returns a list of changes with one more. Of too many rotations the oldest goes.
func withChange(changes []trace.Change, c trace.Change) []trace.Change {
	changes = append(changes, c)
	isRotation := func(c trace.Change) bool { return c.What == trace.ChangeRotated }
	rotations := 0
	for _, c := range changes {
		if isRotation(c) {
			rotations++
		}
	}
	if rotations > maxRotations {
		oldest := slices.IndexFunc(changes, isRotation)
		changes = slices.Delete(changes, oldest, oldest+1)
	}
	return changes
}

// hasRoom reports whether session.json has room for some changes more.
func (s *Session) hasRoom(values ...any) (room bool) {
	s.journal.with(func(report *trace.Session) { room = hasRoom(report.Changes, values...) })
	return room
}

// noteChange puts into session.json that something has taken effect.
func (s *Session) noteChange(what string, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		s.journal.warn(fmt.Errorf("noting that %s was changed: %w", what, err))
		return
	}
	c := trace.Change{Timestamp: s.clock.now(), What: what, Value: text}
	s.journal.with(func(report *trace.Session) { report.Changes = withChange(report.Changes, c) })
	s.journal.warn(s.journal.rewrite(s.writer))
	s.journal.message(fmt.Sprintf("from now on: %s %s", what, text))
}
