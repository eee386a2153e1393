package writer

import (
	"errors"
	"fmt"
	"os"
	"strconv"
)

// defaultFileMode: what a recording tells of all users (names, command lines) is for its owner and the owner's group.
const defaultFileMode os.FileMode = 0o640

// ErrMode is returned for permissions that a dataset cannot have.
var ErrMode = errors.New("a recording's files can be 0600, 0640 or 0644: its owner writes, nobody else does; the group, or everybody, may read")

// ParseMode reads permissions of files, in octal. They are refused if anybody but the owner could write, or the owner
// could not.
func ParseMode(text string) (os.FileMode, error) {
	bits, err := strconv.ParseUint(text, 8, 32)
	if mode := os.FileMode(bits); err == nil && mode&^0o044 == 0o600 {
		return mode, nil
	}
	return 0, fmt.Errorf("mode %q: %w", text, ErrMode)
}

// permissions say who may do what with a dataset.
type permissions struct {
	files os.FileMode
	// asked: the user has chosen them, so the umask takes nothing away.
	asked bool
}

func newPermissions(asked os.FileMode) permissions {
	if asked == 0 {
		return permissions{files: defaultFileMode}
	}
	return permissions{files: asked, asked: true}
}

// folders are the permissions of folders: who may read files may also look for them.
func (p permissions) folders() os.FileMode { return p.files | p.files>>2&0o111 }

// restore gives what was just made the permissions that the umask has taken from it, if they were asked for.
func (p permissions) restore(made *os.File) error {
	if !p.asked {
		return nil
	}
	info, err := made.Stat()
	if err != nil {
		return err
	}
	mode := p.files
	if info.IsDir() {
		mode = p.folders() | info.Mode()&os.ModeSetgid // which comes from the folder above
	}
	return made.Chmod(mode)
}
