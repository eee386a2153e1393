package main

import (
	"path/filepath"
	"testing"
)

// Clients, which have folders of their own, are told where a dataset is that was named by a relative path.
func TestStatusHasAnAbsolutePath(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	for given, want := range map[string]string{
		"rec": filepath.Join(folder, "rec"), "./a/../rec": filepath.Join(folder, "rec"), "/somewhere/rec": "/somewhere/rec",
	} {
		served, err := newControlled(console{}, given, func() {})
		if err != nil {
			t.Fatal(err)
		}
		if got := served.Status().Output; got != want {
			t.Errorf("the output of %q is %q, not %q", given, got, want)
		}
	}
}
