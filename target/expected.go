package target

import (
	"context"
	"path"
	"slices"

	"github.com/caret-bpf/caret-bpf/quota"
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
	// KindKnown is a file that was named to Expect.
	KindKnown LibraryKind = "known"
)

// ExpectedLibrary is a library that a process has not mapped but is likely to map. A probe belongs to the file and not
// to a mapping, so it can be attached before, and then misses nothing.
type ExpectedLibrary struct {
	Kind LibraryKind
	// Path is the file's path in the process's mount namespace, symbolic links followed.
	Path string
	// OpenPath leads to the file from this program, for people: another file can take its place at any time.
	OpenPath string
	// Opened is the file. The Process holds it until Expected is called again.
	Opened *OpenFile
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
// need, found as its dynamic linker would, the component libraries of its ament index, and what was named to Expect.
// Once an RMW implementation is mapped, only what that one needs is expected. Of a process that is not one of ROS 2
// (yet) the core libraries are expected too, if its environment leads to them, and Distro becomes what they say. What
// cannot be found, or what the process could not read, is left out. When the error is ErrNotRead there may be more than
// was found.
func (p *Process) Expected(ctx context.Context) ([]ExpectedLibrary, error) {
	ctx = p.PaidBy(ctx)
	d, err := p.newDelegate(ctx)
	if err != nil {
		return nil, processError(p.PID, err)
	}
	defer d.close()
	collector := expectedCollector{ctx: ctx, process: p, delegate: d}
	collector.collect()
	p.expected = collector.found
	p.releaseUnneeded()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if !p.Alive() {
		return nil, processError(p.PID, ErrNoProcess)
	}
	return collector.found, processError(p.PID, collector.err)
}

type expectedCollector struct {
	ctx      context.Context // of one call of Expected
	process  *Process
	delegate *delegate
	search   searchPath
	found    []ExpectedLibrary
	// err is that of a delegate which does not answer any more.
	err error
}

func (c *expectedCollector) collect() {
	p := c.process
	if c.search, c.err = p.librarySearchPath(c.delegate); c.err != nil {
		return
	}
	p.changed = nil
	for _, known := range p.known {
		if c.err != nil || c.ctx.Err() != nil {
			return
		}
		c.addKnown(known)
	}
	if !p.IsROS2() {
		for _, library := range coreLibraries {
			c.find(KindCore, library)
		}
		p.Distro, p.DistroEvidence = p.detectDistro(c.ctx, c.foundLibrary)
	}
	c.addMiddleware()
	if c.err != nil {
		return
	}
	prefixes := p.amentPrefixes()
	var components []string
	components, c.err = ask(c.delegate, func(root rootDirectory) ([]string, error) {
		return componentLibraries(root, prefixes, c.delegate.isOver), nil
	})
	for _, library := range components {
		c.addFirst(KindComponent, []string{library})
	}
}

// foundLibrary returns the file of a library that was found, nil if none was.
func (c *expectedCollector) foundLibrary(library string) *OpenFile {
	for _, l := range c.found {
		if isVersionOf(l.Soname, library) {
			return l.Opened
		}
	}
	return nil
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
			enqueue(neededBy(c.ctx, module.opened)...)
		}
	}
	for len(pending) > 0 {
		name := pending[0]
		pending = pending[1:]
		if opened := c.find(middlewareKind(name), name); opened != nil {
			enqueue(neededBy(c.ctx, opened)...)
		}
	}
}

// find adds the library that the dynamic linker would map for that name, and returns its file, nil if there is none.
func (c *expectedCollector) find(kind LibraryKind, name string) *OpenFile {
	var paths []string
	for _, directory := range c.search {
		paths = append(paths, path.Join(directory, name))
	}
	return c.addFirst(kind, paths)
}

// addFirst adds the library at the first of some paths in the process's root at which there is one. It returns the
// file, nil if there is none.
func (c *expectedCollector) addFirst(kind LibraryKind, paths []string) *OpenFile {
	for len(paths) > 0 && c.err == nil && c.ctx.Err() == nil {
		candidate, err := ask(c.delegate, func(root rootDirectory) (namedFile, error) { return root.openFirst(paths) })
		if err != nil {
			c.err = err
			return nil
		}
		if candidate.file == nil {
			return nil
		}
		if opened := c.add(kind, candidate, nil); opened != nil {
			return opened
		}
		paths = paths[candidate.index+1:]
	}
	return nil
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

func neededBy(ctx context.Context, opened *OpenFile) []string {
	if opened == nil {
		return nil
	}
	file, err := opened.ELF(ctx)
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

// add adds a library unless it is mapped or was added before. It returns the file, nil if that is no library, or one
// whose build ID is not accepted; nil accepts all.
func (c *expectedCollector) add(kind LibraryKind, library namedFile, accepts func(buildID string) bool) *OpenFile {
	openPath := c.delegate.root.prefix + library.path
	finder := c.process.finder
	opened, err := finder.opened.adopt(quota.From(c.ctx), library.file, openPath)
	if err != nil {
		return nil
	}
	learned := finder.learn(c.ctx, opened, openPath)
	if learned.err != nil {
		return nil
	}
	c.process.hold(opened)
	facts := learned.facts
	if accepts != nil && !accepts(facts.buildID) {
		return nil
	}
	id, err := finder.distinctFile(c.ctx, facts, opened)
	if err != nil {
		return nil
	}
	isMapped := slices.ContainsFunc(c.process.Modules, func(m Module) bool { return m.File == id })
	isListed := slices.ContainsFunc(c.found, func(l ExpectedLibrary) bool { return l.File == id })
	if !isMapped && !isListed {
		c.found = append(c.found, ExpectedLibrary{
			Kind: kind, Path: library.path, OpenPath: openPath, Opened: opened,
			Device: facts.version.device, Inode: facts.version.inode,
			File: id, BuildID: facts.buildID, Soname: facts.soname,
		})
	}
	return opened
}
