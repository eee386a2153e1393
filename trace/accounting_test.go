package trace_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/trace"
)

// Whatever the kernel side can count as lost is among the kinds and reasons that readers are told of.
func TestLossesAreComplete(t *testing.T) {
	kinds, reasons := trace.LossKinds(), trace.LossReasons()
	for kind := range abi.KindCount {
		name := kind.String()
		if kind == abi.KindScheduledCallback || strings.HasPrefix(name, "kind_") {
			continue // its losses are those of callbacks, or there is none of that number
		}
		if !slices.Contains(kinds, trace.LossKind(name)) {
			t.Errorf("the kind %s is missing", name)
		}
	}
	for reason := range abi.ReasonCount + 1 {
		if name := reason.String(); !strings.HasPrefix(name, "reason_") && !slices.Contains(reasons, trace.LossReason(name)) {
			t.Errorf("the reason %s is missing", name)
		}
	}
	if slices.Contains(reasons, trace.LossUnarmed) {
		t.Error("files that were not probed are no records")
	}
}
