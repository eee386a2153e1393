package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/export/ctf/ctftest"
	"github.com/caret-bpf/caret-bpf/export/perfetto/perfettotest"
)

// tracesIn are the files of a folder.
func tracesIn(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// A trace replaces what was there, and has what the flags ask for.
func TestExportPerfetto(t *testing.T) {
	dir := drawnDataset(t)
	path := filepath.Join(t.TempDir(), "trace.pftrace")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		flags     []string
		callbacks int
		ways      bool
	}{
		"all":               {nil, 26, false},
		"deflated":          {[]string{"--compression", "deflate"}, 26, false},
		"of a node":         {[]string{"--node", "/filter"}, 9, false},
		"of the first half": {[]string{"--to-time", "450ms"}, 12, false},
		"with a path":       {[]string{"--from", "/points", "--to", "/objects"}, 26, true},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, problems := runCommand(append([]string{"export", "perfetto", dir, "-o", path}, test.flags...)...)
			if code != exitSuccess || out != "" || !strings.Contains(problems, "wrote "+path) {
				t.Fatalf("exit code %d, %q, %q", code, out, problems)
			}
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			decoded, err := perfettotest.Decode(content)
			if err != nil {
				t.Fatal(err)
			}
			callbacks, ways := 0, false
			for _, s := range decoded.Slices {
				if s.Category == "callback" {
					callbacks++
				}
				ways = ways || s.Category == "path"
			}
			if callbacks != test.callbacks || ways != test.ways {
				t.Errorf("%d callbacks, ways: %v", callbacks, ways)
			}
			if left := tracesIn(t, filepath.Dir(path)); len(left) != 1 {
				t.Errorf("there are %v", left)
			}
		})
	}
	piped := bytes.Buffer{}
	if err := run(t.Context(), newConsole(&piped, io.Discard, os.Getenv), []string{"export", "perfetto", dir, "-o", "-"}); err != nil {
		t.Fatal(err)
	}
	if _, err := perfettotest.Decode(piped.Bytes()); err != nil || piped.Len() == 0 {
		t.Errorf("standard output gets %d bytes: %v", piped.Len(), err)
	}
}

// What cannot be answered leaves no file, and what was there as it was.
func TestExportPerfettoFails(t *testing.T) {
	dir, folder := drawnDataset(t), t.TempDir()
	path := filepath.Join(folder, "trace.pftrace")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		arguments []string
		code      int
		says      string
	}{
		"no file":             {[]string{dir}, exitUsage, "-o"},
		"no dataset":          {[]string{"-o", path}, exitUsage, "one dataset"},
		"two datasets":        {[]string{dir, dir, "-o", path}, exitUsage, "one dataset"},
		"another compression": {[]string{dir, "-o", path, "--compression", "lzma"}, exitUsage, "zstd, deflate or none"},
		"a wrong expression":  {[]string{dir, "-o", path, "--node", "("}, exitUsage, "--node"},
		"no such node":        {[]string{dir, "-o", path, "--node", "/fliter"}, exitNoTarget, `did you mean "/filter"`},
		"no such path":        {[]string{dir, "-o", path, "--from", "/points", "--to", "/nowhere"}, exitUsage, "/nowhere"},
		"no such folder":      {[]string{dir, "-o", filepath.Join(folder, "missing", "t")}, exitOutput, "missing"},
		"states of nodes":     {[]string{dir, "-o", path, "--task-states", "--node", "/filter"}, exitUsage, "--task-states"},
		"states of nothing":   {[]string{dir, "-o", path, "--task-states"}, exitNoTarget, "record --sched=full"},
		"not a dataset":       {[]string{folder, "-o", path}, exitDataset, folder},
		"nothing of the time": {[]string{dir, "-o", path, "--from-time", "1h"}, exitUsage, "nothing of the recording"},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, problems := runCommand(append([]string{"export", "perfetto"}, test.arguments...)...)
			if code != test.code || !strings.Contains(problems, test.says) {
				t.Errorf("exit code %d, want %d: %s", code, test.code, problems)
			}
		})
	}
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	if code := execute(interrupted, newConsole(io.Discard, io.Discard, os.Getenv), []string{"export", "perfetto", dir, "-o", path}); code != exitInterrupted {
		t.Errorf("interrupted: exit code %d", code)
	}
	if content, err := os.ReadFile(path); string(content) != "old" || len(tracesIn(t, folder)) != 1 {
		t.Errorf("there are %v, %q, %v", tracesIn(t, folder), content, err)
	}
}

