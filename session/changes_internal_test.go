package session

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
)

// However long a recording goes on, its list of changes is bounded, and rotations are never refused.
func TestChangesAreBounded(t *testing.T) {
	change := func(what, value string) trace.Change {
		return trace.Change{What: what, Value: json.RawMessage(`"` + value + `"`)}
	}
	var changes []trace.Change
	for range maxRotations + 5 {
		changes = withChange(changes, change(trace.ChangeRotated, strings.Repeat("x", 4096)))
	}
	if len(changes) != maxRotations || !hasRoom(changes, 1) {
		t.Errorf("%d rotations, room: %v", len(changes), hasRoom(changes, 1))
	}
	for range maxChanges - 1 {
		changes = withChange(changes, change("profile", "full"))
	}
	if !hasRoom(changes, 1) || hasRoom(changes, 1, 2) {
		t.Errorf("%d changes: room for one %v, for two %v", len(changes), hasRoom(changes, 1), hasRoom(changes, 1, 2))
	}
	newest := change(trace.ChangeRotated, "newest")
	if changes = withChange(changes, newest); len(changes) != maxRotations+maxChanges-1 || string(changes[len(changes)-1].Value) != `"newest"` {
		t.Errorf("%d changes, the last is %s", len(changes), changes[len(changes)-1].Value)
	}
	if hasRoom(nil, strings.Repeat("x", maxChangeBytes)) || !hasRoom(nil, "x") || hasRoom(nil, func() {}) {
		t.Error("values are not bounded")
	}
}
