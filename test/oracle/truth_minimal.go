package oracle

import (
	"slices"

	"github.com/caret-bpf/caret-bpf/test/groundtruth"
	"github.com/caret-bpf/caret-bpf/test/standin"
)

// ReduceToMinimal forgets what the profile minimal does not observe.
func (t *Truth) ReduceToMinimal() {
	stampIsRMW := t.Header.Distro != standin.Humble
	for _, thread := range t.threads {
		thread.enqueues, thread.dequeues, thread.sorted = nil, nil, nil
		thread.instants = slices.DeleteFunc(thread.instants, func(event instant) bool { return !event.kind.isMinimal() })
		if stampIsRMW {
			thread.steps = nil
		}
		for _, e := range thread.executions {
			e.take.reduceToMinimal(stampIsRMW)
			e.fed, e.InfoGID, e.HeaderStamp = nil, e.take.InfoGID, 0
		}
		for _, take := range thread.takes {
			take.reduceToMinimal(stampIsRMW)
		}
		for _, publish := range thread.publishes {
			publish.Intra, publish.RCLCPP, publish.HeaderStamp, publish.enqueues = groundtruth.Bracket{}, groundtruth.Bracket{}, 0, nil
			if stampIsRMW {
				publish.RCL, publish.raw = groundtruth.Bracket{}, nil
			} else {
				publish.RMW = groundtruth.Bracket{}
			}
		}
	}
}

func (t *takeTruth) reduceToMinimal(stampIsRMW bool) {
	if t.raw != nil && t.raw.Kind != groundtruth.RawLoaned && stampIsRMW {
		t.raw = nil // its tracepoint does not tell its form
	}
	if t.raw == nil {
		t.InfoGID = "" // of others rcl's functions are probed
	}
	t.HeaderStamp = 0
}
