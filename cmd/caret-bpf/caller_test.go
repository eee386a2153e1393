package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// folderOf is a user's folder, which everybody can reach.
func folderOf(t *testing.T, user int, mode os.FileMode) string {
	t.Helper()
	folder := t.TempDir()
	if err := errors.Join(os.Chmod(filepath.Dir(folder), 0o755), os.Chown(folder, user, user), os.Chmod(folder, mode)); err != nil {
		t.Fatal(err)
	}
	return folder
}

// bySudo is the program as sudo starts it for nobody.
func bySudo(arguments ...string) *exec.Cmd {
	c := programCommand(arguments...)
	c.Env = append(c.Env, fmt.Sprint("SUDO_UID=", nobody), fmt.Sprint("SUDO_GID=", nobody))
	return c
}

// owned are the permissions of all in a folder, by path. All must belong to nobody.
func owned(t *testing.T, folder string) map[string]os.FileMode {
	t.Helper()
	found := make(map[string]os.FileMode)
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == folder {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if stat := info.Sys().(*syscall.Stat_t); stat.Uid != nobody || stat.Gid != nobody {
			t.Errorf("%s belongs to %d:%d", path, stat.Uid, stat.Gid)
		}
		found[strings.TrimPrefix(path, folder+"/")] = info.Mode()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Who records by sudo gets a dataset that is his alone and his group's, or what he asked for, and the summary of it.
func TestRecordingBySudo(t *testing.T) {
	requireRecording(t)
	node := standin.StartReady(t, standin.Config{Distro: standin.Jazzy, RMW: standin.CycloneDDS, Arguments: []string{"--rate", "50"}})
	for mode, want := range map[string][2]os.FileMode{"": {0o640, 0o750}, "0644": {0o644, 0o755}, "600": {0o600, 0o700}} {
		home := folderOf(t, nobody, 0o700)
		arguments := []string{"record", "-p", fmt.Sprint(node.PID()), "-d", "300ms", "-o", filepath.Join(home, "new", "recording")}
		if mode != "" {
			arguments = append(arguments, "--mode", mode)
		}
		var printed bytes.Buffer
		c := bySudo(arguments...)
		c.Stdout = &printed
		if code, problems := runProgram(t, c); code != exitSuccess || !strings.Contains(printed.String(), "complete (ended by duration)") {
			t.Fatalf("exit code %d: %s, %s", code, problems, printed.String())
		}
		found := owned(t, home)
		for path, got := range found {
			if got.IsDir() && got.Perm() != want[1] || !got.IsDir() && got.Perm() != want[0] {
				t.Errorf("mode %q: %s is %v", mode, path, got)
			}
		}
		if len(found) < 10 || found["new/recording/"+trace.SessionFile] == 0 {
			t.Errorf("there are %v", found)
		}
	}
	node.Stop()
}

// What the caller may not write to stays as it is, and he is told so.
func TestOutputWhereTheCallerMayNotWrite(t *testing.T) {
	requireRoot(t)
	dataset := folderOf(t, 0, 0o755)
	tracetest.AddSession(t, dataset, trace.NewSession())
	tracetest.AddSegment(t, dataset, 0, tracetest.Random[trace.Callback](3, 1))
	files := len(list(t, dataset))
	secret, home := folderOf(t, 0, 0o755), folderOf(t, nobody, 0o755)
	if err := os.Symlink(secret, filepath.Join(home, "link")); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		arguments []string
		recording bool
	}{
		"a recording":                {[]string{"record", "-o", secret + "/recording", "--", "true"}, true},
		"a recording behind a link":  {[]string{"record", "-o", home + "/link/recording", "--", "true"}, true},
		"a recording in root's":      {[]string{"record", "-o", secret, "--", "true"}, true},
		"views":                      {[]string{"sql", dataset, "--write"}, false},
		"a Parquet file":             {[]string{"latency", "callback", dataset, "--parquet", secret + "/file"}, false},
		"a Parquet file by a link":   {[]string{"latency", "callback", dataset, "--parquet", home + "/link/file"}, false},
		"the Parquet file of info":   {[]string{"info", dataset, "--part", "tables", "--parquet", secret + "/file"}, false},
		"a drawing":                  {[]string{"latency", "callback", dataset, "--histogram", "--svg", secret + "/file"}, false},
		"a Parquet file of no other": {[]string{"frequency", dataset, "--parquet", "/dev/stdout"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if test.recording {
				requireRecording(t)
			}
			code, problems := runProgram(t, bySudo(test.arguments...))
			if code != exitOutput || !strings.Contains(problems, "denied for user nobody (UID 65534 of SUDO_UID)") || test.recording && !strings.Contains(problems, "choose another directory with -o") {
				t.Errorf("exit code %d: %s", code, problems)
			}
			if found := list(t, secret); len(found) > 0 {
				t.Errorf("left are %v", found)
			}
			if found := list(t, dataset); len(found) != files {
				t.Errorf("the dataset has %v", found)
			}
		})
	}
}

func list(t *testing.T, folder string) []os.DirEntry {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// Files that other commands write are the caller's, too; who may read a dataset may read its views.
func TestFilesOfSudo(t *testing.T) {
	requireRoot(t)
	home := folderOf(t, nobody, 0o700)
	dataset := filepath.Join(home, "dataset")
	tracetest.AddSegment(t, dataset, 0, tracetest.Random[trace.Callback](3, 1))
	tracetest.AddSession(t, dataset, trace.NewSession())
	err := filepath.WalkDir(home, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, nobody, nobody))
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o600, 0o640, 0o644, 0o666} {
		if err := os.Chmod(filepath.Join(dataset, trace.SessionFile), mode); err != nil {
			t.Fatal(err)
		}
		for _, arguments := range [][]string{{"sql", dataset, "--write"}, {"latency", "callback", dataset, "--parquet", home + "/file"}} {
			if code, problems := runProgram(t, bySudo(arguments...)); code != exitSuccess {
				t.Fatalf("%v: exit code %d: %s", arguments, code, problems)
			}
		}
		found := owned(t, home)
		if found["dataset/views.sql"] != mode&0o644 || found["file"] != 0o640 || len(found) != 6 {
			t.Errorf("with mode %o: %v", mode, found)
		}
	}
}

