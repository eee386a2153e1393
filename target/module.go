package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/caret-bpf/caret-bpf/elffile"
	"github.com/caret-bpf/caret-bpf/quota"
	"golang.org/x/sys/unix"
)

// FileID tells one file's content from another's. Device and inode alone do not: overlay mounts show one file under
// several device numbers, and some file systems reuse an inode number for a replaced file.
type FileID struct {
	Device, Inode uint64
	// BuildID is in hexadecimal; "" where the file has none.
	BuildID string
}

// Module is an ELF file that a process has mapped executable.
type Module struct {
	// Path is the file's path in the process's mount namespace when it was mapped.
	Path string
	// Device and Inode are those that stat shows; see unix.Mkdev.
	Device, Inode uint64
	// File is the same for every Module that is backed by one real file, also where overlay mounts give it several
	// Devices: probes attached to equal Files hit each other's processes.
	File FileID
	// BuildID is in hexadecimal; "" where the file has none or could not be read.
	BuildID string
	// Soname is the library's DT_SONAME; "" for executables.
	Soname string
	// NeedsROS2 says that who maps the file will map libraries of ROS 2, which it names (DT_NEEDED).
	NeedsROS2 bool
	// Mappings are all mappings of the file, executable or not, in order of address.
	Mappings []Mapping
	// Deleted: the path no longer leads to this file.
	Deleted bool

	openPath string
	opened   *OpenFile
	denied   error
	// tried is when it was last tried to open the file.
	tried time.Time
}

// deniedPause is how long what was refused for want of a share is not asked for again.
const deniedPause = 10 * time.Second

// wantsRetry says that the file was refused because its user's share was used up, which passes.
func (m Module) wantsRetry(now time.Time) bool {
	return errors.Is(m.denied, quota.ErrUsedUp) && now.Sub(m.tried) > deniedPause
}

// OpenPath leads to the mapped file itself, also when it was deleted, replaced, or is in a container. It is for people:
// the process can map another file there at any time.
func (m Module) OpenPath() string { return m.openPath }

// Opened is the mapped file, which the Process holds as long as the module is one of its own, or the error why it could
// not be opened.
func (m Module) Opened() (*OpenFile, error) {
	if m.opened == nil {
		return nil, m.denied
	}
	return m.opened, nil
}

// Name is the file's name without directories.
func (m Module) Name() string { return filepath.Base(m.Path) }

// Address is where a file offset of executable code is in the process's memory.
func (m Module) Address(fileOffset uint64) (uint64, bool) {
	for _, mapping := range m.Mappings {
		if mapping.Executable() && fileOffset >= mapping.Offset && fileOffset-mapping.Offset < mapping.End-mapping.Start {
			return mapping.Start + (fileOffset - mapping.Offset), true
		}
	}
	return 0, false
}

func (m Module) isLibrary(library string) bool {
	return isVersionOf(m.Soname, library) || isVersionOf(m.Name(), library)
}

// isVersionOf reports whether name is library, or library with version numbers behind it.
func isVersionOf(name, library string) bool {
	rest, found := strings.CutPrefix(name, library)
	return found && (rest == "" || rest[0] == '.')
}

// moduleKey is what /proc/PID/maps shows of a file; lines with the same key are mappings of one file.
type moduleKey struct {
	device, inode uint64
	path          string
	deleted       bool
}

func (m Module) key() moduleKey {
	first := m.Mappings[0]
	return moduleKey{first.Device, first.Inode, m.Path, m.Deleted}
}

// place is a file at an address. Modules with the same place are the same.
type place struct {
	moduleKey
	base uint64
}

func (m Module) place() place { return place{m.key(), m.base()} }

// byPlace finds modules by their places. A process may have as many as it has mappings.
func byPlace(modules []Module) map[place]int {
	at := make(map[place]int, len(modules))
	for i, module := range modules {
		at[module.place()] = i
	}
	return at
}

func (m Module) base() uint64 { return m.Mappings[0].Start - m.Mappings[0].Offset }

// OpenModule reads the headers of the file of one of the process's modules. The result is of use as long as the process
// has the module.
func (p *Process) OpenModule(ctx context.Context, module Module) (*elffile.File, error) {
	opened, err := module.Opened()
	if err == nil {
		return opened.ELF(p.PaidBy(ctx))
	}
	if errors.Is(err, os.ErrPermission) {
		err = fmt.Errorf("%w (%w): files that a process has mapped are opened with CAP_CHECKPOINT_RESTORE (or CAP_SYS_ADMIN); "+
			"run with sudo", ErrPermission, err)
	}
	return nil, fmt.Errorf("%s of PID %d: %w", module.Path, p.PID, err)
}

