package loader

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
)

// ringScript writes an intra-process subscription of Humble with its ring buffer.
func ringScript() []string {
	return []string{ // of an intra-process subscription on the first page, on the second page
		fmt.Sprintf("write %x %x", firstPage+352, firstPage+0x800),
		fmt.Sprintf("write %x %x", firstPage+0x808, secondPage),
		fmt.Sprintf("write %x 4", secondPage+8),        // capacity
		fmt.Sprintf("write %x 1000", secondPage+16),    // begin
		fmt.Sprintf("write %x 1020", secondPage+24),    // end
		fmt.Sprintf("write %x 1020", secondPage+32),    // end of the storage
		fmt.Sprintf("write %x 1", secondPage+8+5*8),    // size
		fmt.Sprintf("call executed %x 0 0", firstPage), // a new step
	}
}

// enqueueSites are those by which an enqueue of Humble shows.
func (c *target) enqueueSites(library string) []probes.Site {
	c.t.Helper()
	count, trigger := c.site(library, "entered", abi.EventRclcppIntraPublish), c.site(library, "returned", abi.EventRclcppRingBufferEnqueue)
	count.Form, trigger.Form = abi.FormDerived, abi.FormDerived
	return []probes.Site{count, trigger}
}

// ringTrigger triggers the guard condition of the subscription, as an enqueue does, and as a take does that leaves
// messages.
var ringTrigger = fmt.Sprintf("call returned %x 0 0", firstPage+96)

// TestTriggersAfterAPublishAreNoEnqueues: on Humble a publish is seen to begin, not to end. What ends it in any case
// ends its enqueues, too: a take that leaves messages in its buffer triggers the same guard condition.
func TestTriggersAfterAPublishAreNoEnqueues(t *testing.T) {
	requireRoot(t)
	if runtime.GOARCH != "amd64" {
		t.Skip("the objects have the layout of amd64")
	}
	for name, test := range map[string]struct {
		end      abi.Event
		enqueues int
	}{
		"nothing has happened":                        {abi.EventSimTime, 1},
		"the executor goes on":                        {abi.EventExecutorExecute, 0},
		"a service that defers its response is over":  {abi.EventServiceExecuted, 0},
		"the message goes through the middleware now": {abi.EventRclcppPublish, 0},
	} {
		t.Run(name, func(t *testing.T) {
			library := buildLibrary(t, "libfaults.so")
			c := startTargetWith(t, library)
			ways := ways()
			ways[0].require(t)
			r := newRecording(t, ways[0])
			r.attach(c.pid, append(c.enqueueSites(library), c.site(library, "executed", test.end))...)
			c.do("map 7e0000000000 2000")
			for _, line := range slices.Concat(ringScript(), []string{"call entered 10 0 0", "call executed 20 30 0", ringTrigger}) {
				c.do(line)
			}
			r.drain()
			if got := r.wordsOf(c.pid)[abi.KindEnqueue]; len(got) != test.enqueues {
				t.Errorf("%d enqueues, want %d", len(got), test.enqueues)
			}
		})
	}
}
