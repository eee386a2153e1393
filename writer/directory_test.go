package writer

import (
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
