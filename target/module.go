package target

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/caret-bpf/caret-bpf/elffile"
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
	// Mappings are all mappings of the file, executable or not, in order of address.
	Mappings []Mapping
	// Deleted: the path no longer leads to this file.
	Deleted bool

	openPath string
}

// OpenPath leads to the mapped file itself, also when it was deleted, replaced, or is in a container. It is good as
// long as the process keeps the file mapped.
func (m Module) OpenPath() string { return m.openPath }

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

func (m Module) base() uint64 { return m.Mappings[0].Start - m.Mappings[0].Offset }

// OpenModule opens the file of one of the process's modules.
func (p *Process) OpenModule(module Module) (*elffile.File, error) {
	file, err := elffile.Open(module.openPath)
	switch {
	case errors.Is(err, os.ErrPermission):
		err = fmt.Errorf("%w (%w): files that a process has mapped are opened with CAP_CHECKPOINT_RESTORE (or CAP_SYS_ADMIN); "+
			"run with sudo", ErrPermission, err)
	case errors.Is(err, os.ErrNotExist) && !p.Alive():
		err = ErrNoProcess
	}
	if err != nil {
		return nil, fmt.Errorf("%s of PID %d: %w", module.Path, p.PID, err)
	}
	return file, nil
}

// readModules reads the process's modules. Facts of those that were known before are taken over.
func (p *Process) readModules(known []Module) ([]Module, error) {
	mappings, err := p.finder.readMaps(p.PID)
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
	for key, mapped := range groups {
		if !slices.ContainsFunc(mapped, Mapping.Executable) {
			continue
		}
		module := Module{Path: key.path, Deleted: key.deleted, Mappings: mapped}
		same := func(other Module) bool { return other.key() == key && other.base() == module.base() }
		index := slices.IndexFunc(known, same)
		if index < 0 {
			fresh = append(fresh, module)
			continue
		}
		old := known[index]
		module.Device, module.Inode, module.File = old.Device, old.Inode, old.File
		module.BuildID, module.Soname, module.openPath = old.BuildID, old.Soname, old.openPath
		if old.openPath == p.openPath(old) {
			module.openPath = p.openPath(module) // mappings may have been split since
		}
		modules = append(modules, module)
	}
	// Several files are read at a time. What they say is remembered, and taken in one after the other: which file is which depends on it.
	elffile.Each(len(fresh), func(i int) { _, _ = p.finder.learnFile(p.openPath(fresh[i])) })
	for _, module := range fresh {
		if p.learnModule(&module) {
			modules = append(modules, module)
		}
	}
	slices.SortFunc(modules, func(a, b Module) int { return cmp.Compare(a.Mappings[0].Start, b.Mappings[0].Start) })
	return modules, nil
}

// learnModule opens the module's file. False for a file that is not ELF or is no longer mapped.
func (p *Process) learnModule(module *Module) bool {
	module.openPath = p.openPath(*module)
	facts, err := p.finder.learnFile(module.openPath)
	if errors.Is(err, os.ErrPermission) && !module.Deleted {
		// The links of map_files are for CAP_CHECKPOINT_RESTORE. The path is as good if it leads to the same inode.
		module.openPath = p.finder.processPath(p.PID, filepath.Join("root", module.Path))
		facts, err = p.finder.learnFile(module.openPath)
		if err == nil && facts.version.inode != module.Mappings[0].Inode {
			err = os.ErrPermission
		}
	}
	switch {
	case err == nil:
		module.Device, module.Inode = facts.version.device, facts.version.inode
		module.BuildID, module.Soname = facts.buildID, facts.soname
		module.File = p.finder.distinctFile(facts, module.openPath)
	case errors.Is(err, os.ErrPermission):
		module.Device, module.Inode = module.Mappings[0].Device, module.Mappings[0].Inode
		module.File = FileID{Device: module.Device, Inode: module.Inode}
	default:
		return false
	}
	return true
}

func (p *Process) openPath(module Module) string {
	index := max(slices.IndexFunc(module.Mappings, Mapping.Executable), 0)
	mapping := module.Mappings[index]
	return p.finder.processPath(p.PID, fmt.Sprintf("map_files/%x-%x", mapping.Start, mapping.End))
}

// fileVersion names the content of a file at one time.
type fileVersion struct {
	device, inode       uint64
	size                int64
	modified, changedNS int64
}

// fileFacts is what is remembered of a file.
type fileFacts struct {
	version fileVersion
	buildID string
	soname  string
	overlay bool
	evidence
	err error
}

// maxRememberedFiles bounds the memory of a Finder that runs for months while packages are upgraded.
const maxRememberedFiles = 16384

// learnFile returns the facts of the ELF file at path, from memory if the file is unchanged.
func (f *Finder) learnFile(path string) (fileFacts, error) {
	var stat unix.Stat_t
	if err := unix.Stat(path, &stat); err != nil {
		return fileFacts{}, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	version := fileVersion{
		device: stat.Dev, inode: stat.Ino, size: stat.Size,
		modified: stat.Mtim.Nano(), changedNS: stat.Ctim.Nano(),
	}
	f.mutex.Lock()
	facts, known := f.files[version]
	f.mutex.Unlock()
	if known {
		return facts, facts.err
	}
	facts = readFacts(path)
	facts.version = version
	if facts.err == nil || isContentError(facts.err) {
		f.mutex.Lock()
		if len(f.files) >= maxRememberedFiles {
			clear(f.files)
		}
		f.files[version] = facts
		f.mutex.Unlock()
	}
	return facts, facts.err
}

// isContentError tells errors that an unchanged file always gives from those of opening and reading it.
func isContentError(err error) bool {
	return slices.ContainsFunc([]error{elffile.ErrNotELF, elffile.ErrUnsupported, elffile.ErrMalformed, elffile.ErrTooLarge, elffile.ErrNotMapped},
		func(kind error) bool { return errors.Is(err, kind) })
}

func readFacts(path string) (facts fileFacts) {
	file, err := elffile.Open(path)
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
	facts.evidence = distroEvidence(file, facts.soname)
	var statfs unix.Statfs_t
	facts.overlay = unix.Statfs(path, &statfs) == nil && statfs.Type == unix.OVERLAYFS_SUPER_MAGIC
	return facts
}
