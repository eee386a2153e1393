package target

import (
	"path"
	"slices"

	"github.com/caret-bpf/caret-bpf/elffile"
)

// LibraryKind is why a library is expected.
type LibraryKind string

// The kinds.
const (
	// KindCore is a library that makes a process one of ROS 2, expected of a process that is none yet.
	KindCore LibraryKind = "core"
	// KindRMW is an RMW implementation or a part of one.
	KindRMW LibraryKind = "rmw"
	// KindDDS is the DDS implementation below an RMW implementation.
	KindDDS LibraryKind = "dds"
	// KindComponent holds rclcpp components.
	KindComponent LibraryKind = "component"
)

// ExpectedLibrary is a library that a process has not mapped but is likely to map. A probe belongs to the file and not
// to a mapping, so it can be attached before, and then misses nothing.
type ExpectedLibrary struct {
	Kind LibraryKind
	// Path is the file's path in the process's mount namespace, symbolic links followed.
	Path string
	// OpenPath leads to the file from this program, as long as the process lives.
	OpenPath string
	// Device, Inode, File, BuildID and Soname are as in Module.
	Device, Inode   uint64
	File            FileID
	BuildID, Soname string
}

// coreLibraries are what every C++ node maps, and has probes.
var coreLibraries = []string{"libtracetools.so", "librcl.so", "librclcpp.so"}

// rmwLibraries are the RMW libraries with probes.
var rmwLibraries = []string{"librmw_fastrtps_cpp.so", "librmw_fastrtps_shared_cpp.so", "librmw_cyclonedds_cpp.so"}

// ddsLibraries are the DDS libraries with probes.
var ddsLibraries = []string{"libfastrtps.so", "libfastdds.so", "libddsc.so"}

// Expected are the libraries that the process is likely to map later: the RMW libraries and the DDS libraries that they
// need, found as its dynamic linker would, and the component libraries of its ament index. Once an RMW
// implementation is mapped, only what that one needs is expected. Of a process that is not one of ROS 2 (yet) the core
// libraries are expected too, if its environment leads to them, and Distro becomes what they say. What cannot be found or
// read is left out.
func (p *Process) Expected() ([]ExpectedLibrary, error) {
	root, err := p.openRoot()
	if err != nil {
		return nil, processError(p.PID, err)
	}
	defer root.close()
	collector := expectedCollector{process: p, root: root, search: p.librarySearchPath(root)}
	if !p.IsROS2() {
		for _, library := range coreLibraries {
			collector.find(KindCore, library)
		}
		p.Distro, p.DistroEvidence = p.detectDistro(collector.foundLibrary)
	}
	collector.addMiddleware()
	for _, library := range p.componentLibraries(root) {
		collector.add(KindComponent, library)
	}
	if !p.Alive() {
		return nil, processError(p.PID, ErrNoProcess)
	}
	return collector.found, nil
}

type expectedCollector struct {
	process *Process
	root    *rootDirectory
	search  searchPath
	found   []ExpectedLibrary
}

// foundLibrary returns the file of a library that was found.
func (c *expectedCollector) foundLibrary(library string) (openPath string, found bool) {
	for _, l := range c.found {
		if isVersionOf(l.Soname, library) {
			return l.OpenPath, true
		}
	}
	return "", false
}

// addMiddleware follows DT_NEEDED from the RMW libraries to the DDS libraries.
func (c *expectedCollector) addMiddleware() {
	seen := map[string]bool{}
	var pending []string
	enqueue := func(names ...string) {
		for _, name := range names {
			if middlewareKind(name) != "" && !seen[name] {
				seen[name] = true
				pending = append(pending, name)
			}
		}
	}
	if c.process.RMW == "" {
		enqueue(rmwLibraries...)
	}
	for _, module := range c.process.Modules {
		if middlewareKind(module.Name()) == KindRMW {
			seen[module.Name()] = true
			enqueue(neededBy(module.openPath)...)
		}
	}
	for len(pending) > 0 {
		name := pending[0]
		pending = pending[1:]
		if openPath, ok := c.find(middlewareKind(name), name); ok {
			enqueue(neededBy(openPath)...)
		}
	}
}

// find adds the library that the dynamic linker would map for that name.
func (c *expectedCollector) find(kind LibraryKind, name string) (openPath string, ok bool) {
	for _, directory := range c.search {
		if openPath, ok := c.add(kind, path.Join(directory, name)); ok {
			return openPath, true
		}
	}
	return "", false
}

// middlewareKind is what kind of middleware library a soname or file name is, or "".
func middlewareKind(name string) LibraryKind {
	isOneOf := func(libraries []string) bool {
		return slices.ContainsFunc(libraries, func(library string) bool { return isVersionOf(name, library) })
	}
	switch {
	case isOneOf(rmwLibraries):
		return KindRMW
	case isOneOf(ddsLibraries):
		return KindDDS
	}
	return ""
}

func neededBy(openPath string) []string {
	file, err := elffile.Open(openPath)
	if err != nil {
		return nil
	}
	defer file.Close()
	needed, err := file.Needed()
	if err != nil {
		return nil
	}
	return needed
}

// add adds the library at a path in the process's root unless it is mapped or was added before. It reports whether
// there is one.
func (c *expectedCollector) add(kind LibraryKind, name string) (openPath string, ok bool) {
	resolved, err := c.root.resolve(name)
	if err != nil {
		return "", false
	}
	openPath = c.root.prefix + resolved
	facts, err := c.process.finder.learnFile(openPath)
	if err != nil {
		return "", false
	}
	id := c.process.finder.distinctFile(facts, openPath)
	isMapped := slices.ContainsFunc(c.process.Modules, func(m Module) bool { return m.File == id })
	isListed := slices.ContainsFunc(c.found, func(l ExpectedLibrary) bool { return l.File == id })
	if !isMapped && !isListed {
		c.found = append(c.found, ExpectedLibrary{
			Kind: kind, Path: resolved, OpenPath: openPath,
			Device: facts.version.device, Inode: facts.version.inode,
			File: id, BuildID: facts.buildID, Soname: facts.soname,
		})
	}
	return openPath, true
}
