package recording

import (
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestLinksOfManyProcesses: many processes have links for every process, one has links of its own. All of them are
// recorded exactly, and nothing is recorded of one beside them.
func TestLinksOfManyProcesses(t *testing.T) {
	const many = 20 // so many that other tests, which run meanwhile, do not weigh more
	requireRecording(t)
	for _, distro := range standin.Distros() {
		t.Run(distro, func(t *testing.T) {
			l := layout{distro, oneLayout.rmw}
			var nodes []*node
			var pids []string
			for range many {
				n := startNode(t, l, "--rate 10")
				nodes, pids = append(nodes, n), append(pids, n.pidText())
			}
			bystander := startReadyNode(t, l, "--rate 10")
			for _, n := range nodes {
				n.WaitReady()
			}
			r := record(t, session.Configuration{PIDs: strings.Join(pids, " ")})
			r.waitForRows(trace.TableCallback, many*enough)
			data := r.stop()
			links := data.Session.Links
			if links == nil || links.Recorded != many || links.Others < 1 || links.Shared == loader.MayHaveShadowStacks() {
				t.Errorf("links: %+v", links)
			}
			for _, n := range nodes {
				r.requireExact(data, n.stop(), oracle.Circumstances{Found: true})
			}
			for _, row := range data.Callbacks {
				if int(row.PID) == bystander.PID() {
					t.Fatalf("a row of another process: %+v", row)
				}
			}
		})
	}
}
