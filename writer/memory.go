package writer

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// newMemory makes a file system in memory of at most so many bytes, which belongs to a user. It has no place in any
// mount namespace and goes when the program ends, however it does.
func newMemory(bytes int64, user int) (*os.File, error) {
	fail := func(action string, err error) error {
		return fmt.Errorf("%s a file system in memory: %w: %w: this takes CAP_SYS_ADMIN, as root has it", action, ErrUnwritable, err)
	}
	context, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, fail("open", err)
	}
	defer func() { _ = unix.Close(context) }()
	for _, setting := range [][2]string{{"mode", "0700"}, {"uid", strconv.Itoa(user)}, {"size", strconv.FormatInt(bytes, 10)}} {
		if err := unix.FsconfigSetString(context, setting[0], setting[1]); err != nil {
			return nil, fail("configure", err)
		}
	}
	if err := unix.FsconfigCreate(context); err != nil {
		return nil, fail("make", err)
	}
	mount, err := unix.Fsmount(context, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return nil, fail("mount", err)
	}
	return os.NewFile(uintptr(mount), "memory"), nil
}
