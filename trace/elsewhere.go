package trace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// lookedAt bounds the folders of a directory that are looked at, named those that are named.
	lookedAt = 1000
	named    = 3
)

// elsewhere says where a dataset is that may be meant by a directory that is none: above it or in it; "" if there is
// none. What cannot be read has none.
func (d *Dataset) elsewhere() (hint string) {
	isDataset := func(dir string) bool {
		_, err := os.Lstat(filepath.Join(dir, SessionFile))
		return err == nil
	}
	_ = d.as(func() error {
		if above := filepath.Join(d.dir, ".."); isDataset(above) {
			hint = fmt.Sprintf("; it is a part of %s: name that", above)
			return nil
		}
		entries, _ := os.ReadDir(d.dir)
		var within []string
		for _, entry := range entries[:min(len(entries), lookedAt)] {
			if dir := filepath.Join(d.dir, entry.Name()); isDataset(dir) {
				within = append(within, dir)
			}
		}
		if len(within) > named {
			within = append(slices.Clip(within[:named]), "and more")
		}
		if len(within) > 0 {
			hint = fmt.Sprintf("; datasets are in it: %s", strings.Join(within, ", "))
		}
		return nil
	})
	return hint
}
