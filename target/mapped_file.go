package target

import (
	"context"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/elffile"
	"github.com/caret-bpf/caret-bpf/quota"
)

// MappedFile is an ELF file that a process has mapped. It must be closed.
type MappedFile struct {
	*elffile.File
	opened *OpenFile
}

// OpenMappedFile is OpenMapping for an ELF file: one of the open files, of which there is one for all processes. The
// process's user pays for the file and for all that it is asked for, until ctx ends.
func (p *Process) OpenMappedFile(ctx context.Context, mapping Mapping) (*MappedFile, error) {
	ctx = p.PaidBy(ctx)
	handle, err := p.findMapping(mapping)
	if err != nil {
		return nil, err
	}
	defer handle.Close()
	opened, err := p.finder.opened.openUnlessRefused(quota.From(ctx), int(handle.Fd()), mapping.Path, func(fd int) error {
		if err := p.refuseServed(ctx, fd); err != nil {
			return err
		}
		return refuseSpecial(handle, unix.S_IFREG)
	})
	if err != nil {
		return nil, err
	}
	file, err := opened.ELF(ctx)
	if err != nil {
		opened.Release()
		return nil, err
	}
	return &MappedFile{file, opened}, nil
}

// Close gives back what is kept of the file, and lets go of it.
func (f *MappedFile) Close() {
	_ = f.File.Close() // of what is not its own there is nothing to close
	f.opened.Release()
}
