package control

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// MakeFolder makes a folder for sockets that everybody may look into, and nobody but the program's user may change. The
// folder that it lies in is trusted. One that is there is used if nobody else could put a socket of his own in it.
func MakeFolder(path string) error {
	err := os.Mkdir(path, 0o755)
	if err == nil {
		err = os.Chmod(path, 0o755) // whatever the umask is: the user who called sudo has to reach his socket
	} else if errors.Is(err, fs.ErrExist) {
		err = checkFolder(path)
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %w", path, ErrSocket, err)
	}
	return nil
}

func checkFolder(path string) error {
	var is unix.Stat_t
	if err := unix.Lstat(path, &is); err != nil {
		return err
	}
	switch {
	case is.Mode&unix.S_IFMT != unix.S_IFDIR:
		return errors.New("there is something else than a folder")
	case is.Uid != uint32(os.Geteuid()):
		return fmt.Errorf("the folder belongs to user %d", is.Uid)
	case is.Mode&0o022 != 0:
		return fmt.Errorf("others may write to the folder: its mode is %#o", is.Mode&0o7777)
	}
	return nil
}