// A large trace is warned of once.
func TestExportPerfettoWarnsOfItsSize(t *testing.T) {
	warned := 0
	w := &sizeWarner{out: io.Discard, left: 10, warn: func() { warned++ }}
	for i, want := range []int{0, 0, 1, 1, 1} {
		if _, err := w.Write([]byte("12345")); err != nil || warned != want {
			t.Errorf("after %d bytes: warned %d times, %v", 5*(i+1), warned, err)
		}
	}
}

// Names may be anything.
func TestExportPerfettoOfHostileNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace")
	code, _, problems := runCommand("export", "perfetto", hostileDataset(t), "-o", path)
	content, err := os.ReadFile(path)
	if code != exitSuccess || err != nil {
		t.Fatalf("exit code %d, %v: %s", code, err, problems)
	}
	checkPrinted(t, problems)
	if _, err := perfettotest.Decode(content); err != nil {
		t.Error(err)
	}
}

// A trace is a directory that is made, and has what the flags ask for.
func TestExportCTF(t *testing.T) {
	dir := drawnDataset(t)
	for name, test := range map[string]struct {
		flags     []string
		callbacks int
	}{
		"all":               {nil, 26},
		"of the first half": {[]string{"--to-time", "450ms"}, 12},
		"of nobody":         {[]string{"-p", "1"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "trace")
			code, out, problems := runCommand(append([]string{"export", "ctf", dir, "-o", path}, test.flags...)...)
			if code != exitSuccess || out != "" || !strings.Contains(problems, "wrote "+path) {
				t.Fatalf("exit code %d, %q, %q", code, out, problems)
			}
			read, err := ctftest.Read(path)
			if err != nil {
				t.Fatal(err)
			}
			callbacks := 0
			for i := range read.Events {
				if read.Events[i].Name == "ros2:callback_start" {
					callbacks++
				}
			}
			if callbacks != test.callbacks || (callbacks == 0) != strings.Contains(problems, "no event was recorded") {
				t.Errorf("%d callbacks, want %d: %s", callbacks, test.callbacks, problems)
			}
		})
	}
}

// What cannot be answered leaves no directory, and what was there as it was.
func TestExportCTFFails(t *testing.T) {
	dir, folder := drawnDataset(t), t.TempDir()
	path := filepath.Join(folder, "trace")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		arguments []string
		code      int
		says      string
	}{
		"no directory":        {[]string{dir}, exitUsage, "-o"},
		"no dataset":          {[]string{"-o", path}, exitUsage, "one dataset"},
		"two datasets":        {[]string{dir, dir, "-o", path}, exitUsage, "one dataset"},
		"it is there":         {[]string{dir, "-o", folder}, exitOutput, "there is something already"},
		"below a file":        {[]string{dir, "-o", filepath.Join(file, "t")}, exitOutput, "file"},
		"not a dataset":       {[]string{folder, "-o", path}, exitDataset, folder},
		"nothing of the time": {[]string{dir, "-o", path, "--from-time", "1h"}, exitUsage, "nothing of the recording"},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, problems := runCommand(append([]string{"export", "ctf"}, test.arguments...)...)
			if code != test.code || !strings.Contains(problems, test.says) {
				t.Errorf("exit code %d, want %d: %s", code, test.code, problems)
			}
		})
	}
	if left := tracesIn(t, folder); len(left) != 0 {
		t.Errorf("there are %v", left)
	}
}

// Names may be anything.
func TestExportCTFOfHostileNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace")
	code, _, problems := runCommand("export", "ctf", hostileDataset(t), "-o", path)
	if code != exitSuccess {
		t.Fatalf("exit code %d: %s", code, problems)
	}
	checkPrinted(t, problems)
	if _, err := ctftest.Read(path); err != nil {
		t.Error(err)
	}
}
