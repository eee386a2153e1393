package oracle

import (
	"maps"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/trace"
)

// RequireExact requires that a recording has exactly what happened in a process within a span, and lost nothing.
func RequireExact(t *testing.T, data *Dataset, truth *Truth, s Span, known Circumstances) *Comparison {
	t.Helper()
	result := compare(truth, data, s, known)
	for _, difference := range result.Differences {
		t.Error(difference)
	}
	lost := data.Lost()
	if n := result.Missing[trace.LostInit]; n > lost[trace.LostInit] {
		t.Errorf("%d lifecycle transitions are missing, but only %d initialization events were lost; for example %q", n, lost[trace.LostInit],
			result.Examples)
	}
	delete(result.Missing, trace.LostInit)
	// The ground truth does not count the other initialization events, nor these.
	delete(lost, trace.LostInit)
	delete(lost, trace.LostProcess)
	delete(lost, trace.LostThread)
	delete(lost, trace.LostEvent)
	if !known.Unarmed {
		for _, loss := range data.Losses {
			if loss.Reason == trace.LossUnarmed && int(loss.PID) == truth.Header.PID {
				t.Errorf("%s was not probed for %v: %s", loss.File, time.Duration(loss.ToTimestamp-loss.FromTimestamp), loss.Events)
			}
		}
	}
	for kind, n := range lost {
		if least := result.Missing[kind]; n > least && n <= least+result.Doubtful[kind] {
			result.Missing[kind] = n
		}
	}
	if !maps.Equal(lost, result.Missing) {
		t.Errorf("missing: %v, perhaps %v more, but lost: %v; for example %q", result.Missing, result.Doubtful, lost, result.Examples)
	}
	t.Logf("PID %d: compared %v, %d transitions, %v with %d callbacks, %d publishes, %d takes, %d enqueues; %v; lost %v", truth.Header.PID, result.Compared, result.Transitions, result.Kinds,
		len(truth.Callbacks), len(truth.Publishes), len(truth.Takes), len(truth.Enqueues), result.Statuses, data.Lost())
	return result
}
