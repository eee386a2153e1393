package session

import "testing"

func TestRecentStarts(t *testing.T) {
	var starts recentStarts
	if start := starts.of(1); start != (processStart{}) {
		t.Errorf("nothing was noted: %+v", start)
	}
	const many = 5 * rememberedStarts
	for pid := range int32(many) {
		starts.note(pid, processStart{int64(pid) + 1, "talker", 0})
	}
	for pid := int32(many - rememberedStarts); pid < many; pid++ {
		if start := starts.of(pid); start != (processStart{int64(pid) + 1, "talker", 0}) {
			t.Fatalf("PID %d: %+v", pid, start)
		}
	}
	if held := len(starts.fresh) + len(starts.stale); held > 2*rememberedStarts {
		t.Errorf("%d are held", held)
	}
	starts.note(many-1, processStart{7, "listener", 0})
	if start := starts.of(many - 1); start != (processStart{7, "listener", 0}) {
		t.Errorf("a PID that was used anew: %+v", start)
	}
}
