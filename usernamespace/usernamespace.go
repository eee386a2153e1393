// Package usernamespace tells in which user namespace a process is, and who has made that.
package usernamespace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ErrElsewhere says that a user namespace is neither this program's own nor below it.
var ErrElsewhere = errors.New("the process is in a user namespace that is not below this program's")

// Namespace is the user namespace of a process, as this program's namespace sees it.
type Namespace struct {
	// Own says that it is this program's: only there do users mean what they mean here.
	Own bool
	// Number and Creator are of the outermost namespace below this program's in which the process is: any other was made
	// in there. Root makes such for others (LXD, podman with --userns=auto, systemd-nspawn -U).
	Number, Creator uint32
}

// maxDepth is the kernel's.
const maxDepth = 32

// Of returns the namespace of a process, which is given by its directory in /proc.
func Of(process string) (Namespace, error) {
	own, err := os.Readlink("/proc/self/ns/user")
	if errors.Is(err, fs.ErrNotExist) {
		return Namespace{Own: true}, nil // the kernel has no others
	}
	if err != nil {
		return Namespace{}, err
	}
	path := filepath.Join(process, "ns/user")
	if link, err := os.Readlink(path); err != nil || link == own {
		return Namespace{Own: err == nil}, err
	}
	handle, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return Namespace{}, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer func() { unix.Close(handle) }()
	for range maxDepth {
		parent, err := unix.IoctlRetInt(handle, unix.NS_GET_PARENT)
		if err != nil {
			return Namespace{}, fmt.Errorf("%w: %w", ErrElsewhere, err)
		}
		if link, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", parent)); err == nil && link == own {
			unix.Close(parent)
			return describe(handle)
		}
		unix.Close(handle)
		handle = parent
	}
	return Namespace{}, ErrElsewhere
}

func describe(handle int) (Namespace, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(handle, &stat); err != nil {
		return Namespace{}, fmt.Errorf("stat of a user namespace: %w", err)
	}
	creator, err := unix.IoctlGetUint32(handle, unix.NS_GET_OWNER_UID)
	if err != nil {
		return Namespace{}, fmt.Errorf("NS_GET_OWNER_UID: %w", err)
	}
	return Namespace{Number: uint32(stat.Ino), Creator: creator}, nil
}

// Payer is who has what is done for a process of a user charged to him. In a namespace that a user has made there are
// as many users as he likes: there he pays for all. One that root has made, or somebody else whom this program trusts,
// pays by its number, as a user of its own: neither are the users in it trusted, nor are there fewer of them.
func (n Namespace) Payer(user uint32, trusts func(user uint32) bool) uint32 {
	switch {
	case n.Own:
		return user
	case trusts(n.Creator):
		return n.Number
	}
	return n.Creator
}
