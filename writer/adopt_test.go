package writer

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
)

// TestAdoptLinks: a whole segment is not copied on the same file system, unless the copy is to have other permissions.
// Either way it is there when the dataset that it comes from is gone.
func TestAdoptLinks(t *testing.T) {
	table := trace.TableByName(trace.TableCallback)
	for name, test := range map[string]struct {
		mode   os.FileMode
		shared bool
	}{
		"the same permissions": {0o600, true},
		"other permissions":    {0o644, false},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			from, err := Create(filepath.Join(folder, "from"), Options{Mode: 0o600})
			if err != nil {
				t.Fatal(err)
			}
			if err := from.Write(&trace.Batch{Callbacks: make([]trace.Callback, 3)}); err != nil {
				t.Fatal(err)
			}
			if err := from.Close(); err != nil {
				t.Fatal(err)
			}
			segment := filepath.Join(folder, "from", trace.TableCallback, "00000000.parquet")
			f, err := os.Open(segment)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = f.Close() }()
			to, err := Create(filepath.Join(folder, "to"), Options{Mode: test.mode})
			if err != nil {
				t.Fatal(err)
			}
			if err := to.Adopt(table, f, 3); err != nil {
				t.Fatal(err)
			}
			if err := to.Close(); err != nil {
				t.Fatal(err)
			}
			source, err := os.Stat(segment)
			if err != nil {
				t.Fatal(err)
			}
			adopted, err := os.Stat(filepath.Join(folder, "to", trace.TableCallback, "00000000.parquet"))
			if err != nil {
				t.Fatal(err)
			}
			if shared := os.SameFile(source, adopted); shared != test.shared || adopted.Mode().Perm() != test.mode {
				t.Errorf("shared: %v, permissions %v", shared, adopted.Mode())
			}
			if err := os.RemoveAll(filepath.Join(folder, "from")); err != nil {
				t.Fatal(err)
			}
			d, err := trace.Open(filepath.Join(folder, "to"))
			if err != nil {
				t.Fatal(err)
			}
			if rows, err := trace.Count(t.Context(), d, trace.TableCallback); err != nil || rows != 3 {
				t.Errorf("%d rows, %v", rows, err)
			}
		})
	}
}
