package oracle

import "testing"

// RequireNothingLess requires every callback and every publish of the ground truth, with its source timestamp, and
// at least so many publishes.
func RequireNothingLess(t *testing.T, data *Dataset, s Span, truth *Truth, least int) {
	t.Helper()
	starts, stamps := map[uint64]int{}, map[int64]int{}
	for _, row := range data.Callbacks {
		starts[uint64(row.Callback)]++
	}
	for _, row := range data.Publishes {
		if row.SourceTimestamp.Valid && row.PublisherHandle != 0 && row.TopicName != "" {
			stamps[row.SourceTimestamp.Value]++
		}
	}
	callbacks, publishes := map[uint64]int{}, 0
	for _, thread := range truth.threads {
		for _, e := range thread.executions {
			if s.holds(e.Start) == present {
				callbacks[e.Callback.Callback]++
			}
		}
		for _, publish := range thread.publishes {
			if publish.Publisher != 0 && publish.RCL.Happened() && s.holds(publish.Stamp) == present && s.holds(publish.RCL) == present {
				publishes++
				if stamps[publish.SourceTimestamp] != 1 {
					t.Errorf("publish at %d has %d rows", publish.RCL.Before, stamps[publish.SourceTimestamp])
				}
			}
		}
	}
	for callback, want := range callbacks {
		if starts[callback] < want {
			t.Errorf("callback %#x was executed %d times and has %d rows", callback, want, starts[callback])
		}
	}
	if len(callbacks) == 0 || publishes < least {
		t.Errorf("%d callbacks, %d publishes", len(callbacks), publishes)
	}
}