// A calibration by sudo is kept where the caller finds it, whatever HOME says, and by his rights.
func TestCalibrationOfTheCaller(t *testing.T) {
	requireRoot(t)
	c := newConsole(new(bytes.Buffer), new(bytes.Buffer), func(name string) string {
		return map[string]string{"HOME": "/root", "SUDO_UID": fmt.Sprint(nobody), "SUDO_GID": fmt.Sprint(nobody)}[name]
	})
	account := c.caller.Account()
	if account == nil {
		t.Skip("nobody is not known")
	}
	if folder, err := cacheFolder(c.getenv, c.caller); err != nil || folder != filepath.Join(account.HomeDir, ".cache", "caret-bpf") {
		t.Errorf("%s, %v", folder, err)
	}
	c.caller.User = 3999999999
	if folder, err := cacheFolder(c.getenv, c.caller); !errors.Is(err, errNoCacheFolder) {
		t.Errorf("of a user who is not known: %s, %v", folder, err)
	}
}

// Nobody but its owner may write to a recording.
func TestModesThatAreRefused(t *testing.T) {
	for _, mode := range []string{"0660", "0646", "0777", "0755", "0400", "0044", "4644", "0", "-1", "640x", "u=rw", "99999999999999999999"} {
		code, _, problems := runCommand("record", "--all", "-o", t.TempDir()+"/recording", "--mode", mode)
		if code != exitUsage || !strings.Contains(problems, "0600, 0640 or 0644") {
			t.Errorf("%s: exit code %d: %s", mode, code, problems)
		}
	}
}
