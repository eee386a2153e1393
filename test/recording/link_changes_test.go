package recording

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestLinksChangeWhileRecording: beside many others that run ROS 2, links are of single processes. They are replaced by
// such for every process when these end, and back when others begin. Each event is recorded once.
func TestLinksChangeWhileRecording(t *testing.T) {
	const many, others = 20, 60 // so many that other tests, which run meanwhile, do not weigh more
	requireRecording(t)
	requireLong(t)
	if err := loader.Probe().UprobeMulti; err != nil {
		t.Skipf("links are not replaced without uprobe_multi: %v", err)
	}
	if loader.MayHaveShadowStacks() {
		t.Skip("where processes may have shadow stacks, links are of single ones")
	}
	distros := standin.Distros()
	startOthers := func() (end func()) {
		var ends []func()
		for _, distro := range distros {
			end, _ := standin.StartIdle(t, filepath.Join(standin.Directory(t, distro, false), "libtracetools.so"), others/len(distros))
			ends = append(ends, end)
		}
		return func() {
			for _, end := range ends {
				end()
			}
		}
	}
	end := startOthers()
	var nodes []*node
	var pids []string
	for i := range many {
		n := startNode(t, layout{distros[i%len(distros)], oneLayout.rmw}, "--rate 20")
		nodes, pids = append(nodes, n), append(pids, n.pidText())
	}
	for _, n := range nodes {
		n.WaitReady()
	}
	r := record(t, session.Configuration{PIDs: strings.Join(pids, " ")})
	r.waitForMoreRows(trace.TableCallback, many*enough)
	end()
	r.waitForMessage("from now on probes are made for every process")
	r.waitForMoreRows(trace.TableCallback, many*enough)
	startOthers()
	r.waitForMessage("from now on probes are made for each process")
	r.waitForMoreRows(trace.TableCallback, many*enough)
	data := r.stop()
	changes := data.Session.LinkChanges
	if links := data.Session.Links; links == nil || links.Shared || len(changes) != 2 || !changes[0].Shared || changes[1].Shared ||
		changes[0].Recorded != many || changes[1].Others < others || changes[0].Timestamp >= changes[1].Timestamp {
		t.Errorf("links: %v, then %+v", links, changes)
	}
	if len(data.Losses) != 0 {
		t.Errorf("lost: %+v", data.Losses)
	}
	for _, n := range nodes {
		r.requireExact(data, n.stop(), oracle.Circumstances{Found: true})
	}
}
