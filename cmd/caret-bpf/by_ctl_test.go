package main

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/control"
)

// ctl drives recordings by `caret-bpf ctl` alone, which finds them by itself: their sockets are in a folder of the
// test's own.
type ctl struct {
	t       *testing.T
	sockets string
}

func newCtl(t *testing.T) ctl { return ctl{t, t.TempDir()} }

// run runs the program, and returns its exit code and what it printed.
func (c ctl) run(ctx context.Context, arguments ...string) (code int, out, problems string) {
	var stdout, stderr bytes.Buffer
	console := newConsole(&stdout, &stderr, func(string) string { return "" })
	console.rootsSockets = c.sockets
	code = execute(ctx, console, arguments)
	return code, stdout.String(), stderr.String()
}

// record records until somebody ends it, for which the function waits that it returns.
func (c ctl) record(arguments ...string) (done func()) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	code, problems := 0, ""
	go func() {
		defer close(ended)
		code, _, problems = c.run(ctx, append([]string{"record", "--control", automatic}, arguments...)...)
	}()
	c.t.Cleanup(func() {
		cancel()
		<-ended
	})
	return func() {
		c.t.Helper()
		if <-ended; code != exitSuccess {
			c.t.Fatalf("exit code %d: %s", code, problems)
		}
	}
}

// ask asks the only recording, and returns around which instants of the ground truth's clock.
func (c ctl) ask(into any, arguments ...string) (before, after uint64) {
	c.t.Helper()
	before = now(c.t)
	code, out, problems := c.run(c.t.Context(), append(append([]string{"ctl"}, arguments...), "--json")...)
	after = now(c.t)
	if code != exitSuccess {
		c.t.Fatalf("%v: exit code %d: %s%s", arguments, code, out, problems)
	}
	if err := json.Unmarshal([]byte(out), into); err != nil {
		c.t.Fatalf("%v: %v: %s", arguments, err, out)
	}
	return before, after
}

// waitFor asks for the status until it is as wanted, also while there is no recording yet.
func (c ctl) waitFor(what string, reached func(control.Status) bool) (status control.Status) {
	c.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		code, out, problems := c.run(c.t.Context(), "ctl", "status", "--json")
		if code == exitSuccess {
			status = control.Status{}
			if err := json.Unmarshal([]byte(out), &status); err != nil {
				c.t.Fatalf("%v: %s", err, out)
			}
			if reached(status) {
				return status
			}
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("%s: exit code %d: %+v %s", what, code, status, problems)
		}
	}
}
