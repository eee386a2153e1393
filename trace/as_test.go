package trace_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/caret-bpf/caret-bpf/identity"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// Whatever reads a dataset that was opened as a user reads what that user may, no more.
func TestDatasetIsReadAsAUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can act for another user")
	}
	dir := t.TempDir()
	files := []string{
		tracetest.AddSegment(t, dir, 0, tracetest.Random[trace.Callback](3, 1)),
		tracetest.AddSegment(t, dir, 0, tracetest.Random[trace.Process](3, 1)),
	}
	tracetest.AddSession(t, dir, trace.NewSession())
	files = append(files, filepath.Join(dir, trace.SessionFile))
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	as := (&identity.Identity{User: 12345, Group: 23456}).Run
	d, err := trace.OpenAs(dir, as)
	if err != nil || d.Session() == nil {
		t.Fatal(err)
	}
	groups, err := trace.Groups(t.Context(), d, trace.TableCallback)
	if err != nil || len(groups) == 0 {
		t.Fatal(err)
	}
	read := map[string]func() error{
		"Scan": func() error {
			return trace.Scan(t.Context(), d, trace.TableCallback, func([]trace.Callback) error { return nil })
		},
		"Scan of processes": func() error {
			return trace.Scan(t.Context(), d, trace.TableProcess, func([]trace.Process) error { return nil })
		},
		"ScanGroup": func() error {
			return trace.ScanGroup(t.Context(), trace.TableCallback, groups[0], nil, func([]trace.Callback) error { return nil })
		},
		"Groups": func() error { _, err := trace.Groups(t.Context(), d, trace.TableCallback); return err },
		"Count":  func() error { _, err := trace.Count(t.Context(), d, trace.TableCallback); return err },
	}
	for name, read := range read {
		if err := read(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, file := range files {
		if err := os.Chmod(file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, read := range read {
		if err := read(); !errors.Is(err, os.ErrPermission) {
			t.Errorf("%s of files that only root may read: %v", name, err)
		}
	}
	if d, err := trace.OpenAs(dir, as); err != nil || d.Session() != nil {
		t.Errorf("session.json was read: %v", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Tables(); !errors.Is(err, os.ErrPermission) {
		t.Errorf("Tables: %v", err)
	}
	if _, _, err := d.Segments(trace.TableCallback); !errors.Is(err, os.ErrPermission) {
		t.Errorf("Segments: %v", err)
	}
	if _, err := trace.OpenAs(dir, as); err == nil {
		t.Error("a directory of root's was opened")
	}
}
