package lakeviews

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/caret-bpf/caret-bpf/export/lake"
)

// ErrMixedKeys is returned for a lake whose recordings do not lie by the same partition keys.
var ErrMixedKeys = errors.New("its recordings lie by different partition keys: publish those again that differ, with --replace and the keys of the lake")

// keysOf finds the partition keys of a lake in a directory, none if it has no recordings.
func keysOf(location string) (keys []string, err error) {
	found := false
	err = eachFile(filepath.Join(location, lake.TableRecording), func(folders []string) error {
		var names []string
		for _, folder := range folders {
			name, _, _ := strings.Cut(folder, "=")
			if plain, err := url.PathUnescape(name); err == nil {
				name = plain
			}
			names = append(names, name)
		}
		if found && !slices.Equal(names, keys) {
			return fmt.Errorf("%w: some by %s, some by %s", ErrMixedKeys, strings.Join(keys, ", "), strings.Join(names, ", "))
		}
		keys, found = names, true
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: it has no table %s: name the directory that was given to publish --to", lake.ErrNotLake, lake.TableRecording)
	}
	return keys, err
}

// hasFiles tells whether there are files of a table in its folder.
func hasFiles(folder string) (has bool, err error) {
	err = eachFile(folder, func([]string) error {
		has = true
		return fs.SkipAll
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return has, err
}

// eachFile calls visit for each Parquet file below a folder, with the folders in between.
func eachFile(folder string, visit func(folders []string) error) error {
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".parquet" {
			return err
		}
		inside, err := filepath.Rel(folder, filepath.Dir(path))
		if err != nil {
			return err
		}
		if inside == "." {
			return visit(nil)
		}
		return visit(strings.Split(inside, string(filepath.Separator)))
	})
}
