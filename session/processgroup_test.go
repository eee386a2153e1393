package session

import (
	"os/exec"
	"syscall"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	for name, test := range map[string]struct {
		stat  string
		state string
		group int
		ok    bool
	}{
		"ordinary":              {"12 (talker) S 1 34 34 0 -1", "S", 34, true},
		"parentheses in a name": {"12 (a) Z 1 7 (x) R 1 56 34 0 -1", "R", 56, true},
		"empty":                 {"", "", 0, false},
		"cut short":             {"12 (talker) S 1", "", 0, false},
		"no number":             {"12 (talker) S 1 x 34", "S", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			state, group, ok := parseStat([]byte(test.stat))
			if ok != test.ok || ok && (state != test.state || group != test.group) {
				t.Errorf("%q, %d, %v", state, group, ok)
			}
		})
	}
}

// TestKillSparesStrangers: the number of a command that has exited stays its own until the session has let go of it, so no signal can
// reach another process group that was given it.
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
			l := &launched{command: c, done: make(chan struct{}), patience: 200 * time.Millisecond}
			go l.await()
			if name != "runs" {
				<-l.done
			}
			if err := syscall.Kill(-c.Process.Pid, 0); err != nil {
				t.Errorf("the number was free before the session let go of it: %v", err)
			}
			l.kill()
			if groupRuns(c.Process.Pid) {
				t.Error("something of the command still runs")
			}
			if err := syscall.Kill(c.Process.Pid, 0); err == nil {
				t.Error("the command was not waited for")
			}
		})
	}
}
