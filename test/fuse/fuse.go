// Package fuse mounts a file whose program does not answer, for tests of whoever may wait for it.
package fuse

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Requests of the kernel to a file system in user space (fuse(4), linux/fuse.h).
const (
	lookup  = 1
	getattr = 3
	open    = 14
	read    = 15
	write   = 16
	initial = 26

	rootNode, fileNode = 1, 2
	inHeader           = 40
)

// Options say how the file is served.
type Options struct {
	// Owner is the user who has mounted it, as the kernel knows him.
	Owner int
	// Errors is how many requests to read fail at once. Those that follow are not answered.
	Errors int
	// Writes says that requests to read are answered, and those to write are not.
	Writes bool
	// Slow says that everything is answered, what the file is like after this time.
	Slow time.Duration
}

// Mount mounts a file system with one file of one page, which can be opened and mapped. What is in it is never told,
// until release. The test is skipped where it may not mount.
func Mount(t *testing.T, options Options) (file string, release func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root to mount")
	}
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skip(err)
	}
	path := t.TempDir()
	text := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=0,allow_other", fd, options.Owner)
	if err := unix.Mount("served", path, "fuse", unix.MS_NOSUID|unix.MS_NODEV, text); err != nil {
		unix.Close(fd)
		t.Skip("cannot mount: ", err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		serve(fd, options)
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

// serve answers all requests but those to read that do not fail, or those to write, until the file system is unmounted.
func serve(fd int, options Options) {
	failing := options.Errors
	order := binary.NativeEndian
	buffer := make([]byte, 1<<20)
	for {
		n, err := unix.Read(fd, buffer)
		if err == unix.EINTR || err == unix.ENOENT {
			continue
		}
		if err != nil || n < inHeader {
			return
		}
		opcode, unique, node := order.Uint32(buffer[4:]), order.Uint64(buffer[8:]), order.Uint64(buffer[16:])
		var out []byte
		errno := unix.Errno(0)
		switch opcode {
		case write:
			continue
		case read:
			if options.Writes || options.Slow > 0 {
				out = make([]byte, os.Getpagesize())
				break
			}
			if failing == 0 {
				continue
			}
			failing--
			errno = unix.EIO
		case initial:
			out = make([]byte, 64)
			order.PutUint32(out, 7)
			order.PutUint32(out[4:], 31)
			order.PutUint32(out[20:], 4096)
		case lookup:
			out = make([]byte, 40, 128)
			order.PutUint64(out, fileNode)
			order.PutUint64(out[16:], 60)
			if options.Slow == 0 { // it is asked for anew each time
				order.PutUint64(out[24:], 60)
			}
			out = append(out, attributes(fileNode)...)
		case getattr:
			out = append(make([]byte, 16, 104), attributes(node)...)
			if options.Slow == 0 {
				order.PutUint64(out, 60)
			}
			time.Sleep(options.Slow)
		case open:
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

func attributes(node uint64) []byte {
	order := binary.NativeEndian
	a := make([]byte, 88)
	order.PutUint64(a, node)
	order.PutUint64(a[8:], uint64(os.Getpagesize()))
	mode := uint32(unix.S_IFREG | 0o666)
	if node == rootNode {
		mode = unix.S_IFDIR | 0o755
	}
	order.PutUint32(a[60:], mode)
	order.PutUint32(a[64:], 1)
	order.PutUint32(a[80:], 4096)
	return a
}
