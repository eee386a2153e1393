package fuse

import (
	"fmt"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"
)

// A guard that another process has started is one of others, and one that this program has started is not.
func TestGuardsOfOthers(t *testing.T) {
	for _, test := range []struct {
		name, command string
		areOthers     bool
	}{
		{"its own", "exec -a %s sleep 60", false},
		{"of another recorder", "(exec -a %s sleep 60) & trap 'kill $!' TERM; wait", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := guardsOfOthers()
			command := exec.Command("bash", "-c", fmt.Sprintf(test.command, GuardName))
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				_ = command.Process.Signal(syscall.SIGTERM)
				_ = command.Wait()
			}()
			found := false
			for deadline := time.Now().Add(time.Second); !found && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
				found = slices.ContainsFunc(guardsOfOthers(), func(pid int) bool { return !slices.Contains(before, pid) })
			}
			if found != test.areOthers {
				t.Errorf("found: %v", found)
			}
		})
	}
}
