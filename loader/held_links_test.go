package loader

import (
	"slices"
	"testing"

	"github.com/cilium/ebpf/link"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
)

// holdLinks has the links of an attachment open beside the recorder until the test ends, as a child of the
// recorder has between fork and exec: to close them detaches nothing.
func holdLinks(t *testing.T, attachments ...*Attachment) {
	t.Helper()
	held := 0
	for _, attachment := range attachments {
		closers := slices.Clone(attachment.links)
		for _, key := range attachment.shared {
			closers = append(closers, attachment.set.shared[key].link.Closer)
		}
		for _, closer := range closers {
			attached, isLink := closer.(link.Link)
			if !isLink {
				t.Skip("only links can be opened once more")
			}
			info, err := attached.Info()
			if err != nil {
				t.Fatal(err)
			}
			again, err := link.NewFromID(info.ID)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := again.Close(); err != nil {
					t.Error(err)
				}
			})
			held++
		}
	}
	if held == 0 {
		t.Fatal("there is nothing to hold")
	}
}

// TestHeldBodiesRecordNothing detaches bodies that somebody else has open: what they are hit by is seen at callers.
func TestHeldBodiesRecordNothing(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		c := startCallerTest(t)
		r := newRecording(t, w)
		r.attach(c.pid, c.callers...)
		bodies := r.attach(c.pid, c.bodies...)
		holdLinks(t, bodies)
		const calls = 20
		for range calls {
			c.do("call by_call 7 1 0")
		}
		closeAttachment(t, bodies)
		for range calls {
			c.do("call by_jump 7 1 0")
		}
		for _, event := range []abi.Event{abi.EventCallbackStart, abi.EventCallbackEnd} {
			if got, want := r.hits(c.pid, event), 2*calls; got != want {
				t.Errorf("%d hits of %v, want %d", got, event, want)
			}
		}
	})
}

// TestHeldLinksRecordNothing replaces links that somebody else has open.
func TestHeldLinksRecordNothing(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		library := buildLibrary(t, "libtracepoints.so")
		recorded := startTargetWith(t, library)
		sites := withCost(recorded.callbackSites(library)...)
		c := newTally(t, w)
		if err := c.loader.AddProcess(recorded.pid); err != nil {
			t.Fatal(err)
		}
		former := linksOf(t, c.loader, recorded.pid, sites)
		holdLinks(t, former...)
		begin(t, c.loader, true)
		linksOf(t, c.loader, 0, sites)
		commit(t, c.loader)
		end(t, c.loader, former)
		recorded.do("run 100 1")
		recorded.awaitThreads()
		c.expect(recorded.pid, 100, abi.EventCallbackStart, abi.EventCallbackEnd)
	})
}
