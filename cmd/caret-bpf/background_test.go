package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

func TestWithoutBackground(t *testing.T) {
	for line, want := range map[string]string{
		"record --background-wait --all":                "record --all",
		"record --all --background-wait=true":           "record --all",
		"record --all -- node --background-wait":        "record --all -- node --background-wait",
		"record --background-wait -- --background-wait": "record -- --background-wait",
		"record --background --all":                     "record --background --all",
	} {
		if got := withoutBackground(strings.Fields(line)); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s becomes %v", line, got)
		}
	}
}

// The program returns when everything is recorded, and the recording goes on until it is stopped.
func TestBackgroundWait(t *testing.T) {
	requireRecording(t)
	node := standin.Start(t, standin.Config{Distro: standin.Jazzy, RMW: standin.CycloneDDS, Arguments: []string{"--rate", "100"}})
	node.WaitReady()
	folder := t.TempDir()
	socket, dir := filepath.Join(folder, "recording.sock"), filepath.Join(folder, "rec")
	c := programCommand("record", "-p", strconv.Itoa(node.PID()), "-o", dir, "--control", socket, "--background-wait")
	var stdout bytes.Buffer
	c.Stdout = &stdout
	if code, problems := runProgram(t, c); code != exitSuccess || !strings.Contains(problems, "recording to") {
		t.Fatalf("exit code %d: %s", code, problems)
	}
	words := strings.Fields(stdout.String())
	if len(words) < 5 || words[0] != "PID" || words[4] != dir+";" {
		t.Fatalf("it says %q", stdout.String())
	}
	recorder, err := strconv.Atoi(words[1])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(recorder, syscall.SIGKILL) })
	if code, out, problems := runCommand("ctl", "flush", "--socket", socket); code != exitSuccess || !strings.Contains(out, "PID "+words[1]+" ") {
		t.Errorf("flush: exit code %d: %s%s", code, out, problems)
	}
	if code, _, problems := runCommand("ctl", "stop", "--socket", socket); code != exitSuccess {
		t.Errorf("stop: exit code %d: %s", code, problems)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Lstat(socket); err != nil {
			break // it goes when the recording has ended
		}
		if time.Now().After(deadline) {
			t.Fatal("it does not end")
		}
	}
	d, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Session().Ending; got != trace.EndingRequest {
		t.Errorf("it ended by %s", got)
	}
}

// What keeps a recording from its beginning is said, with its exit code.
func TestBackgroundWaitFails(t *testing.T) {
	requireRoot(t)
	requireHostProcessIDs(t)
	c := programCommand("record", "-p", "4194305", "-o", filepath.Join(t.TempDir(), "rec"), "--control", filepath.Join(t.TempDir(), "s"), "--background-wait")
	if code, problems := runProgram(t, c); code != exitNoTarget || !strings.Contains(problems, "4194305") {
		t.Errorf("exit code %d: %s", code, problems)
	}
}
