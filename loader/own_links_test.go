package loader

import (
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
)

// TestLinksOfOneAndOfAll has what a process is recorded by change hands again and again, between links of its own and
// such for every process, while threads of it and of another process that is recorded come and go. Nothing is seen
// twice, nothing missed.
func TestLinksOfOneAndOfAll(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		library := buildLibrary(t, "libtracepoints.so")
		recorded := startTargetWith(t, library)
		sites := recorded.callbackSites(library)
		shared, constant := sites[:1], sites[1:]
		shared[0].Event = abi.EventExecutorExecute
		own := slices.Clone(shared)
		own[0].Role = abi.RoleOwnFunction
		c := newTally(t, w)
		if !c.loader.MayChangeLinks() {
			t.Skip("no process has such links")
		}
		if err := c.loader.AddProcess(recorded.pid); err != nil {
			t.Fatal(err)
		}
		recorded.do("pace 10000")
		linksOf(t, c.loader, 0, constant)
		links := linksOf(t, c.loader, 0, shared)
		stop := recorded.steadily(c.isBehind, 500, 20_000)
		changes := 40
		if testing.Short() {
			changes = 8
		}
		for i := range changes {
			toOwn := i%2 == 0
			if err := c.loader.PreferOwnLinks(toOwn); err != nil {
				t.Fatal(err)
			}
			process, sites := int32(0), shared
			if toOwn {
				process, sites = recorded.pid, own
			}
			others := linksOf(t, c.loader, process, sites)
			if err := c.loader.AwaitHits(); err != nil {
				t.Fatal(err)
			}
			if err := c.loader.CloseEach(links); err != nil {
				t.Fatal(err)
			}
			links = others
		}
		hits := stop()
		c.readAll()
		c.expectHits(recorded.pid, hits, abi.EventExecutorExecute, abi.EventCallbackEnd)
	})
}
