package launch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/identity"
)

// A program that is run for something that has come has the user's rights, no more, and ends.
func TestRun(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("running for another user needs root")
	}
	folder := t.TempDir()
	for path := folder; path != "/"; path = filepath.Dir(path) {
		if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o111 != 0o111 {
			if err := os.Chmod(path, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Chmod(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	script := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	stranger := &identity.Identity{User: 12345, Group: 23456}
	out := filepath.Join(folder, "out")
	path := script("tell", "{ id -u; id -g; grep -E 'CapEff|CapPrm|CapInh|CapAmb' /proc/self/status; ls /proc/self/fd | wc -l; echo $WHY; } > "+out+"\n")
	if err := Run(t.Context(), stranger, path, []string{"PATH=/usr/bin:/bin", "WHY=because"}); err != nil {
		t.Fatal(err)
	}
	told, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(told))
	if len(lines) < 12 || lines[0] != "12345" || lines[1] != "23456" || lines[len(lines)-1] != "because" {
		t.Errorf("it says %q", told)
	}
	if capabilities := strings.Count(string(told), "0000000000000000"); capabilities != 4 {
		t.Errorf("it has capabilities: %q", told)
	}
	if err := Run(t.Context(), stranger, script("fail", "exit 3\n"), nil); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("one that fails: %v", err)
	}
	if err := Run(t.Context(), stranger, filepath.Join(folder, "none"), nil); !errors.Is(err, ErrCommand) {
		t.Errorf("one that is not there: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := Run(ctx, stranger, script("hang", "sleep 1000 & sleep 1000\n"), []string{"PATH=/usr/bin:/bin"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("one that hangs: %v", err)
	}
}
