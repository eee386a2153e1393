package session

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/quota"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
)

// Processes that are planned when the user does not want a recording any more come back without plans, and nothing is
// looked at for them.
func TestPlanningOfEachEnds(t *testing.T) {
	p, err := target.NewFinder().Inspect(t.Context(), int32(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	planned := newPlanner(&compiled{}, Options{}, trace.Links{}, target.NewFinder().Quota()).each(ctx, []*target.Process{p, p})
	if len(planned) != 2 {
		t.Fatalf("%d processes", len(planned))
	}
	for _, one := range planned {
		one.await()
		if one.Process != p || one.first.plan != nil || !errors.Is(one.first.err, context.Canceled) {
			t.Errorf("%v", one.first)
		}
	}
}

// startForUsers starts a process for each user. It needs root.
func startForUsers(t *testing.T, finder *target.Finder, users ...uint32) (found []*target.Process) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	for _, user := range users {
		command := exec.Command("sleep", "1000")
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
		command.Dir = "/"
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = command.Process.Kill()
			_ = command.Wait()
		})
		p, err := finder.Inspect(t.Context(), int32(command.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close() })
		found = append(found, p)
	}
	return found
}

// TestPlanningTakesTurns: the only process of one user does not wait for all of another one.
func TestPlanningTakesTurns(t *testing.T) {
	finder := target.NewFinder()
	found := startForUsers(t, finder, 4242, 4242, 4242, 4242, 1000)
	var order []int
	for i := range fairly(finder.Quota(), found) {
		order = append(order, i)
		if err := found[i].Account().Take(quota.Work, 1<<30); err != nil {
			t.Fatal(err)
		}
	}
	if slices.Index(order, len(found)-1) > 1 || len(order) != len(found) || len(slices.Compact(slices.Sorted(slices.Values(order)))) != len(found) {
		t.Errorf("%v", order)
	}
}

// TestPlanningThatWaitsTakesTurns: nothing is read for a user while a file system of his is waited for. Others do not
// wait for all of his processes.
func TestPlanningThatWaitsTakesTurns(t *testing.T) {
	finder := target.NewFinder()
	found := startForUsers(t, finder, 4242, 4242, 4242, 4242, 1000)
	if err := found[len(found)-1].Account().Take(quota.Work, 1<<20); err != nil { // he has done more than one who waits
		t.Fatal(err)
	}
	var order []int
	for i := range fairly(finder.Quota(), found) {
		order = append(order, i)
		time.Sleep(200 * time.Millisecond)
	}
	if slices.Index(order, len(found)-1) > 1 || len(order) != len(found) {
		t.Errorf("%v", order)
	}
}
