package standin

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/test/groundtruth"
)

// Two subscriptions take shared pointers, the others own their message: rclcpp then hands over a shared copy, and the
// original to the last owner.
func TestIntraProcessOriginalsAndCopies(t *testing.T) {
	forEach(t, func(t *testing.T, config Config) {
		truth := run(t, config, "--intra-process --subscriptions-per-topic 4 --callback-form mixed")
		type number struct {
			tid     int
			publish uint64
		}
		messages := make(map[number][]uint64)
		for _, enqueue := range truth.Enqueues {
			key := number{enqueue.TID, enqueue.PublishNumber}
			messages[key] = append(messages[key], enqueue.Message)
		}
		if len(truth.IntraPublishes) == 0 || len(truth.IntraPublishes) != len(truth.Publishes) {
			t.Fatalf("%d intra-process publishes of %d", len(truth.IntraPublishes), len(truth.Publishes))
		}
		for _, publish := range truth.IntraPublishes {
			got := messages[number{publish.TID, publish.PublishNumber}]
			if len(got) != 4 || got[0] != got[1] || got[0] == publish.Message || got[3] != publish.Message {
				t.Errorf("message %#x went to the buffers as %#x", publish.Message, got)
			}
		}
		checkSlots(t, truth)
	})
}

// checkSlots checks that what comes out of a buffer's slot is what was put there last.
func checkSlots(t *testing.T, truth *groundtruth.Truth) {
	t.Helper()
	type slot struct{ buffer, index uint64 }
	content := make(map[slot][]groundtruth.Enqueue)
	for _, enqueue := range truth.Enqueues {
		key := slot{enqueue.Buffer, enqueue.Index}
		content[key] = append(content[key], enqueue)
	}
	for _, dequeue := range truth.Dequeues {
		var latest groundtruth.Enqueue
		for _, enqueue := range content[slot{dequeue.Buffer, dequeue.Index}] {
			if enqueue.Bracket.After <= dequeue.Bracket.After && enqueue.Bracket.After > latest.Bracket.After {
				latest = enqueue
			}
		}
		if latest.Message != dequeue.Message || latest.HeaderStamp != dequeue.HeaderStamp || dequeue.HeaderStamp == 0 {
			t.Errorf("%+v came after %+v", dequeue, latest)
		}
	}
}
