package recording

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/test/groundtruth"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/test/standin"
)

// patience bounds every wait: it only ever ends a test that has failed.
const patience = 10 * time.Minute

// layout is a kind of process: whose libraries it looks like, and the middleware it uses.
type layout struct{ distro, rmw string }

// forEachLayout runs a test for every layout, or for only one of them with -short.
func forEachLayout(t *testing.T, test func(t *testing.T, l layout)) {
	t.Helper()
	requireRecording(t)
	for _, distro := range standin.Distros() {
		for _, rmw := range standin.RMWs() {
			l := layout{distro, rmw}
			if testing.Short() && l != oneLayout {
				continue
			}
			t.Run(distro+"_"+rmw, func(t *testing.T) { test(t, l) })
		}
	}
}

// forEachDistro runs a test for each distribution with one middleware, or with -short only for one of them.
func forEachDistro(t *testing.T, test func(t *testing.T, l layout)) {
	t.Helper()
	requireRecording(t)
	for _, distro := range standin.Distros() {
		t.Run(distro, func(t *testing.T) {
			if distro != oneLayout.distro {
				requireLong(t)
			}
			test(t, layout{distro, oneLayout.rmw})
		})
	}
}

// requireLong skips, with -short, what shows little more of the kernel side than other tests do.
func requireLong(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("with -short other tests are enough")
	}
}

// oneLayout is for tests to which the layout makes no difference.
var oneLayout = layout{standin.Jazzy, standin.CycloneDDS}

// requireRecording skips what needs privileges and a stand-in.
func requireRecording(t *testing.T) {
	t.Helper()
	requireRoot(t)
	if _, err := os.Stat(filepath.Join("..", "..", "build", "testdata", standin.Jazzy, "ros_node")); err == nil {
		return
	}
	for _, tool := range []string{"make", "gcc", "g++"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("the stand-in is not built, and cannot be: %v", err)
		}
	}
	for _, header := range []string{"fastdds/dds/domain/DomainParticipant.hpp", "dds/dds.h"} {
		if _, err := os.Stat(filepath.Join("/usr/include", header)); err != nil {
			t.Skipf("the stand-in is not built, and cannot be (libfastrtps-dev and cyclonedds-dev are needed): %v", err)
		}
	}
}

// node is a running stand-in.
type node struct {
	*standin.Process
	t *testing.T
}

// startNode starts a stand-in in a DDS domain of its own, or in that of another one if the flags name it.
func startNode(t *testing.T, l layout, flags string) *node {
	t.Helper()
	return &node{standin.Start(t, standin.Config{Distro: l.distro, RMW: l.rmw, Arguments: strings.Fields(flags)}), t}
}

// startReadyNode also waits until all of its entities exist.
func startReadyNode(t *testing.T, l layout, flags string) *node {
	t.Helper()
	n := startNode(t, l, flags)
	n.WaitReady()
	return n
}

// startHeldNode starts a stand-in that has done nothing yet, and goes on when it is released.
func startHeldNode(t *testing.T, l layout, flags string) (n *node, release func()) {
	t.Helper()
	n = startNode(t, l, flags+" --start-delay 36000")
	waitUntilHeld(t, n.PID())
	return n, func() { n.Signal(syscall.SIGUSR1) }
}

// waitUntilHeld waits until a stand-in waits for signals.
func waitUntilHeld(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		call, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", pid))
		if err != nil {
			t.Fatal(err)
		}
		if number, _, _ := strings.Cut(string(call), " "); number == fmt.Sprint(unix.SYS_RT_SIGTIMEDWAIT) {
			return
		}
	}
	t.Fatalf("stand-in %d does not begin", pid)
}

func (n *node) pidText() string { return fmt.Sprint(n.PID()) }

// stop ends the stand-in and returns its ground truth. It must not have noticed anything wrong.
func (n *node) stop() *oracle.Truth {
	n.t.Helper()
	return oracle.NewTruth(n.t, n.Stop())
}

// die ends the stand-in at once, by a signal, and returns what it had written down.
func (n *node) die(signal syscall.Signal) *oracle.Truth {
	n.t.Helper()
	n.Die(signal)
	return oracle.Resolve(parseCut(n.t, n.GroundTruthFile()))
}

// parseCut reads the ground truth of a process that was killed: the last line may be half of one.
func parseCut(t *testing.T, path string) *groundtruth.Truth {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content = content[:bytes.LastIndexByte(content, '\n')+1]
	parsed, err := groundtruth.Parse(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// readTruth reads the ground truth of a process that is over.
func readTruth(t *testing.T, path string) *oracle.Truth {
	t.Helper()
	parsed, err := groundtruth.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return oracle.NewTruth(t, parsed)
}
