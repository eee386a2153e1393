package launch

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/target"
)

// TestKillSparesStrangers: the number of a command that has exited stays its own until the session has let go of it, so
// no signal can reach another process group that was given it.
func TestKillSparesStrangers(t *testing.T) {
	for name, script := range map[string]string{
		"nothing left":               "exit 0",
		"a child is left":            "sleep 1000 & exit 0",
		"a child that ignores hints": "trap '' INT TERM; sleep 1000 & exit 0",
		"runs":                       "sleep 1000",
	} {
		t.Run(name, func(t *testing.T) {
			c := exec.Command("bash", "-c", script)
			c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			l := &Command{command: c, done: make(chan struct{}), patience: time.Second, finder: target.NewFinder()}
			go l.await()
			if name != "runs" {
				<-l.done
			}
			if err := syscall.Kill(-c.Process.Pid, 0); err != nil {
				t.Errorf("the number was free before the session let go of it: %v", err)
			}
			l.Kill()
			if l.Runs() {
				t.Error("something of the command still runs")
			}
			if err := syscall.Kill(c.Process.Pid, 0); err == nil {
				t.Error("the command was not waited for")
			}
		})
	}
}
