package attaching

import (
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/probes"
)

// One process has links of its own, and so have few beside many others. Many have links for all.
func TestAreSharedLinksCheaper(t *testing.T) {
	costs := &probes.Costs{Instructions: map[string]time.Duration{"nop": 600 * time.Nanosecond, "mov": 14 * time.Microsecond}, Program: 200 * time.Nanosecond}
	for _, test := range []struct {
		recorded, others int
		shared           bool
	}{
		{0, 10, false}, {1, 0, false}, {1, 100, false}, {2, 0, true}, {2, 1, false}, {20, 0, true}, {20, 15, true}, {20, 100, false},
		{60, 40, true}, {300, 300, true}, {1 << 20, 0, true},
	} {
		if got := AreSharedLinksCheaper(test.recorded, test.others, costs); got != test.shared {
			t.Errorf("%d recorded, %d others: %v", test.recorded, test.others, got)
		}
	}
	if !AreSharedLinksCheaper(20, 0, nil) {
		t.Error("without costs")
	}
}

// Replacing all links pays where the other kind is clearly cheaper. Otherwise they stay as they are.
func TestIsChangeWorth(t *testing.T) {
	costs := &probes.Costs{Instructions: map[string]time.Duration{"nop": 600 * time.Nanosecond}, Program: 200 * time.Nanosecond}
	for _, test := range []struct {
		isShared         bool
		recorded, others int
		want             bool
	}{
		{false, 20, 60, false}, {true, 20, 60, true},
		{false, 20, 0, true}, {true, 20, 0, false},
		{false, 20, 15, false}, {true, 20, 15, false}, // about the same
		{true, 1, 5, true}, {true, 1, 0, true}, {true, 0, 5, false}, {false, 0, 0, false},
	} {
		if got := IsChangeWorth(test.isShared, test.recorded, test.others, costs); got != test.want {
			t.Errorf("shared %v, %d recorded, %d others: %v", test.isShared, test.recorded, test.others, got)
		}
	}
}
