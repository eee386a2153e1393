package target

import (
	"bytes"
	"path"
	"runtime"
	"slices"
	"strings"
)

const (
	maxConfigurationSize  = 1 << 20
	maxConfigurationFiles = 256
	maxSearchDirectories  = 1024
)

// searchPath is the list of directories in which a process's dynamic linker looks for libraries, without repetitions.
type searchPath []string

func (s *searchPath) add(directories ...string) {
	for _, directory := range directories {
		if path.IsAbs(directory) && !slices.Contains(*s, path.Clean(directory)) && len(*s) < maxSearchDirectories {
			*s = append(*s, path.Clean(directory))
		}
	}
}

// multiarch is Debian's name of this machine's architecture in library directories.
func multiarch() string {
	if runtime.GOARCH == "arm64" {
		return "aarch64-linux-gnu"
	}
	return "x86_64-linux-gnu"
}

// librarySearchPath is, in the dynamic linker's order: LD_LIBRARY_PATH, the directories that the ROS 2 libraries were
// found in (which is where their RUNPATH leads) or will be found in (the prefixes of AMENT_PREFIX_PATH) with their
// architecture's folder, /etc/ld.so.conf, the defaults.
func (p *Process) librarySearchPath(d *delegate) (searchPath, error) {
	var search searchPath
	if value, found, err := p.Environment("LD_LIBRARY_PATH"); err == nil && found {
		search.add(strings.FieldsFunc(value, func(r rune) bool { return r == ':' || r == ';' })...)
	}
	for _, library := range []string{"librmw_implementation.so", "librcl.so", "libtracetools.so"} {
		if module, found := p.FindModule(library); found {
			directory := path.Dir(module.Path)
			search.add(directory, path.Join(directory, multiarch()))
			if path.Base(directory) == multiarch() {
				search.add(path.Dir(directory))
			}
		}
	}
	for _, prefix := range p.amentPrefixes() {
		directory := path.Join(prefix, "lib")
		search.add(directory, path.Join(directory, multiarch()))
	}
	configured, err := ask(d, func(root rootDirectory) ([]string, error) { return linkerConfiguration(root), nil })
	if err != nil {
		return nil, err
	}
	search.add(configured...)
	for _, directory := range []string{"/lib", "/usr/lib"} {
		search.add(path.Join(directory, multiarch()), directory, directory+"64")
	}
	return search, nil
}

// linkerConfiguration is the directories of /etc/ld.so.conf and of what it includes.
func linkerConfiguration(root rootDirectory) []string {
	var directories []string
	pending := []string{"/etc/ld.so.conf"}
	for read := 0; len(pending) > 0 && read < maxConfigurationFiles; read++ {
		name := pending[0]
		pending = pending[1:]
		text, err := root.readFile(name, maxConfigurationSize)
		if err != nil {
			continue
		}
		listed, includes := parseLinkerConfiguration(text)
		directories = append(directories, listed...)
		for _, pattern := range includes {
			if !path.IsAbs(pattern) {
				pattern = path.Join(path.Dir(name), pattern)
			}
			pending = append(pending, globLastComponent(root, pattern)...)
		}
	}
	return directories
}

// parseLinkerConfiguration reads the format of ldconfig(8): directories, "include" lines, comments.
func parseLinkerConfiguration(text []byte) (directories, includes []string) {
	for line := range bytes.Lines(text) {
		content, _, _ := strings.Cut(string(line), "#")
		fields := strings.FieldsFunc(content, func(r rune) bool { return strings.ContainsRune(" \t\r\n:,", r) })
		switch {
		case len(fields) == 0, fields[0] == "hwcap":
		case fields[0] == "include":
			includes = append(includes, fields[1:]...)
		default:
			directories = append(directories, fields...)
		}
	}
	return directories, includes
}

// globLastComponent expands wildcards in a path's last component, which is where ld.so.conf files have them.
func globLastComponent(root rootDirectory, pattern string) []string {
	directory, namePattern := path.Split(pattern)
	names, err := root.readDirectory(directory, maxConfigurationFiles)
	if err != nil {
		return nil
	}
	var matches []string
	for _, name := range names {
		if matched, err := path.Match(namePattern, name); err == nil && matched {
			matches = append(matches, path.Join(directory, name))
		}
	}
	slices.Sort(matches)
	return matches
}
