package recording

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestSlowDisk records more than a disk of 1 MB/s takes: what it does not take is counted, to the last record, and what
// it takes is right.
func TestSlowDisk(t *testing.T) {
	requireRecording(t)
	if !isSoak() {
		t.Skip("takes more than a minute: make soak does it")
	}
	disk := newDisk(t)
	disk.slowDown(t, 1_000_000)
	began := time.Now()
	n, r := recordFromTheBeginning(t, oneLayout, session.Configuration{Output: filepath.Join(disk.path, "recording"), BufferBytes: 1 << 20},
		"--nodes 2 --topics 2 --threads 2 --rate 0")
	r.waitFor("losses", func(s session.Status) bool { return s.Lost >= enough })
	truth, data := n.stop(), r.wait()
	r.requireExact(data, truth, oracle.Circumstances{Unnamed: true})
	t.Logf("in %v: %d callbacks, %d publishes; lost %v", time.Since(began).Round(time.Second), len(data.Callbacks), len(data.Publishes), data.Lost())
	requireEnding(t, data, trace.EndingTargetsExited)
}
