package target

import (
	"bytes"
	"path"
	"slices"
	"strings"
)

const (
	componentIndex     = "share/ament_index/resource_index/rclcpp_components"
	maxAmentPrefixes   = 1024
	maxIndexEntries    = 8192
	maxIndexFileSize   = 1 << 20
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

// componentLibraries are the paths of the libraries that hold rclcpp components, by the ament index of prefixes.
func componentLibraries(root rootDirectory, prefixes []string) []string {
	var libraries []string
	for _, prefix := range prefixes {
		packages, err := root.readDirectory(path.Join(prefix, componentIndex), maxIndexEntries)
		if err != nil {
			continue
		}
		slices.Sort(packages)
		for _, name := range packages {
			text, err := root.readFile(path.Join(prefix, componentIndex, name), maxIndexFileSize)
			if err != nil {
				continue
			}
			for _, library := range parseComponentIndex(text) {
				if !path.IsAbs(library) {
					library = path.Join(prefix, library)
				}
				if !slices.Contains(libraries, library) && len(libraries) < maxComponentsTotal {
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
	for line := range bytes.Lines(text) {
		_, library, found := strings.Cut(strings.TrimSpace(string(line)), ";")
		library = strings.TrimSpace(library)
		if found && library != "" && !strings.ContainsRune(library, 0) && !slices.Contains(libraries, library) {
			libraries = append(libraries, library)
		}
	}
	return libraries
}
