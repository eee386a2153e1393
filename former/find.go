package former

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	// recorderName is that in session.json.
	recorderName = "caret-bpf"
	// removedPrefix begins the name of what is being removed.
	removedPrefix = ".removed."
	// maxSession bounds what is read of a session.json, in bytes; trace refuses longer ones, too.
	maxSession = 64 << 20
	// stamp is a date and a time in names that recorders choose, and what may follow.
	stamp = `[0-9]{8}-[0-9]{6}`
)

var (
	// recordingName is one that a recorder has chosen: of a recording, or of a snapshot beside it. Who gives a recording
	// another name keeps it.
	recordingName = regexp.MustCompile(`^caret-bpf-` + stamp + `(-.*)?$`)
	// snapshotName is one that a recorder has chosen within the folder of a ring.
	snapshotName = regexp.MustCompile(`^` + stamp + `(-.*)?$`)
)

// belongings are what a dataset has beside its tables: others have put there what else there is.
var belongings = []string{trace.SessionFile, "." + trace.SessionFile + ".tmp", ".reserve", "views.sql"}

// dataset is a recording that has ended, or a snapshot.
type dataset struct {
	// name is its path in the folder.
	name string
	// session is its session.json, and self its directory, as they were when it was looked at.
	session, self fs.FileInfo
	// last is when something was last written in it.
	last  time.Time
	bytes int64
}

// errNot is why something is left alone: it is no ended recording of this user's, or not certainly.
var errNot = errors.New("no ended recording of this user's")

// folder is where recordings are looked for.
type folder struct {
	root   *os.Root
	user   int
	device uint64
	// own is the name of the recording that goes on, and ring says that its directory has snapshots only.
	own  string
	ring bool
	// known are those that were found the last time, by name.
	known map[string]dataset
}

// openFolder opens a folder in which this user may keep recordings.
func openFolder(path string, user int) (*folder, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	info, err := root.Stat(".")
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &folder{root: root, user: user, device: info.Sys().(*syscall.Stat_t).Dev}, nil
}

// find returns the recordings of a folder that have ended, the oldest first. No link is followed.
func (f *folder) find() ([]dataset, error) {
	entries, err := fs.ReadDir(f.root.FS(), ".")
	if err != nil {
		return nil, err
	}
	var found []dataset
	look := func(name string) error {
		d, err := f.look(name)
		if err == nil {
			found = append(found, d)
		}
		return err
	}
	beside := regexp.MustCompile(`^` + regexp.QuoteMeta(f.own) + `-` + stamp + `(-.*)?$`)
	for _, entry := range entries {
		name := entry.Name()
		isOwn := name == f.own
		switch {
		case !entry.IsDir() || isOwn && !f.ring || !isOwn && !recordingName.MatchString(name) && !beside.MatchString(name):
			continue
		case !isOwn && look(name) == nil:
			continue
		}
		// It may be the folder of a ring.
		if _, err := f.root.Lstat(path.Join(name, trace.SessionFile)); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		_ = f.finish(name)
		within, err := fs.ReadDir(f.root.FS(), name)
		if err != nil {
			continue // others' folders cannot be read
		}
		for _, snapshot := range within {
			if snapshot.IsDir() && snapshotName.MatchString(snapshot.Name()) {
				_ = look(path.Join(name, snapshot.Name())) // what is none stays
			}
		}
	}
	slices.SortFunc(found, func(a, b dataset) int { return a.last.Compare(b.last) })
	f.known = make(map[string]dataset, len(found))
	for _, d := range found {
		f.known[d.name] = d
	}
	return found, nil
}

// look looks at what may be a recording. The error wraps errNot, or is that of the file system.
func (f *folder) look(name string) (dataset, error) {
	session, err := f.root.Lstat(path.Join(name, trace.SessionFile))
	if err != nil {
		return dataset{}, err
	}
	self, err := f.open(name)
	if err != nil {
		return dataset{}, err
	}
	defer func() { _ = self.Close() }()
	info, err := self.Stat()
	if err != nil {
		return dataset{}, err
	}
	// As readers do: a recorder that goes on holds the other kind of lock.
	if err := unix.Flock(int(self.Fd()), unix.LOCK_SH|unix.LOCK_NB); err != nil {
		return dataset{}, fmt.Errorf("%w: %w", errNot, err)
	}
	if d, ok := f.known[name]; ok && isSame(d.self, info) && isSame(d.session, session) {
		return d, nil
	}
	if err := f.checkSession(name); err != nil {
		return dataset{}, err
	}
	d := dataset{name: name, session: session, self: info, last: info.ModTime()}
	return d, f.measure(&d)
}

// isSame reports whether a file or a directory is the one that it was, and nothing has come or gone in it.
func isSame(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

// open opens a directory that this user alone may write, in the file system of the folder.
func (f *folder) open(name string) (*os.File, error) {
	self, err := f.root.OpenFile(name, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	var stat unix.Stat_t
	if err := unix.Fstat(int(self.Fd()), &stat); err != nil || int(stat.Uid) != f.user || stat.Mode&unix.S_IWOTH != 0 || stat.Dev != f.device {
		return nil, errors.Join(errNot, err, self.Close())
	}
	return self, nil
}

// checkSession sees that a session.json is one that a recorder has written.
func (f *folder) checkSession(name string) error {
	file, err := f.root.OpenFile(path.Join(name, trace.SessionFile), os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	var stat unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &stat); err != nil || int(stat.Uid) != f.user || stat.Mode&unix.S_IFMT != unix.S_IFREG || stat.Size > maxSession {
		return errors.Join(errNot, err)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxSession))
	if err != nil {
		return err
	}
	session, err := trace.DecodeSession(text)
	if err != nil || session.Recorder.Name != recorderName || session.State == "" {
		return errors.Join(errNot, err)
	}
	// A lock is seen on its own machine only, and the folder may be one of several machines.
	if here, err := os.Hostname(); session.State != trace.StateStopped && (err != nil || session.Host.Name != here) {
		return errors.Join(errNot, err)
	}
	return nil
}

// measure adds the files of a dataset. It fails with errNot if there is something that recorders do not make.
func (f *folder) measure(d *dataset) error {
	d.bytes = 0
	return fs.WalkDir(f.root.FS(), d.name, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		within := strings.TrimPrefix(strings.TrimPrefix(name, d.name), "/")
		if !belongs(within, info.Mode()) || info.Sys().(*syscall.Stat_t).Dev != f.device {
			return fmt.Errorf("%w: it has %q", errNot, within)
		}
		if info.Mode().IsRegular() {
			d.bytes += info.Size()
		}
		if info.ModTime().After(d.last) {
			d.last = info.ModTime()
		}
		return nil
	})
}

// belongs reports whether recorders make what has that path within a dataset.
func belongs(within string, mode fs.FileMode) bool {
	table, file := path.Split(within)
	switch {
	case within == "":
		return mode.IsDir()
	case table == "" && mode.IsDir():
		return trace.TableByName(within) != nil
	case table == "":
		return mode.IsRegular() && slices.Contains(belongings, within)
	}
	return mode.IsRegular() && (strings.HasSuffix(file, ".parquet") || strings.HasSuffix(file, ".tmp"))
}
