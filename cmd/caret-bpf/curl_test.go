package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/control"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// curl asks a recording over its socket, and returns around which instants of the ground truth's clock.
type curl struct {
	t      *testing.T
	socket string
}

func (c curl) ask(into any, path string, arguments ...string) (before, after uint64) {
	c.t.Helper()
	command := exec.Command("curl", append([]string{"-sS", "--fail-with-body", "--max-time", "60", "--unix-socket", c.socket, "http://recording" + path}, arguments...)...)
	var problems bytes.Buffer
	command.Stderr = &problems
	before = now(c.t)
	out, err := command.Output()
	after = now(c.t)
	if err != nil {
		c.t.Fatalf("%s: %v: %s%s", path, err, out, problems.String())
	}
	if err := json.Unmarshal(out, into); err != nil {
		c.t.Fatalf("%s: %v: %s", path, err, out)
	}
	return before, after
}

// waitFor asks for the status until it is as wanted.
func (c curl) waitFor(what string, reached func(control.Status) bool) {
	c.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		var status control.Status
		if _, err := os.Lstat(c.socket); err != nil && time.Now().Before(deadline) {
			continue // it is not made yet
		}
		if c.ask(&status, "/v1/status"); reached(status) {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("%s: the status is %+v", what, status)
		}
	}
}

// TestASessionByCurl drives a recording by nothing but curl: the dataset agrees with the calls, to the row.
func TestASessionByCurl(t *testing.T) {
	requireRecording(t)
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	node := standin.Start(t, standin.Config{
		Distro: standin.Jazzy, RMW: standin.CycloneDDS, Arguments: strings.Fields("--nodes 2 --topics 2 --rate 100 --threads 2"),
	})
	node.WaitReady()
	folder := t.TempDir()
	c := curl{t, filepath.Join(folder, "recording.sock")}
	dir, copied := filepath.Join(folder, "rec"), filepath.Join(folder, "copy")
	recorder := programCommand("record", "-p", strconv.Itoa(node.PID()), "-o", dir, "--control", c.socket, "--deferred-start")
	var stderr bytes.Buffer
	recorder.Stderr = &stderr
	if err := recorder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = recorder.Process.Kill()
		if _ = recorder.Wait(); t.Failed() {
			t.Logf("the recorder said %s\nthe stand-in said %s", stderr.String(), node.Output())
		}
	})

	c.waitFor("armed", func(s control.Status) bool { return s.State == string(trace.StateArmed) })
	var sources control.Sources
	c.ask(&sources, "/v1/sources")
	if !slices.ContainsFunc(sources.Sources, func(s control.Source) bool { return int(s.PID) == node.PID() && s.Events > 0 }) {
		t.Errorf("the sources are %+v", sources)
	}
	more := func() {
		rows := uint64(0)
		c.waitFor("a status", func(s control.Status) bool {
			rows = s.Rows[trace.TableCallback]
			return true
		})
		c.waitFor("more rows", func(s control.Status) bool { return s.Rows[trace.TableCallback] >= rows+100 })
	}
	var status control.Status
	starting, started := c.ask(&status, "/v1/start", "-X", "POST")
	more()
	var settings control.Settings
	filtering, filtered := c.ask(&settings, "/v1/settings", "-d", `{"ignore_nodes": ["standin0$"]}`)
	if !slices.Equal(settings.IgnoreNodes, []string{"standin0$"}) {
		t.Errorf("the settings are %+v", settings)
	}
	more()
	flushing, _ := c.ask(&status, "/v1/flush", "-X", "POST")
	flushed := endedBefore(t, dir, flushing)
	more()
	var snapshot control.Snapshot
	copying, _ := c.ask(&snapshot, "/v1/snapshot", "-d", `{"output": "`+copied+`", "reason": "a test"}`)
	more()
	stopping, _ := c.ask(&status, "/v1/stop", "-X", "POST")
	if err := recorder.Wait(); err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}

	data, truth := oracle.ReadDataset(t, dir), oracle.NewTruth(t, node.Stop())
	oracle.RequirePhases(t, data, truth, []oracle.Phase{
		{From: started, To: filtering}, {From: filtered, To: stopping, Drops: func(node string) bool { return strings.HasSuffix(node, "standin0") }},
	})
	for _, row := range data.Callbacks {
		if at := uint64(row.CallbackStartTimestamp.Value - data.Session.Clock.RealtimeOffset); at < starting {
			t.Fatalf("a callback is there that began %d ns before the start", starting-at)
		}
	}
	if all := endedBefore(t, dir, flushing); flushed != all || all == 0 {
		t.Errorf("after the flush %d callbacks were on disk, in the end there are %d of that time", flushed, all)
	}
	if part, all := endedBefore(t, copied, copying), endedBefore(t, dir, copying); part != all || snapshot.Output != copied {
		t.Errorf("the snapshot %s has %d callbacks, the recording %d of that time", snapshot.Output, part, all)
	}
	if count, err := countCallbacks(t, copied); err != nil || count != snapshot.Rows[trace.TableCallback] {
		t.Errorf("the snapshot has %d callbacks, and %d were told, %v", count, snapshot.Rows[trace.TableCallback], err)
	}
	if data.Session.Ending != trace.EndingRequest || len(data.Session.Changes) != 1 {
		t.Errorf("it ended by %s, with changes %v", data.Session.Ending, data.Session.Changes)
	}
}

func countCallbacks(t *testing.T, dir string) (uint64, error) {
	d, err := trace.Open(dir)
	if err != nil {
		return 0, err
	}
	return trace.Count(t.Context(), d, trace.TableCallback)
}

// endedBefore counts the callbacks that are on disk and ended before an instant of the ground truth's clock.
func endedBefore(t *testing.T, dir string, instant uint64) (count int) {
	t.Helper()
	d, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	at := int64(instant) + d.Session().Clock.RealtimeOffset
	err = trace.Scan(context.Background(), d, trace.TableCallback, func(rows []trace.Callback) error {
		for _, row := range rows {
			if end := row.CallbackEndTimestamp; end.Valid && end.Value < at {
				count++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return count
}
