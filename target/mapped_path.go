package target

import (
	"context"
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/quota"
)

// learnByPath is learnFile for what the path of a module leads to, if that is its file.
//
// The process has chosen the path, and by now it may lead to a file of somebody else's. So a delegate follows it and
// opens the file, with the rights of the process. On overlays and btrfs it need not be the very file that is mapped,
// but it is one that the process can read.
//
// Without a delegate, or where the process may execute the file but not read it, the recorder opens it with its own
// rights. It then opens what the kernel's link would, and nothing else: the file has the device and the number of the
// mapped one. Where stat tells another device than the kernel, this cannot be known, and the file is left out.
func (p *Process) learnByPath(ctx context.Context, module Module) learnedFile {
	path := p.finder.processPath(p.PID, "root") + module.Path
	file, err := p.openAsProcess(ctx, module)
	if errors.Is(err, errNoDelegate) || errors.Is(err, os.ErrPermission) {
		file, err = p.openProven(ctx, module)
	}
	if errors.Is(err, errSpecialFile) {
		err = &os.PathError{Op: "open", Path: path, Err: os.ErrPermission} // it is not mapped
	}
	if err != nil {
		return learnedFile{path: path, err: err}
	}
	opened, err := p.finder.opened.adopt(quota.From(ctx), file, path)
	if err != nil {
		return learnedFile{path: path, err: err}
	}
	return p.finder.learn(ctx, opened, path)
}

// errNoDelegate: the recorder has not got the rights that a delegate needs, or cannot tell which those are.
var errNoDelegate = errors.New("no delegate")

// openAsProcess opens a module's file by its path and with the rights of the process.
func (p *Process) openAsProcess(ctx context.Context, module Module) (*os.File, error) {
	d, err := p.newDelegate(ctx)
	if err != nil {
		if !errors.Is(err, ErrNotRead) || errors.Is(err, quota.ErrUsedUp) {
			return nil, err
		}
		return nil, errNoDelegate
	}
	defer d.close()
	file, err := ask(d, func(root rootDirectory) (*os.File, error) { return root.openFile(module.Path) })
	if err != nil {
		return nil, err
	}
	if same, device := isMapped(file, module.Mappings[0]); same && (device || hidesDevices(file)) {
		return file, nil
	}
	file.Close()
	return nil, errSpecialFile
}

// openProven opens a module's file by its path and with the recorder's rights, if it is the one that is mapped.
func (p *Process) openProven(ctx context.Context, module Module) (*os.File, error) {
	root, err := p.openRoot(ctx)
	if err != nil {
		return nil, err
	}
	defer root.close()
	found, err := root.find(module.Path, true)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	if same, device := isMapped(found, module.Mappings[0]); !same || !device {
		return nil, errSpecialFile
	}
	return openFound(found, unix.S_IFREG)
}

// isMapped reports whether a file has the number of the one that a mapping shows, and the device.
func isMapped(file *os.File, mapping Mapping) (number, device bool) {
	version, _, err := versionOf(int(file.Fd()))
	return err == nil && version.inode == mapping.Inode, err == nil && version.device == mapping.Device
}

// hidesDevices reports whether stat tells another device of a file than the kernel prints of its mappings.
func hidesDevices(file *os.File) bool {
	var fileSystem unix.Statfs_t
	err := unix.Fstatfs(int(file.Fd()), &fileSystem)
	return err == nil && (fileSystem.Type == unix.OVERLAYFS_SUPER_MAGIC || fileSystem.Type == unix.BTRFS_SUPER_MAGIC)
}
