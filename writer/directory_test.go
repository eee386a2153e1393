package writer

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
)

func TestInvokingUser(t *testing.T) {
	cases := []struct {
		euid     int
		uid, gid string
		want     *Owner
	}{
		{0, "1000", "1001", &Owner{UID: 1000, GID: 1001}},
		{0, "0", "0", &Owner{}},
		{0, "", "", nil},
		{0, "1000", "", nil},
		{0, "alice", "1000", nil},
		{0, "-1", "1000", nil},
		{1000, "1001", "1001", nil}, // the variables outlived sudo: sudo -u, or capabilities instead of root
	}
	for _, c := range cases {
		env := map[string]string{"SUDO_UID": c.uid, "SUDO_GID": c.gid}
		got := InvokingUser(c.euid, func(name string) string { return env[name] })
		if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("user %d with SUDO_UID=%q SUDO_GID=%q: %v, want %v", c.euid, c.uid, c.gid, got, c.want)
		}
	}
}

func TestFilesBelongToTheInvokingUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	parent := t.TempDir()
	top := filepath.Join(parent, "made")
	w, err := Create(filepath.Join(top, "too", "dataset"), Options{Owner: &Owner{UID: 12345, GID: 23456}})
	if err != nil {
		t.Fatal(err)
	}
	appendRows(t, w, trace.Clock{})
	if err := w.WriteSession(trace.NewSession()); err != nil {
		t.Fatal(err)
	}
	closeWriter(t, w)
	files := 0
	err = filepath.WalkDir(top, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		files++
		if stat := info.Sys().(*syscall.Stat_t); stat.Uid != 12345 || stat.Gid != 23456 {
			t.Errorf("%s belongs to %d:%d", path, stat.Uid, stat.Gid)
		}
		if info.Mode().Perm()&0o027 != 0 {
			t.Errorf("others may use %s: %v", path, info.Mode())
		}
		return nil
	})
	if err != nil || files != 6 { // three directories, session.json, clock and its segment
		t.Errorf("%d files, %v", files, err)
	}
	info, err := os.Stat(parent)
	if err != nil {
		t.Fatal(err)
	}
	if stat := info.Sys().(*syscall.Stat_t); stat.Uid == 12345 {
		t.Error("a directory that was there before changed its owner")
	}
}

func TestDirectoriesOfOthersAreRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give directories away")
	}
	user := &Owner{UID: 12345, GID: 23456}
	for name, test := range map[string]struct {
		uid   int
		mode  os.FileMode
		owner *Owner
		want  error
	}{
		"root's":                       {0, 0o755, nil, nil},
		"root's, for the user":         {0, 0o755, user, nil},
		"the user's":                   {12345, 0o755, user, nil},
		"the user's, open to a group":  {12345, 0o775, user, nil},
		"another user's":               {54321, 0o755, user, ErrUnwritable},
		"another user's, without sudo": {54321, 0o755, nil, ErrUnwritable},
		"everybody's":                  {12345, 0o777, user, ErrUnwritable},
		"everybody's, sticky":          {0, 0o777 | os.ModeSticky, user, ErrUnwritable},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "there")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.Chown(dir, test.uid, test.uid), os.Chmod(dir, test.mode)); err != nil {
				t.Fatal(err)
			}
			w, err := Create(dir, Options{Owner: test.owner})
			if !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
			if err == nil {
				closeWriter(t, w)
			}
		})
	}
}

// Between making a directory and giving it away, somebody may put another one in its place.
func TestOnlyWhatWasMadeIsGivenAway(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give directories away")
	}
	owner := &Owner{UID: 12345, GID: 23456}
	for name, test := range map[string]struct {
		uid   int
		full  bool
		given bool
	}{
		"made":             {0, false, true},
		"full":             {0, true, false},
		"of somebody else": {54321, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if test.full {
				if err := os.Mkdir(filepath.Join(dir, "secret"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Chown(dir, test.uid, 0); err != nil {
				t.Fatal(err)
			}
			made, err := os.OpenFile(dir, madeFlags, 0)
			if err != nil {
				t.Fatal(err)
			}
			if err := giveAway(made, owner); (err == nil) != test.given {
				t.Errorf("error %v", err)
			}
			info, err := os.Stat(dir)
			if err != nil {
				t.Fatal(err)
			}
			if uid := info.Sys().(*syscall.Stat_t).Uid; (uid == 12345) != test.given {
				t.Errorf("it belongs to %d", uid)
			}
		})
	}
	file := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(t.TempDir(), file); err != nil {
		t.Fatal(err)
	}
	if f, err := os.OpenFile(file, madeFlags, 0); err == nil {
		_ = f.Close()
		t.Error("a link was followed")
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
