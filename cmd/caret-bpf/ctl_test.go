package main

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/control"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// A recording is asked, flushed and stopped by ctl, and is whole.
func TestCtl(t *testing.T) {
	requireRecording(t)
	node := standin.Start(t, standin.Config{Distro: standin.Jazzy, RMW: standin.CycloneDDS, Arguments: []string{"--rate", "100"}})
	node.WaitReady()
	folder := t.TempDir()
	socket, dir := filepath.Join(folder, "recording.sock"), filepath.Join(folder, "rec")
	recorder := programCommand("record", "-p", strconv.Itoa(node.PID()), "-o", dir, "--control", socket)
	var stderr bytes.Buffer
	recorder.Stderr = &stderr
	if err := recorder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = recorder.Process.Kill() })
	var status control.Status
	for deadline := time.Now().Add(time.Minute); status.State != string(trace.StateRecording) || status.Rows[trace.TableCallback] < 20; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it does not record: %+v\n%s", status, stderr.String())
		}
		if code, out, _ := runCommand("ctl", "status", "--json", "--socket", socket); code == exitSuccess {
			if err := json.Unmarshal([]byte(out), &status); err != nil {
				t.Fatal(err)
			}
		}
	}
	if status.PID != recorder.Process.Pid || status.Output != dir || status.Processes != 1 {
		t.Errorf("the status is %+v", status)
	}
	if code, out, problems := runCommand("ctl", "flush", "--socket", socket); code != exitSuccess || !strings.Contains(out, "1 processes") {
		t.Errorf("flush: exit code %d: %s%s", code, out, problems)
	}
	if segments, err := filepath.Glob(filepath.Join(dir, trace.TableCallback, "0*.parquet")); err != nil || len(segments) == 0 {
		t.Errorf("no segment is closed: %v, %v", segments, err)
	}
	verifyLive(t, socket, folder)
	if code, _, problems := runCommand("ctl", "stop", "--socket", socket); code != exitSuccess {
		t.Errorf("stop: exit code %d: %s", code, problems)
	}
	if err := recorder.Wait(); err != nil {
		t.Errorf("%v: %s", err, stderr.String())
	}
	d, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Session().Ending; got != trace.EndingRequest {
		t.Errorf("it ended by %s", got)
	}
	if code, _, problems := runCommand("ctl", "status", "--socket", socket); code != exitNoTarget || !strings.Contains(problems, socket) {
		t.Errorf("after the end: exit code %d: %s", code, problems)
	}
}

// verifyLive holds a recording that goes on against expectations, and requires that nothing of the copy is left.
func verifyLive(t *testing.T, socket, folder string) {
	t.Helper()
	for text, want := range map[string]int{
		"complete: true\nexpectations: [{of: callback, at-least: {count: 1}}]": exitSuccess,
		"expectations: [{of: callback, at-least: {count: 1e9}}]":               exitDiffers,
	} {
		file := filepath.Join(t.TempDir(), "expect.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, out, problems := runCommand("verify", "--live", "--socket", socket, "-e", file); code != want || !strings.Contains(out, "checks are met") {
			t.Errorf("verify --live: exit code %d: %s%s", code, out, problems)
		}
	}
	if left, err := filepath.Glob(filepath.Join(folder, ".caret-bpf*")); err != nil || len(left) > 0 {
		t.Errorf("verify --live leaves %v, %v", left, err)
	}
}

func TestControlSocketIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, problems := runCommand("record", "--all", "--control", file, "-o", filepath.Join(t.TempDir(), "rec"))
	if code != exitOutput || !strings.Contains(problems, file) {
		t.Errorf("exit code %d: %s", code, problems)
	}
}

// Sockets that ctl finds by itself: those of killed recorders are gone when the next one has begun.
func TestControlAuto(t *testing.T) {
	folder := t.TempDir()
	c := newConsole(new(bytes.Buffer), new(bytes.Buffer), func(name string) string { return map[string]string{"XDG_RUNTIME_DIR": folder}[name] })
	c.rootsSockets = filepath.Join(folder, "caret-bpf")
	left := filepath.Join(folder, "caret-bpf", "4194305.sock")
	if err := os.Mkdir(filepath.Dir(left), 0o700); err != nil {
		t.Fatal(err)
	}
	abandoned, err := net.ListenUnix("unix", &net.UnixAddr{Name: left, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	abandoned.SetUnlinkOnClose(false)
	if err := abandoned.Close(); err != nil {
		t.Fatal(err)
	}
	listener, err := listenForControl(c, automatic)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	if found := c.findSockets(); len(found) != 1 || found[0] != c.socketOf(os.Getpid()) {
		t.Errorf("the sockets are %v", found)
	}
}
