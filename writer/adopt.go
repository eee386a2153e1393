package writer

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// adoption is the encoder's task for Adopt.
type adoption struct {
	table   *table
	from    *os.File
	rows    int64
	adopted chan<- struct{}
}

func (a adoption) run(e *encoder) error {
	defer close(a.adopted)
	if e.failed {
		return nil
	}
	former, err := a.table.finish()
	if err != nil {
		return err
	}
	e.commit(former)
	a.table.accepted.Add(uint64(a.rows))
	copied, err := a.table.segments.adopt(a.from, int(a.rows))
	if err != nil {
		return err
	}
	e.commit(copied)
	return nil
}

// adopt has a file be the next segment.
func (s *segments) adopt(from *os.File, rows int) (*finished, error) {
	if err := s.openFolder(); err != nil {
		return nil, err
	}
	if f, bytes := s.link(from); f != nil {
		return s.handOver(f, rows, bytes), nil
	}
	f, err := s.dir.createFile(s.temporary())
	if err != nil {
		return nil, err
	}
	bytes, err := io.Copy(f, from)
	if err != nil {
		s.dir.discard(f, s.temporary())
		return nil, ioError("write", s.dir.describe(s.temporary()), err)
	}
	return s.handOver(f, rows, bytes), nil
}

// link gives a file one more name, where that is as good as a copy: on the same file system, of the same user, and with
// the permissions that a copy would have. Nobody writes to a closed segment. It returns nil if the file is to be
// copied.
func (s *segments) link(from *os.File) (f *os.File, bytes int64) {
	info, err := from.Stat()
	if err != nil || info.Mode().Perm() != s.dir.files {
		return nil, 0
	}
	name := filepath.Base(s.temporary())
	err = unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", from.Fd()), int(s.folder.Fd()), name, unix.AT_SYMLINK_FOLLOW)
	if err != nil {
		return nil, 0
	}
	f, err = s.dir.root.Open(s.temporary())
	if err != nil {
		_ = s.dir.root.Remove(s.temporary())
		return nil, 0
	}
	linked, err := f.Stat()
	if err != nil || !os.SameFile(info, linked) || !isOwn(linked) {
		s.dir.discard(f, s.temporary())
		return nil, 0
	}
	return f, linked.Size()
}

// isOwn reports whether the user with whose rights this runs owns a file.
func isOwn(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == unix.Geteuid()
}
