package target

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Requests of the kernel to a file system in user space (fuse(4), linux/fuse.h).
const (
	fuseLookup  = 1
	fuseGetattr = 3
	fuseOpen    = 14
	fuseRead    = 15
	fuseInit    = 26

	fuseRoot, fuseFile = 1, 2
	fuseInHeader       = 40
)

// mountServedFile mounts a file system with one file of one page, which can be opened and mapped. What is in it is
// never told, until release.
func mountServedFile(t *testing.T) (file string, release func()) {
	t.Helper()
	requireRoot(t)
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skip(err)
	}
	path := t.TempDir()
	if err := unix.Mount("served", path, "fuse", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd)); err != nil {
		unix.Close(fd)
		t.Skip("cannot mount: ", err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		serveFuse(fd)
	}()
	release = func() {
		_ = unix.Unmount(path, unix.MNT_FORCE) // which ends all that waits
		_ = unix.Unmount(path, unix.MNT_DETACH)
		<-served
	}
	t.Cleanup(func() {
		release()
		unix.Close(fd)
	})
	return filepath.Join(path, "file"), release
}

// serveFuse answers all requests but those to read, until the file system is unmounted.
func serveFuse(fd int) {
	order := binary.NativeEndian
	buffer := make([]byte, 1<<20)
	for {
		n, err := unix.Read(fd, buffer)
		if err == unix.EINTR || err == unix.ENOENT {
			continue
		}
		if err != nil || n < fuseInHeader {
			return
		}
		opcode, unique, node := order.Uint32(buffer[4:]), order.Uint64(buffer[8:]), order.Uint64(buffer[16:])
		var out []byte
		errno := unix.Errno(0)
		switch opcode {
		case fuseRead:
			continue
		case fuseInit:
			out = make([]byte, 64)
			order.PutUint32(out, 7)
			order.PutUint32(out[4:], 31)
			order.PutUint32(out[20:], 4096)
		case fuseLookup:
			out = make([]byte, 40, 128)
			order.PutUint64(out, fuseFile)
			order.PutUint64(out[16:], 60)
			order.PutUint64(out[24:], 60)
			out = append(out, fuseAttributes(fuseFile)...)
		case fuseGetattr:
			out = append(make([]byte, 16, 104), fuseAttributes(node)...)
			order.PutUint64(out, 60)
		case fuseOpen:
			out = make([]byte, 16)
		default:
			errno = unix.ENOSYS
		}
		answer := order.AppendUint32(nil, uint32(16+len(out)))
		answer = order.AppendUint32(answer, uint32(-int32(errno)))
		answer = append(order.AppendUint64(answer, unique), out...)
		_, _ = unix.Write(fd, answer)
	}
}

func fuseAttributes(node uint64) []byte {
	order := binary.NativeEndian
	a := make([]byte, 88)
	order.PutUint64(a, node)
	order.PutUint64(a[8:], uint64(os.Getpagesize()))
	mode := uint32(unix.S_IFREG | 0o644)
	if node == fuseRoot {
		mode = unix.S_IFDIR | 0o755
	}
	order.PutUint32(a[60:], mode)
	order.PutUint32(a[64:], 1)
	order.PutUint32(a[80:], 4096)
	return a
}
