package recording

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/caret-bpf/caret-bpf/identity"
	"github.com/caret-bpf/caret-bpf/launch"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestCommandThatCannotBeRun records commands that do not exist or may not be run, by root or by the user who called
// sudo.
func TestCommandThatCannotBeRun(t *testing.T) {
	requireRoot(t)
	folder := t.TempDir()
	plain, secret := filepath.Join(folder, "plain"), filepath.Join(folder, "secret")
	for path, mode := range map[string]os.FileMode{plain: 0o644, secret: 0o700} {
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		command string
		caller  *identity.Identity
		says    string
	}{
		"not found":                        {"caret-bpf-no-such-command", nil, "not found"},
		"no such path":                     {filepath.Join(folder, "absent"), nil, "no such file"},
		"no program":                       {plain, nil, "permission denied"},
		"a directory":                      {folder, nil, "directory"},
		"root's, for the user behind sudo": {secret, &identity.Identity{User: 65534, Group: 65534}, "permission denied"},
	} {
		t.Run(name, func(t *testing.T) {
			output := filepath.Join(t.TempDir(), "recording")
			err := session.Run(t.Context(), session.Configuration{Command: []string{test.command}, Output: output}, session.Options{Caller: test.caller})
			if !errors.Is(err, launch.ErrCommand) || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), test.command) {
				t.Errorf("error %v", err)
			}
			if _, err := os.Stat(output); err == nil {
				t.Error("there is an output all the same")
			}
		})
	}
}

// TestCommandThatIsNoProgram records a file that may be run, of which only the kernel knows that it cannot: the
// recording is open then.
func TestCommandThatIsNoProgram(t *testing.T) {
	requireRecording(t)
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no program\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	r, _ := begin(t, session.Configuration{Command: []string{text}})
	err := r.waitForEnd()
	if !errors.Is(err, launch.ErrCommand) || !strings.Contains(err.Error(), "exec format error") {
		t.Errorf("error %v", err)
	}
	if data := oracle.ReadDataset(t, r.dir); data.Session.Ending != trace.EndingError {
		t.Errorf("the recording ended by %s", data.Session.Ending)
	}
}

// TestInterruptedBeforeItBegan ends recordings that are still attaching.
func TestInterruptedBeforeItBegan(t *testing.T) {
	requireRecording(t)
	n := startReadyNode(t, oneLayout, "--rate 50")
	began := filepath.Join(t.TempDir(), "began")
	for name, configuration := range map[string]session.Configuration{
		"a process":     {PIDs: n.pidText()},
		"all processes": {All: true},
		"a command":     {Command: []string{"touch", began}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			configuration.Output = filepath.Join(t.TempDir(), "recording")
			var said []string
			launched := 0
			observer := session.Observer{
				Message: func(text string) { said = append(said, text) }, Launched: func(group int) { launched = group },
				Recording: func(*session.Handle) { t.Error("the recording began") },
			}
			if err := session.Run(ctx, configuration, session.Options{Observer: observer}); !errors.Is(err, session.ErrNotBegun) {
				t.Errorf("error %v", err)
			}
			if _, err := os.Stat(configuration.Output); err == nil {
				t.Error("an output is left, though nothing was recorded")
			}
			for _, text := range said {
				if strings.Contains(text, "cancel") {
					t.Errorf("the user is told %q", text)
				}
			}
			if launched != 0 && syscall.Kill(-launched, 0) == nil {
				t.Error("the command's process is left")
			}
		})
	}
	if _, err := os.Stat(began); err == nil {
		t.Error("the command ran")
	}
	requireOwnText(t, n.PID())
	n.stop()
}
