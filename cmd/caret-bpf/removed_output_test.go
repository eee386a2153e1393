package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/test/standin"
)

// Where somebody removes what is recorded, the program says so, and ends as where it cannot write.
func TestRemovedOutputIsTold(t *testing.T) {
	requireRecording(t)
	node := standin.StartReady(t, standin.Config{Distro: standin.Jazzy, RMW: standin.CycloneDDS, Arguments: []string{"--rate", "50"}})
	output := filepath.Join(t.TempDir(), "recording")
	r := startRecorder(t, "-p", fmt.Sprint(node.PID()), "-o", output, "--segment-period", "1s")
	r.waitFor("recording to")
	for deadline := time.Now().Add(time.Minute); ; { // the recorder may make something meanwhile
		err := os.RemoveAll(output)
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	r.waitFor("somebody has removed it")
	if said := r.said.Text(); !strings.Contains(said, output) {
		t.Errorf("it does not say what was removed: %s", said)
	}
	if code := r.exitCode(); code != exitOutput {
		t.Errorf("exit code %d", code)
	}
	node.Stop()
}
