package target

import (
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"
)

// TestLookingTakesTurns: a user whose processes take long to be looked at does not keep those of others waiting.
func TestLookingTakesTurns(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	var started []int32
	for _, user := range []uint32{4242, 4242, 4242, 4242, 1000} {
		command := exec.Command("sleep", "1000")
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
		command.Dir = "/"
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = command.Process.Kill()
			_ = command.Wait()
		}()
		started = append(started, int32(command.Process.Pid))
	}
	var order []int32
	for pid, inTime := range NewFinder().inTurns(started) {
		if !inTime {
			t.Errorf("no time for %d", pid)
		}
		order = append(order, pid)
		if pid != started[4] {
			time.Sleep(lookTurn)
		}
	}
	want := []int32{started[0], started[4], started[1], started[2], started[3]}
	if !slices.Equal(order, want) {
		t.Errorf("%v, want %v", order, want)
	}
}
