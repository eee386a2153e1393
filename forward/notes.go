package forward

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/identity"
	"github.com/caret-bpf/caret-bpf/wholefile"
)

const (
	// noteSuffix is that of notes, temporarySuffix that of those that a killed process was writing.
	noteSuffix, temporarySuffix = ".json", ".tmp"
	// maxNote bounds a note, in bytes.
	maxNote  = 64 << 10
	noteMode = 0o640
)

// ErrBusy is returned where another process forwards what is noted in the same folder.
var ErrBusy = errors.New("another process forwards these datasets")

// note says that a dataset has arrived.
type note struct {
	// Dataset and Stamp are whose note it is.
	Dataset string `json:"dataset"`
	Stamp   string `json:"session_sha256"`
	// To is the lake, Asked how it was published there.
	To    string `json:"to"`
	Asked string `json:"asked"`
	// Recording is its name in the lake.
	Recording string    `json:"recording_id"`
	Arrived   time.Time `json:"arrived"`
	// Rows and Bytes are those in the lake.
	Rows  int64 `json:"rows"`
	Bytes int64 `json:"bytes"`
}

// notes are in a folder, which one process uses at a time.
type notes struct {
	folder string
	as     *identity.Identity
	lock   *os.File
	of     map[string]note // by the dataset's name
}

// openNotes reads the notes of a folder, which is made where there is none. What is none, or cannot be read, counts for
// nothing.
func openNotes(folder string, as *identity.Identity) (*notes, error) {
	n := &notes{folder: folder, as: as, of: make(map[string]note)}
	err := as.Run(func() (err error) {
		if err = os.MkdirAll(folder, 0o750); err != nil {
			return err
		}
		if n.lock, err = os.OpenFile(folder, os.O_RDONLY|unix.O_DIRECTORY, 0); err != nil {
			return err
		}
		// Where there are no locks, two that forward the same do no harm.
		if err := unix.Flock(int(n.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
			return ErrBusy
		}
		return n.read()
	})
	if err != nil {
		if n.lock != nil {
			_ = n.lock.Close()
		}
		if errors.Is(err, ErrBusy) {
			return nil, fmt.Errorf("%s: %w", folder, err)
		}
		return nil, fmt.Errorf("%s: %w: %w", folder, wholefile.ErrUnwritable, err)
	}
	return n, nil
}

func (n *notes) read() error {
	root, err := os.OpenRoot(n.folder)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasPrefix(name, ".") && strings.HasSuffix(name, temporarySuffix) && entry.Type().IsRegular() {
			_ = root.Remove(name)
		}
		if !strings.HasSuffix(name, noteSuffix) || !entry.Type().IsRegular() {
			continue
		}
		if read, ok := readNote(root, name); ok && noteName(read.Dataset) == name {
			n.of[read.Dataset] = read
		}
	}
	return nil
}

// readNote reads a file of a folder. ok is false for what is no note.
func readNote(root *os.Root, name string) (n note, ok bool) {
	file, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return note{}, false
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return note{}, false
	}
	text, err := io.ReadAll(io.LimitReader(file, maxNote+1))
	if err != nil {
		return note{}, false
	}
	return decodeNote(text)
}

// HasArrived tells whether it is noted in the folder state that a dataset of a folder, as it is now, has arrived in a
// lake. The lake is not asked.
func HasArrived(folder, state, name, to string, as *identity.Identity) (arrived bool) {
	err := as.Run(func() error {
		notes, err := os.OpenRoot(state)
		if err != nil {
			return err
		}
		defer func() { _ = notes.Close() }()
		datasets, err := os.OpenRoot(folder)
		if err != nil {
			return err
		}
		defer func() { _ = datasets.Close() }()
		n, ok := readNote(notes, noteName(name))
		if !ok || n.Dataset != name || n.To != to {
			return nil
		}
		now, err := stampOf(datasets, name)
		arrived = err == nil && n.Stamp == now
		return err
	})
	return arrived && err == nil
}

// decodeNote reads a note. ok is false for what is none.
func decodeNote(text []byte) (n note, ok bool) {
	if len(text) > maxNote || json.Unmarshal(text, &n) != nil {
		return note{}, false
	}
	return n, n.Dataset != "" && n.Stamp != "" && n.Rows >= 0 && n.Bytes >= 0
}

// noteName is the file of a dataset's note.
func noteName(dataset string) string {
	hash := sha256.Sum256([]byte(dataset))
	return hex.EncodeToString(hash[:16]) + noteSuffix
}

// add notes that a dataset has arrived.
func (n *notes) add(what note) error {
	text, err := json.MarshalIndent(what, "", "  ")
	if err != nil {
		return fmt.Errorf("note of %s: %w", what.Dataset, err)
	}
	n.of[what.Dataset] = what
	return wholefile.Write(filepath.Join(n.folder, noteName(what.Dataset)), append(text, '\n'), noteMode, n.as)
}

// remove forgets a dataset.
func (n *notes) remove(dataset string) error {
	if _, known := n.of[dataset]; !known {
		return nil
	}
	delete(n.of, dataset)
	err := n.as.Run(func() error { return os.Remove(filepath.Join(n.folder, noteName(dataset))) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (n *notes) close() error { return n.lock.Close() }
