package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// Each SIGUSR1 makes a snapshot of all that was recorded before it, and the recording goes on.
func TestSnapshotAtASignal(t *testing.T) {
	requireRecording(t)
	node := standin.StartReady(t, standin.Config{Distro: standin.Jazzy, RMW: standin.CycloneDDS, Arguments: []string{"--rate", "100"}})
	r := newRecordedBy(t, os.Geteuid(), "-p", fmt.Sprint(node.PID()), "--ring", "1h")
	r.start()
	r.waitFor("recording in memory")
	phase := oracle.Phase{From: now(t)}
	var ends []uint64
	for i := range uint64(2) {
		r.awaitCallbacks((i + 1) * recordedRows)
		ends = append(ends, now(t))
		r.signal(syscall.SIGUSR1)
		r.waitFor("SIGUSR1: snapshot in " + r.output)
	}
	r.signal(syscall.SIGINT)
	if code := r.exitCode(); code != exitSuccess {
		t.Errorf("exit code %d", code)
	}
	truth := oracle.NewTruth(t, node.Stop())
	made, err := filepath.Glob(filepath.Join(r.output, "*")) // in the order of time
	if err != nil || len(made) != len(ends) {
		t.Fatalf("there are %v, %v", made, err)
	}
	for i, dir := range made {
		data := oracle.ReadDataset(t, dir)
		if of := data.Session.Snapshot; of == nil || of.Reason != "SIGUSR1" || data.Session.Ending != trace.EndingSnapshot {
			t.Errorf("%s: %+v, ended by %s", dir, of, data.Session.Ending)
		}
		phase.To = ends[i]
		oracle.RequirePhases(t, data, truth, []oracle.Phase{phase})
	}
}
