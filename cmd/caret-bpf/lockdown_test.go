package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/test/standin"
)

// A kernel that is locked down for integrity records as any other. One that is so for confidentiality cannot, which is
// told, and nothing is left of the attempt. `scripts/vm/run.sh --boot lockdown=…` has such kernels.
func TestLockdown(t *testing.T) {
	requireRoot(t)
	requireHostProcessIDs(t)
	modes, err := os.ReadFile("/sys/kernel/security/lockdown")
	if err != nil {
		t.Skip(err)
	}
	_, mode, _ := strings.Cut(string(modes), "[")
	mode, _, _ = strings.Cut(mode, "]")
	if mode == "none" {
		t.Skip("the kernel is not locked down")
	}
	t.Log(mode)
	node := standin.StartReady(t, standin.Config{Distro: standin.Jazzy, RMW: standin.CycloneDDS, Arguments: strings.Fields("--rate 100 --nodes 2")})
	pid := strconv.Itoa(node.PID())
	before := lookAround(t)
	if mode == "integrity" {
		if err := loader.Probe().Missing(); err != nil {
			t.Error(err)
		}
		r := newRecordedBy(t, 0, "-p", pid)
		r.recordExactly(func() *oracle.Truth { return oracle.NewTruth(t, node.Stop()) }, oracle.Circumstances{Found: true})
		requireNothingLeft(t, before, r.command.Process.Pid)
		return
	}
	for _, arguments := range [][]string{{"-p", pid}, {"--all"}, {"-p", pid, "--force-tracefs"}, {"--", "true"}} {
		folder := folderOf(t, 0, 0o755)
		c := programCommand(append([]string{"record", "-o", filepath.Join(folder, "recording")}, arguments...)...)
		code, problems := runProgram(t, c)
		if code != exitPermission || !strings.Contains(problems, "kernel lockdown ("+mode+")") || !strings.Contains(problems, "boot with lockdown=integrity") {
			t.Errorf("%v: exit code %d: %s", arguments, code, problems)
		}
		if lines := strings.Count(problems, "\n"); lines > 2 {
			t.Errorf("%v: %d lines are said: %s", arguments, lines, problems)
		}
		if found := list(t, folder); len(found) > 0 {
			t.Errorf("%v: left are %v", arguments, found)
		}
		requireNothingLeft(t, before, c.Process.Pid)
	}
	node.Stop()
}
