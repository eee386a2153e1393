package standin

import (
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/test/groundtruth"
)

func TestTakesNameTheirPublisher(t *testing.T) {
	forEach(t, func(t *testing.T, config Config) {
		truth := run(t, config, "--topics 3 --polled-rate 20")
		gids := make(map[uint64]string)
		for _, publisher := range truth.RMWPublisherInits {
			gids[publisher.Handle] = publisher.GID
		}
		publisher := make(map[int64]string) // by source timestamp
		for _, publish := range truth.Publishes {
			publisher[publish.SourceTimestamp] = gids[publish.RMWPublisher]
		}
		check := func(stamp int64, gid, info string) {
			if gid == "" || gid != publisher[stamp] {
				t.Errorf("the message stamped %d came from %q, want %q", stamp, gid, publisher[stamp])
			}
			isHandle := strings.HasSuffix(info, strings.Repeat("0", 16))
			if config.RMW == FastDDS && info != gid || config.RMW == CycloneDDS && !isHandle {
				t.Errorf("the message info says %s of a message from %s", info, gid)
			}
		}
		for _, callback := range truth.Callbacks {
			if callback.Kind == groundtruth.KindSubscription {
				check(callback.SourceTimestamp, callback.PublisherGID, callback.InfoGID)
			}
		}
		for _, take := range truth.Takes {
			check(take.SourceTimestamp, take.PublisherGID, take.InfoGID)
		}
		if len(gids) != 3 || len(truth.RMWSubscriptionInits) != 4 || len(truth.Takes) == 0 {
			t.Errorf("%d publishers, %d subscriptions, %d takes", len(gids), len(truth.RMWSubscriptionInits),
				len(truth.Takes))
		}
	})
}
