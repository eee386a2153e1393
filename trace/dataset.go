package trace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Dataset is an opened recording. It holds no files open: each call looks at the directory anew, so a Dataset of a
// recording that is still being written shows each segment as it is closed. Its methods are safe for concurrent use.
type Dataset struct {
	dir     string
	session *Session
	warning string
	as      As
	kept    keptGroups
}

// As does what looks at the file system or opens a file, in a way of its own: on a thread with the rights of another
// user, say.
type As func(open func() error) error

func asProgram(open func() error) error { return open() }

// Open opens the recording in the directory dir. It fails with ErrNotDataset when there is none and with ErrNewerFormat
// when a later version of caret-bpf made it. A session.json that is damaged or lost does not hide the rows: Session is
// nil then, and Warning says why.
func Open(dir string) (*Dataset, error) { return OpenAs(dir, asProgram) }

// OpenAs is Open for a dataset whose files are opened in a way of their own, now and later.
func OpenAs(dir string, as As) (*Dataset, error) {
	var info os.FileInfo
	err := as(func() (err error) {
		info, err = os.Stat(dir)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w%s", ErrNotDataset, err, (&Dataset{dir: dir, as: as}).elsewhere())
	}
	if err != nil {
		return nil, fmt.Errorf("open dataset: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%w: %s is a file: name the directory that 'caret-bpf record -o' wrote", ErrNotDataset, dir)
	}
	d := &Dataset{dir: dir, as: as}
	d.session, err = d.readSession()
	switch {
	case err == nil:
		return d, nil
	case errors.Is(err, ErrNewerFormat):
		return nil, fmt.Errorf("open dataset %s: %w", dir, err)
	}
	tables, tablesErr := d.Tables()
	if tablesErr != nil {
		return nil, tablesErr
	}
	if len(tables) == 0 {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w: %s has no %s%s", ErrNotDataset, dir, SessionFile, d.elsewhere())
		}
		return nil, fmt.Errorf("open dataset %s: %w", dir, err)
	}
	d.warning = fmt.Sprintf("%s cannot be read (%v): how the recording was made and ended is unknown, its rows are readable", SessionFile, err)
	return d, nil
}

// Dir returns the dataset's directory.
func (d *Dataset) Dir() string { return d.dir }

// Session returns the content of session.json when the dataset was opened; nil when it is damaged or lost.
func (d *Dataset) Session() *Session { return d.session }

// Warning says what is wrong with session.json; empty when nothing is.
func (d *Dataset) Warning() string { return d.warning }

// Tables returns the names of the tables that the dataset has, in the registry's order.
func (d *Dataset) Tables() ([]string, error) {
	var entries []os.DirEntry
	err := d.as(func() (err error) {
		entries, err = os.ReadDir(d.dir)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list dataset: %w", err)
	}
	folders := make(map[string]bool)
	for _, entry := range entries {
		folders[entry.Name()] = entry.IsDir()
	}
	var tables []string
	for _, table := range registry {
		if folders[table.Name] {
			tables = append(tables, table.Name)
		}
	}
	return tables, nil
}

// Segment is one Parquet file of a table.
type Segment struct {
	Path  string
	Bytes int64
}

// OpenSegment opens a segment that Segments has listed, for reading.
func (d *Dataset) OpenSegment(s Segment) (*os.File, error) {
	f, _, err := d.as.openRegular(s.Path)
	if err != nil {
		return nil, &SegmentError{Path: s.Path, Err: err}
	}
	return f, nil
}

// Segments returns the table's segments in the order in which they were closed, and the paths of unfinished ones: that
// which is being written, or which a killed recorder left behind. Those cannot be read. A table without a folder has no
// segments.
func (d *Dataset) Segments(table string) (segments []Segment, unfinished []string, err error) {
	if TableByName(table) == nil {
		return nil, nil, fmt.Errorf("%w: %q", ErrUnknownTable, table)
	}
	err = d.as(func() error {
		segments, unfinished, err = listSegments(filepath.Join(d.dir, table))
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("list segments: %w", err)
	}
	return segments, unfinished, nil
}

func listSegments(folder string) (segments []Segment, unfinished []string, err error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	for _, entry := range entries { // sorted by name
		path := filepath.Join(folder, entry.Name())
		hidden := strings.HasPrefix(entry.Name(), ".")
		switch {
		case hidden && strings.HasSuffix(entry.Name(), ".parquet.tmp"):
			unfinished = append(unfinished, path)
		case !hidden && strings.HasSuffix(entry.Name(), ".parquet"):
			info, err := entry.Info()
			if err != nil {
				return nil, nil, err
			}
			segments = append(segments, Segment{Path: path, Bytes: info.Size()})
		}
	}
	return segments, unfinished, nil
}

// Live tells whether a recorder is writing the dataset: it holds a lock on the directory, which ends with its process.
// The lock is seen on the recording machine only.
func (d *Dataset) Live() bool {
	var f *os.File
	err := d.as(func() (err error) {
		f, err = os.OpenFile(d.dir, os.O_RDONLY|unix.O_DIRECTORY, 0) // nothing else may stand there by now and be waited for
		return err
	})
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	return errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// Killed tells whether the recording neither ended nor goes on: its recorder was killed or the machine went down. What
// it holds then are the segments that were closed.
func (d *Dataset) Killed() bool {
	if d.session == nil || d.session.Ending != EndingRunning || d.Live() {
		return false
	}
	// The recorder may have ended since Open; it writes session.json before it gives up the lock.
	now, err := d.readSession()
	return err != nil || now.Ending == EndingRunning
}

// maxSessionBytes is far above what recordings of a whole machine write.
const maxSessionBytes = 64 << 20

func (d *Dataset) readSession() (*Session, error) {
	text, err := d.as.readRegular(filepath.Join(d.dir, SessionFile), maxSessionBytes)
	if err != nil {
		return nil, err
	}
	return DecodeSession(text)
}
