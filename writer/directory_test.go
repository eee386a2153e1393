package writer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/identity"
	"github.com/caret-bpf/caret-bpf/trace"
)

// user is one without privileges, as who calls sudo.
var user = &identity.Identity{User: 12345, Group: 23456, Groups: []uint32{34567}, Origin: "SUDO_UID"}

func requireRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can act for another user")
	}
}

// folderOf is a folder that everybody can reach.
func folderOf(t *testing.T, uid, gid int, mode os.FileMode) string {
	t.Helper()
	path := t.TempDir()
	if err := errors.Join(os.Chmod(filepath.Dir(path), 0o755), os.Chown(path, uid, gid), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
	return path
}

// fileModes are the permissions of all files and folders in one, by path; all belong to the user.
func fileModes(t *testing.T, folder string) map[string]os.FileMode {
	t.Helper()
	modes := make(map[string]os.FileMode)
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || path == folder {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if stat := info.Sys().(*syscall.Stat_t); stat.Uid != user.User || stat.Gid != user.Group {
			t.Errorf("%s belongs to %d:%d", path, stat.Uid, stat.Gid)
		}
		relative, err := filepath.Rel(folder, path)
		modes[relative] = info.Mode()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return modes
}

// Whatever the Writer makes is the user's at every moment, as long as it is there, and has the mode that it will have.
func TestFilesBelongToTheInvokingUser(t *testing.T) {
	requireRoot(t)
	for name, test := range map[string]struct {
		mode           os.FileMode
		umask          int
		files, folders os.FileMode
	}{
		"default":               {0, 0o022, 0o640, 0o750},
		"a narrow umask":        {0, 0o077, 0o600, 0o700},
		"no umask":              {0, 0, 0o640, 0o750},
		"everybody's":           {0o644, 0o022, 0o644, 0o755},
		"everybody's, umask":    {0o644, 0o077, 0o644, 0o755},
		"the user's":            {0o600, 0o022, 0o600, 0o700},
		"the group's, no umask": {0o640, 0, 0o640, 0o750},
	} {
		t.Run(name, func(t *testing.T) {
			defer unix.Umask(unix.Umask(test.umask))
			parent := folderOf(t, 12345, 23456, 0o700)
			w, err := Create(filepath.Join(parent, "made", "too", "dataset"), Options{As: user, Mode: test.mode})
			if err != nil {
				t.Fatal(err)
			}
			check := func(when string, count int) {
				t.Helper()
				modes := fileModes(t, parent)
				for path, mode := range modes {
					want := test.files
					if mode.IsDir() {
						want = test.folders
					}
					if mode.Perm() != want {
						t.Errorf("%s: %s is %v, not %v", when, path, mode, want)
					}
				}
				if len(modes) != count {
					t.Errorf("%s: %v", when, modes)
				}
			}
			check("made", 4) // three folders and the reserve
			appendRows(t, w, trace.Clock{})
			if err := w.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			check("a segment is closed", 6)
			if err := w.WriteSession(trace.NewSession()); err != nil {
				t.Fatal(err)
			}
			check("session.json is written", 7)
			closeWriter(t, w)
			check("closed", 6)
		})
	}
}

// From the moment when something is there, until it has its final name, it is nobody's but the user's.
func TestNothingIsTheRecordersFirst(t *testing.T) {
	requireRoot(t)
	parent := folderOf(t, 12345, 23456, 0o755)
	dir := filepath.Join(parent, "dataset")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.Chown(dir, 12345, 23456)); err != nil {
		t.Fatal(err)
	}
	// The kernel tells of changes of owners and modes, too: there are none.
	changed := attributeChanges(t, dir)
	w, err := Create(dir, Options{As: user})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		appendRows(t, w, trace.Clock{RealtimeOffset: int64(i)})
		if err := errors.Join(w.WriteSession(trace.NewSession()), w.Flush(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	closeWriter(t, w)
	if names := changed(); len(names) > 0 {
		t.Errorf("owner or mode was changed of %q", names)
	}
	fileModes(t, dir)
}

// attributeChanges tells, when asked, of what in a folder the owner or the mode was changed since.
func attributeChanges(t *testing.T, folder string) func() []string {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if _, err := unix.InotifyAddWatch(fd, folder, unix.IN_ATTRIB); err != nil {
		t.Fatal(err)
	}
	return func() (names []string) {
		buffer := make([]byte, 1<<20)
		n, err := unix.Read(fd, buffer)
		if errors.Is(err, unix.EAGAIN) {
			return nil
		}
		if err != nil {
			t.Fatal(err)
		}
		for events := buffer[:n]; len(events) > 0; {
			length := binary.NativeEndian.Uint32(events[12:])
			names = append(names, string(bytes.TrimRight(events[unix.SizeofInotifyEvent:unix.SizeofInotifyEvent+length], "\x00")))
			events = events[unix.SizeofInotifyEvent+length:]
		}
		return names
	}
}

func TestDirectoriesOfOthersAreRefused(t *testing.T) {
	requireRoot(t)
	for name, test := range map[string]struct {
		uid, gid int
		mode     os.FileMode
		as       *identity.Identity
		want     error
	}{
		"root's":                       {0, 0, 0o755, nil, nil},
		"root's, for the user":         {0, 0, 0o755, user, ErrUnwritable},
		"root's and the user's group":  {0, 23456, 0o775, user, nil},
		"root's and another group":     {0, 34567, 0o775, user, nil},
		"root's and a foreign group":   {0, 54321, 0o775, user, ErrUnwritable},
		"the user's":                   {12345, 23456, 0o755, user, nil},
		"the user's alone":             {12345, 23456, 0o700, user, nil},
		"the user's, not to write":     {12345, 23456, 0o500, user, ErrUnwritable},
		"the user's, open to a group":  {12345, 12345, 0o775, user, nil},
		"another user's":               {54321, 54321, 0o755, user, ErrUnwritable},
		"another user's, for a group":  {54321, 23456, 0o775, user, ErrUnwritable},
		"another user's, without sudo": {54321, 54321, 0o755, nil, ErrUnwritable},
		"everybody's":                  {12345, 12345, 0o777, user, ErrUnwritable},
		"everybody's, sticky":          {0, 0, 0o777 | os.ModeSticky, user, ErrUnwritable},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folderOf(t, test.uid, test.gid, test.mode)
			w, err := Create(dir, Options{As: test.as})
			if !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
			if err == nil {
				closeWriter(t, w)
			} else if !strings.Contains(err.Error(), "-o") {
				t.Errorf("no remedy in %v", err)
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
				t.Errorf("left are %v, %v", entries, err)
			}
			if info, err := os.Stat(dir); err != nil || int(info.Sys().(*syscall.Stat_t).Uid) != test.uid {
				t.Errorf("the directory has another owner now, %v", err)
			}
		})
	}
}

// What only root may write to stays as it is, by whatever way the user leads there.
func TestOutputIsMadeWithTheRightsOfTheUser(t *testing.T) {
	requireRoot(t)
	for name, lead := range map[string]func(t *testing.T, home, secret string) string{
		"root's":              func(_ *testing.T, _, secret string) string { return filepath.Join(secret, "dataset") },
		"deep in root's":      func(_ *testing.T, _, secret string) string { return filepath.Join(secret, "new", "dataset") },
		"a link to root's":    func(t *testing.T, home, secret string) string { return link(t, secret, home) + "/dataset" },
		"deep behind a link":  func(t *testing.T, home, secret string) string { return link(t, secret, home) + "/new/dataset" },
		"a link to a new one": func(t *testing.T, home, secret string) string { return link(t, secret+"/dataset", home) + "/below" },
		"an empty one behind a link": func(t *testing.T, home, secret string) string {
			makeFolder(t, filepath.Join(secret, "empty"))
			return link(t, secret+"/empty", home)
		},
		"a file system without directories": func(*testing.T, string, string) string { return "/proc/dataset" },
	} {
		for _, mode := range []os.FileMode{0o700, 0o755} {
			t.Run(fmt.Sprintf("%s, %o", name, mode), func(t *testing.T) {
				home, secret := folderOf(t, 12345, 23456, 0o755), folderOf(t, 0, 0, mode)
				path := lead(t, home, secret)
				before := entries(t, secret)
				_, err := Create(path, Options{As: user, Mode: 0o644})
				if !errors.Is(err, ErrUnwritable) {
					t.Fatalf("error %v", err)
				}
				if !errors.Is(err, os.ErrNotExist) && !strings.Contains(err.Error(), "denied for UID 12345 of SUDO_UID: choose another directory with -o") {
					t.Errorf("it does not say for whom, or what to do: %v", err)
				}
				if after := entries(t, secret); !maps.Equal(before, after) {
					t.Errorf("root's directory was %v and is %v", before, after)
				}
			})
		}
	}
}

// link puts a link into the user's home.
func link(t *testing.T, target, home string) string {
	t.Helper()
	path := filepath.Join(home, "link")
	if err := errors.Join(os.Symlink(target, path), os.Lchown(path, 12345, 23456)); err != nil {
		t.Fatal(err)
	}
	return path
}

// entries are the owners and modes of what is in a folder, and of itself.
func entries(t *testing.T, folder string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			found[path] = fmt.Sprint(info.Mode(), info.Sys().(*syscall.Stat_t).Uid)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// While a recording runs its user may exchange what is in it: what the Writer does then it does with his rights, and no
// other.
func TestExchangedFoldersAreWrittenAsTheUser(t *testing.T) {
	requireRoot(t)
	dir := filepath.Join(folderOf(t, 12345, 23456, 0o700), "dataset")
	w, err := Create(dir, Options{As: user})
	if err != nil {
		t.Fatal(err)
	}
	appendRows(t, w, trace.Clock{})
	if err := w.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Something that root has mounted is no link, and below the dataset's directory, but not the user's.
	folder := filepath.Join(dir, trace.TableClock)
	if err := errors.Join(os.Rename(folder, folder+".moved"), os.Mkdir(folder, 0o755)); err != nil {
		t.Fatal(err)
	}
	appendRows(t, w, trace.Clock{})
	if err := w.Flush(t.Context()); !errors.Is(err, ErrUnwritable) || !errors.Is(err, os.ErrPermission) {
		t.Errorf("error %v", err)
	}
	if err := w.Close(); err == nil {
		t.Error("Close: no error")
	}
	if found := entries(t, folder); len(found) != 1 {
		t.Errorf("root's directory has %v", found)
	}
}

// The recorder is root and the directory is the user's, who may replace a folder by a link to somewhere else.
func TestALinkDoesNotLeadOutOfTheDataset(t *testing.T) {
	w, dir := create(t, Options{})
	elsewhere := t.TempDir()
	appendRows(t, w, trace.Clock{})
	if err := w.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, trace.TableClock)
	if err := os.Rename(folder, folder+".moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, folder); err != nil {
		t.Fatal(err)
	}
	appendRows(t, w, trace.Clock{})
	if err := w.Flush(t.Context()); err == nil {
		t.Error("no error")
	}
	if err := w.Close(); err == nil {
		t.Error("Close: no error")
	}
	if entries, err := os.ReadDir(elsewhere); err != nil || len(entries) != 0 {
		t.Errorf("files outside of the dataset: %v, %v", entries, err)
	}
}
