package writer

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
)

// TestDiscard removes what the Writer made, and nothing else.
func TestDiscard(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(t *testing.T, path string)
		meddle  func(t *testing.T, path string)
		left    []string // in the folder of the dataset
	}{
		"a new directory":        {},
		"an empty directory":     {prepare: makeFolder, left: []string{"dataset"}},
		"with a stranger's file": {meddle: func(t *testing.T, path string) { writeFile(t, filepath.Join(path, "notes")) }, left: []string{"dataset", "dataset/notes"}},
		"replaced by another": {
			meddle: func(t *testing.T, path string) {
				if err := os.Rename(path, path+"-moved"); err != nil {
					t.Fatal(err)
				}
				makeFolder(t, path)
			},
			left: []string{"dataset", "dataset-moved"},
		},
		"replaced by a link": {
			meddle: func(t *testing.T, path string) {
				if err := errors.Join(os.Rename(path, path+"-moved"), os.Symlink(path+"-moved", path)); err != nil {
					t.Fatal(err)
				}
			},
			left: []string{"dataset", "dataset-moved"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			path := filepath.Join(parent, "dataset")
			if test.prepare != nil {
				test.prepare(t, path)
			}
			w, err := Create(path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := w.WriteSession(trace.NewSession()); err != nil {
				t.Fatal(err)
			}
			appendRows(t, w, trace.Clock{})
			if err := w.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			appendRows(t, w, trace.Clock{})
			if test.meddle != nil {
				test.meddle(t, path)
			}
			if err := w.Discard(); err != nil {
				t.Error(err)
			}
			if err := w.Discard(); !errors.Is(err, ErrClosed) {
				t.Errorf("error %v when discarded twice", err)
			}
			var left []string
			err = filepath.WalkDir(parent, func(path string, _ os.DirEntry, err error) error {
				if relative, _ := filepath.Rel(parent, path); relative != "." {
					left = append(left, relative)
				}
				return err
			})
			if err != nil || !slices.Equal(left, test.left) {
				t.Errorf("%v; left are %q, not %q", err, left, test.left)
			}
		})
	}
}

func makeFolder(t *testing.T, path string) {
	t.Helper()
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func writeFile(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
}