// readModules reads the process's modules. Facts of those that were known before are taken over.
func (p *Process) readModules(ctx context.Context, known []Module) ([]Module, error) {
	mappings, err := p.finder.readMaps(ctx, p.PID)
	if err != nil {
		return nil, err
	}
	if len(mappings) == 0 && !p.Alive() {
		return nil, ErrNoProcess
	}
	groups := map[moduleKey][]Mapping{}
	for _, mapping := range mappings {
		if !mapping.fileBacked() {
			continue
		}
		path, deleted := strings.CutSuffix(mapping.Path, deletedSuffix)
		key := moduleKey{mapping.Device, mapping.Inode, path, deleted}
		groups[key] = append(groups[key], mapping)
	}
	var modules, fresh []Module
	places := byPlace(known)
	now := time.Now()
	for key, mapped := range groups {
		if !slices.ContainsFunc(mapped, Mapping.Executable) {
			continue
		}
		module := Module{Path: key.path, Deleted: key.deleted, Mappings: mapped}
		index, found := places[module.place()]
		if !found || known[index].wantsRetry(now) {
			fresh = append(fresh, module)
			continue
		}
		old := known[index]
		module.Device, module.Inode, module.File = old.Device, old.Inode, old.File
		module.BuildID, module.Soname, module.openPath = old.BuildID, old.Soname, old.openPath
		module.opened, module.denied, module.tried = old.opened, old.denied, old.tried
		if old.openPath == p.openPath(old) {
			module.openPath = p.openPath(module) // mappings may have been split since
		}
		modules = append(modules, module)
	}
	// Several files are read at a time. They are taken in one after the other: which file is which depends on it.
	learned := make([]learnedFile, len(fresh))
	elffile.Each(len(fresh), func(i int) { learned[i] = p.learnFile(ctx, fresh[i]) })
	for i, module := range fresh {
		p.hold(learned[i].opened)
		if errors.Is(learned[i].err, ErrTooManyFiles) {
			err = learned[i].err
		}
		if p.takeIn(ctx, &module, learned[i]) {
			modules = append(modules, module)
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err() // what is left out is not what is not there
	}
	slices.SortFunc(modules, func(a, b Module) int { return cmp.Compare(a.Mappings[0].Start, b.Mappings[0].Start) })
	return modules, err
}

// learnedFile is what became of looking at the file of a module.
type learnedFile struct {
	path   string
	opened *OpenFile // nil with err
	facts  fileFacts
	err    error
}

// learnFile opens the module's file and learns what it says. The caller holds it.
func (p *Process) learnFile(ctx context.Context, module Module) learnedFile {
	refuse := func(handle int) error { return p.refuseServed(ctx, handle) }
	path := p.openPath(module)
	learned := learnedFile{path: path}
	if handle, err := p.finder.openMapped(ctx, p.PID, path); err != nil {
		learned.err = openError(path, err)
	} else {
		learned = p.finder.learnFile(ctx, handle, path, refuse)
		unix.Close(handle)
	}
	if !errors.Is(learned.err, os.ErrPermission) || module.Deleted {
		return learned
	}
	// The links of map_files are for CAP_CHECKPOINT_RESTORE. The path is as good if it leads to the same file.
	return p.learnByPath(ctx, module)
}

// takeIn makes the module what its file says. False for a file that is not ELF or is no longer mapped.
func (p *Process) takeIn(ctx context.Context, module *Module, learned learnedFile) bool {
	var file FileID
	if learned.err == nil {
		file, learned.err = p.finder.distinctFile(ctx, learned.facts, learned.opened)
	}
	if learned.err != nil {
		learned.opened = nil // the process lets go of it
	}
	module.openPath, module.opened, module.denied, module.tried = learned.path, learned.opened, learned.err, time.Now()
	switch {
	case learned.err == nil:
		module.Device, module.Inode = learned.facts.version.device, learned.facts.version.inode
		module.BuildID, module.Soname, module.NeedsROS2 = learned.facts.buildID, learned.facts.soname, learned.facts.needsROS2
		module.File = file
	case errors.Is(learned.err, os.ErrPermission), errors.Is(learned.err, ErrNotRead), errors.Is(learned.err, ErrNotShown),
		errors.Is(learned.err, quota.ErrUsedUp):
		module.Device, module.Inode = module.Mappings[0].Device, module.Mappings[0].Inode
		module.File = FileID{Device: module.Device, Inode: module.Inode}
	default:
		return false
	}
	return true
}

// hold takes over the hold on a file, until the process needs it no more. nil is no file.
func (p *Process) hold(opened *OpenFile) {
	if opened == nil {
		return
	}
	if p.held[opened] {
		opened.Release() // once is enough
		return
	}
	if p.held == nil {
		p.held = map[*OpenFile]bool{}
	}
	p.held[opened] = true
}

// releaseUnneeded lets go of the files that are neither of modules nor expected.
func (p *Process) releaseUnneeded() {
	needed := map[*OpenFile]bool{}
	for _, module := range p.Modules {
		needed[module.opened] = true
	}
	for _, library := range p.expected {
		needed[library.Opened] = true
	}
	for opened := range p.held {
		if !needed[opened] {
			delete(p.held, opened)
			opened.Release()
		}
	}
}

func (p *Process) openPath(module Module) string {
	index := max(slices.IndexFunc(module.Mappings, Mapping.Executable), 0)
	mapping := module.Mappings[index]
	return p.finder.processPath(p.PID, fmt.Sprintf("map_files/%x-%x", mapping.Start, mapping.End))
}

// fileFacts is what is remembered of a file.
type fileFacts struct {
	version fileVersion
	buildID string
	soname  string
	// needsROS2 is as in Module.
	needsROS2 bool
	overlay   bool
	evidence
	err error
}

// maxRememberedFiles bounds the memory of a Finder that runs for months while packages are upgraded.
const maxRememberedFiles = 16384

// learnFile opens the ELF file that an O_PATH descriptor stands for and learns what it says. The caller holds it unless
// there is an error.
func (f *Finder) learnFile(ctx context.Context, handle int, path string, refuse func(handle int) error) learnedFile {
	opened, err := f.opened.openUnlessRefused(quota.From(ctx), handle, path, refuse)
	if err != nil {
		return learnedFile{path: path, err: err}
	}
	return f.learn(ctx, opened, path)
}

// learn is learnFile for a file that was opened.
func (f *Finder) learn(ctx context.Context, opened *OpenFile, path string) learnedFile {
	facts := f.factsOf(ctx, opened)
	if facts.err != nil {
		opened.Release()
		return learnedFile{path: path, err: facts.err}
	}
	return learnedFile{path: path, opened: opened, facts: facts}
}

// factsOf returns the facts of an ELF file, from memory if the file is unchanged.
func (f *Finder) factsOf(ctx context.Context, opened *OpenFile) fileFacts {
	f.mutex.Lock()
	facts, known := f.files[opened.version]
	f.mutex.Unlock()
	if known {
		return facts
	}
	facts = readFacts(ctx, opened)
	version, _, err := versionOf(int(opened.file.Fd()))
	written := err != nil || version != opened.version
	facts.version = opened.version
	if !written && (facts.err == nil || isContentError(facts.err)) {
		f.mutex.Lock()
		if len(f.files) >= maxRememberedFiles {
			clear(f.files)
		}
		f.files[opened.version] = facts
		f.mutex.Unlock()
	}
	return facts
}

// isContentError tells errors that an unchanged file always gives from those of opening and reading it.
func isContentError(err error) bool {
	return slices.ContainsFunc([]error{elffile.ErrNotELF, elffile.ErrUnsupported, elffile.ErrMalformed, elffile.ErrTooLarge, elffile.ErrNotMapped},
		func(kind error) bool { return errors.Is(err, kind) })
}

func readFacts(ctx context.Context, opened *OpenFile) (facts fileFacts) {
	file, err := opened.ELF(ctx)
	if err != nil {
		return fileFacts{err: err}
	}
	defer file.Close()
	if facts.buildID, err = file.BuildID(); err != nil {
		return fileFacts{err: err}
	}
	if facts.soname, err = file.Soname(); err != nil {
		return fileFacts{err: err}
	}
	needed, err := file.Needed()
	if err != nil {
		return fileFacts{err: err}
	}
	facts.needsROS2 = slices.ContainsFunc(needed, isOfROS2)
	facts.evidence = distroEvidence(file, facts.soname)
	if err := file.Refused(); err != nil {
		return fileFacts{err: fmt.Errorf("%s: %w", opened.path, err)} // nor is it remembered for others
	}
	var statfs unix.Statfs_t
	facts.overlay = unix.Fstatfs(int(opened.file.Fd()), &statfs) == nil && statfs.Type == unix.OVERLAYFS_SUPER_MAGIC
	return facts
}
