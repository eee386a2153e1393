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

// Locate returns the directory of the dataset that a path means: the path, unless that is a file or a folder of a
// dataset, or a directory that is none and holds exactly one. If it finds none it returns the path, of which Open says
// why it is none.
func Locate(path string) string {
	info, err := os.Stat(path)
	if err != nil || hasSession(path) {
		return path
	}
	above := filepath.Join(path, "..")
	if !info.IsDir() { // a segment, or what lies beside the tables
		if hasSession(above) {
			return above
		}
		above = filepath.Join(above, "..")
	}
	if hasSession(above) {
		return above
	}
	if within := datasetsIn(path); len(within) == 1 && !hasTables(path) {
		return within[0]
	}
	return path
}

func hasSession(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, SessionFile))
	return err == nil
}

// hasTables tells whether a directory may be a dataset that has lost its session.json.
func hasTables(dir string) bool {
	tables, err := (&Dataset{dir: dir, as: asProgram}).Tables()
	return err == nil && len(tables) > 0
}

// datasetsIn returns the datasets in a directory. What cannot be read has none.
func datasetsIn(dir string) (within []string) {
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries[:min(len(entries), lookedAt)] {
		if dir := filepath.Join(dir, entry.Name()); hasSession(dir) {
			within = append(within, dir)
		}
	}
	return within
}

// elsewhere says where a dataset is that may be meant by a directory that is none: above it, in it or, if there is no
// such directory, beside it; "" if there is none.
func (d *Dataset) elsewhere() (hint string) {
	_ = d.as(func() error {
		above := filepath.Join(d.dir, "..")
		switch _, err := os.Lstat(d.dir); {
		case err != nil:
			hint = listDatasets("; datasets beside it: ", datasetsIn(above))
		case hasSession(above):
			hint = fmt.Sprintf("; it is a part of %s: name that", above)
		default:
			hint = listDatasets("; datasets are in it: ", datasetsIn(d.dir))
		}
		return nil
	})
	return hint
}

// listDatasets names the first of some datasets, "" if there are none.
func listDatasets(introduction string, datasets []string) string {
	if len(datasets) == 0 {
		return ""
	}
	if len(datasets) > named {
		datasets = append(slices.Clip(datasets[:named]), "and more")
	}
	return introduction + strings.Join(datasets, ", ")
}
