package target

import (
	"bytes"
	"context"
	"path"
	"slices"
	"strings"
)

const (
	componentIndex     = "share/ament_index/resource_index/rclcpp_components"
	maxAmentPrefixes   = 1024
	maxIndexEntries    = 8192
	maxIndexFileSize   = 1 << 20
	maxIndexTotal      = 16 << 20 // of all files, hundreds of times what the largest systems have
	maxComponentsTotal = 8192
)

// amentPrefixes are the install prefixes of the packages that the process was started to see.
func (p *Process) amentPrefixes() []string {
	value, found, err := p.Environment("AMENT_PREFIX_PATH")
	if err != nil || !found {
		return nil
	}
	prefixes := strings.SplitN(value, ":", maxAmentPrefixes+1)
	prefixes = prefixes[:min(len(prefixes), maxAmentPrefixes)]
	return slices.DeleteFunc(prefixes, func(prefix string) bool { return !path.IsAbs(prefix) })
}

// Packages are the install prefixes in a folder that the process's user names: the folder itself, and that of each
// package in it, as colcon installs them unless it merges.
func (p *Process) Packages(ctx context.Context, folder string) ([]string, error) {
	d, err := p.newDelegate(ctx)
	if err != nil {
		return nil, processError(p.PID, err)
	}
	defer d.close()
	prefixes, err := ask(d, func(root rootDirectory) ([]string, error) {
		names, err := root.readDirectory(folder, maxAmentPrefixes)
		if err != nil {
			return nil, err
		}
		slices.Sort(names)
		prefixes := []string{folder}
		for _, name := range names {
			prefix := path.Join(folder, name)
			if _, err := root.readDirectory(path.Join(prefix, "share/ament_index"), 1); err == nil && !d.isOver() {
				prefixes = append(prefixes, prefix)
			}
		}
		return prefixes, nil
	})
	return prefixes, processError(p.PID, err)
}

// componentLibraries are the paths of the libraries that hold rclcpp components, by the ament index of prefixes. It
// ends early when nobody waits for it any more: the files are somebody's, and can be many.
func componentLibraries(root rootDirectory, prefixes []string, isOver func() bool) []string {
	var libraries []string
	known, looked := map[string]bool{}, map[string]bool{}
	left := int64(maxIndexTotal)
	for _, prefix := range prefixes {
		if looked[prefix] {
			continue
		}
		looked[prefix] = true
		packages, err := root.readDirectory(path.Join(prefix, componentIndex), maxIndexEntries)
		if err != nil {
			continue
		}
		slices.Sort(packages)
		for _, name := range packages {
			if left <= 0 || len(libraries) >= maxComponentsTotal || isOver() {
				return libraries
			}
			text, err := root.readFile(path.Join(prefix, componentIndex, name), min(left, maxIndexFileSize))
			left -= int64(len(text))
			if err != nil {
				continue
			}
			for _, library := range parseComponentIndex(text) {
				if !path.IsAbs(library) {
					library = path.Join(prefix, library)
				}
				if !known[library] && len(libraries) < maxComponentsTotal {
					known[library] = true
					libraries = append(libraries, library)
				}
			}
		}
	}
	return libraries
}

// parseComponentIndex reads lines of "class;path of the library, relative to the prefix" and returns the paths.
func parseComponentIndex(text []byte) []string {
	var libraries []string
	known := map[string]bool{}
	for line := range bytes.Lines(text) {
		_, library, found := strings.Cut(strings.TrimSpace(string(line)), ";")
		library = strings.TrimSpace(library)
		if found && library != "" && !strings.ContainsRune(library, 0) && !known[library] && len(libraries) < maxComponentsTotal {
			known[library] = true
			libraries = append(libraries, library)
		}
	}
	return libraries
}
