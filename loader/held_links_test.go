package loader

import (
	"slices"
	"testing"

	"github.com/cilium/ebpf/link"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/memoryhelper"
)

// holdLinks has the links of an attachment open beside the recorder until the test ends, as a child of the
// recorder has between fork and exec: to close them detaches nothing.
func holdLinks(t *testing.T, attachments ...*Attachment) {
	t.Helper()
	for _, attachment := range attachments {
		for _, id := range linkNumbers(t, attachment) {
			again, err := link.NewFromID(id)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := again.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// linkNumbers are those by which the kernel knows the links of an attachment.
func linkNumbers(t *testing.T, a *Attachment) (ids []link.ID) {
	t.Helper()
	closers := slices.Clone(a.links)
	for _, key := range a.shared {
		closers = append(closers, a.set.shared[key].link.Closer)
	}
	for _, closer := range closers {
		attached, isLink := closer.(link.Link)
		if !isLink {
			t.Skip("only links have numbers")
		}
		info, err := attached.Info()
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, info.ID)
	}
	if len(ids) == 0 {
		t.Fatal("there is no link")
	}
	return ids
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

// TestClosedLinksAreGone closes links while helpers are begun all the time, which have all of them open between fork
// and exec.
func TestClosedLinksAreGone(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		if w.options.ForceTracefs {
			t.Skip("only links have numbers")
		}
		c := startCallerTest(t)
		r := newRecording(t, w)
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				default:
					var helper memoryhelper.Helper
					_, _, _ = helper.Read(c.pid, 0, make([]byte, 8))
					helper.Close()
				}
			}
		}()
		defer func() {
			close(stop)
			<-stopped
		}()
		const rounds = 30
		for range rounds {
			attachment := r.attach(c.pid, c.bodies...)
			ids := linkNumbers(t, attachment)
			closeAttachment(t, attachment)
			for _, id := range ids {
				if left, err := link.NewFromID(id); err == nil {
					t.Error("a link is there after it was closed")
					_ = left.Close()
				}
			}
		}
	})
}
