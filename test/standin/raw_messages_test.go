package standin

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/test/groundtruth"
)

func rawPublishes(truth *groundtruth.Truth, kind groundtruth.RawKind) map[int64]groundtruth.RawPublish {
	stamps := make(map[int64]groundtruth.RawPublish)
	for _, raw := range truth.RawPublishes {
		for _, publish := range truth.Publishes {
			if raw.Kind == kind && publish.TID == raw.TID && publish.Number == raw.PublishNumber {
				stamps[publish.SourceTimestamp] = raw
			}
		}
	}
	return stamps
}

// rawLayers are the layers that are traced.
var rawLayers = map[string]string{Humble: "stamp", Jazzy: "rclcpp,rcl,rmw,stamp"}

func TestSerializedMessages(t *testing.T) {
	forEach(t, func(t *testing.T, config Config) {
		truth := run(t, config, "--rate 1 --serialized-rate 50")
		published := rawPublishes(truth, groundtruth.RawSerialized)
		taken := 0
		raw := make(map[uint64]bool) // the rmw subscriptions of generic ones
		for _, take := range truth.RawTakes {
			if !take.Taken {
				continue
			}
			taken++
			raw[take.RMWSubscription] = true
			if _, known := published[take.SourceTimestamp]; !known || take.PublisherGID == "" {
				t.Errorf("nobody published %+v", take)
			}
		}
		if len(published) == 0 || taken == 0 || layers(truth)[rawLayers[config.Distro]] < len(published) {
			t.Errorf("%d publishes, %d takes, layers %v", len(published), taken, layers(truth))
		}
		generic, typed := 0, 0
		for _, callback := range truth.Callbacks {
			if _, known := published[callback.SourceTimestamp]; !known {
				continue
			}
			if callback.PublisherGID == "" {
				t.Errorf("callback %+v has no publisher", callback)
			}
			if raw[callback.RMWSubscription] {
				generic++
			} else {
				typed++
			}
		}
		if typed == 0 || generic == 0 {
			t.Errorf("%d callbacks of the generic subscription, %d of the other one", generic, typed)
		}
	})
}

func TestLoanedMessages(t *testing.T) {
	forEach(t, func(t *testing.T, config Config) {
		truth := run(t, config, "--rate 1 --loaned-rate 50")
		published := rawPublishes(truth, groundtruth.RawLoaned)
		if len(published) == 0 || layers(truth)[rawLayers[config.Distro]] < len(published) {
			t.Errorf("%d publishes, layers %v", len(published), layers(truth))
		}
		received := 0
		for _, callback := range truth.Callbacks {
			if _, known := published[callback.SourceTimestamp]; known {
				received++
			}
		}
		if received == 0 {
			t.Error("no message was received")
		}
	})
}
