package target

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// pseudoFileSystems hold no files but doors to the kernel: what seems to be a regular file may wait for ever when it is
// read, be consumed by it, or tell of the reader. Those of FUSE are somebody's program, which may never answer.
var pseudoFileSystems = []int64{
	unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.TRACEFS_MAGIC, unix.DEBUGFS_MAGIC, unix.SECURITYFS_MAGIC, unix.SELINUX_MAGIC, unix.SMACK_MAGIC,
	unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.BPF_FS_MAGIC, unix.PSTOREFS_MAGIC, unix.EFIVARFS_MAGIC, unix.DEVPTS_SUPER_MAGIC,
	unix.AAFS_MAGIC, unix.BINDERFS_SUPER_MAGIC, unix.NSFS_MAGIC, unix.BINFMTFS_MAGIC, unix.RDTGROUP_SUPER_MAGIC, unix.XENFS_SUPER_MAGIC, unix.AUTOFS_SUPER_MAGIC, unix.FUSE_SUPER_MAGIC,
	configFS, messageQueues, functionFS, gadgetFS, rpcPipeFS, nfsdFS,
}

// Magic numbers that the kernel keeps to itself, of the file systems' sources.
const (
	configFS      = 0x62656570
	messageQueues = 0x19800202
	functionFS    = 0xa647361
	gadgetFS      = 0xaee71ee7
	rpcPipeFS     = 0x67596969
	nfsdFS        = 0x6e667364
)

// errSpecialFile: reading it may wait for ever or do something.
var errSpecialFile = errors.New("not read: it is a device, a FIFO or another special file, or in a file system of the kernel (as /proc) or of a program (FUSE)")

// refuseSpecial returns an error unless a file has a type (such as unix.S_IFREG) and lies in a file system that holds
// files. It may be open with O_PATH only, and it should be: opening a device has effects, and a FIFO waits.
func refuseSpecial(file *os.File, fileType uint32) error {
	var stat unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &stat); err != nil {
		return &os.PathError{Op: "stat", Path: file.Name(), Err: err}
	}
	if stat.Mode&unix.S_IFMT != fileType {
		return fmt.Errorf("%s: %w", file.Name(), errSpecialFile)
	}
	var fileSystem unix.Statfs_t
	if err := unix.Fstatfs(int(file.Fd()), &fileSystem); err != nil {
		return &os.PathError{Op: "statfs", Path: file.Name(), Err: err}
	}
	if slices.Contains(pseudoFileSystems, fileSystem.Type) {
		return fmt.Errorf("%s: %w", file.Name(), errSpecialFile)
	}
	return nil
}
