package recording

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/groundtruth"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// requireProcessRows requires that every process key of every table has a row in the table of processes.
func requireProcessRows(t *testing.T, data *oracle.Dataset) {
	t.Helper()
	known := map[trace.ProcessKey]bool{}
	for _, row := range data.Processes {
		known[row.ProcessKey] = true
	}
	for field, table := range reflect.ValueOf(data).Elem().Fields() {
		if table.Kind() != reflect.Slice {
			continue
		}
		for i := range table.Len() {
			column := table.Index(i).FieldByName("ProcessKey")
			if !column.IsValid() {
				break // losses and clocks are of no process
			}
			if key := column.Interface().(trace.ProcessKey); !known[key] {
				t.Errorf("%s: %+v is in no row of the processes", field.Name, key)
				known[key] = true // once is enough
			}
		}
	}
}

// hasty are flags of a stand-in that begins to publish and ends at once.
const hasty = "--rate 0 --duration 0.001"

// TestProcessExitsAtOnce records processes that are over before anybody looks at them. What they did is there, with
// their rows.
func TestProcessExitsAtOnce(t *testing.T) {
	requireRecording(t)
	t.Run("all", func(t *testing.T) {
		// Its libraries are probed for every process.
		n := startReadyNode(t, oneLayout, "--rate 20")
		r := record(t, session.Configuration{All: true})
		r.waitForRows(trace.TablePublish, 1)
		var brief []*groundtruth.Truth
		for range 5 {
			brief = append(brief, startNode(t, oneLayout, hasty).Wait())
		}
		data := r.stop()
		n.stop()
		for _, truth := range brief {
			requireBriefProcess(t, data, truth)
		}
	})
	t.Run("command", func(t *testing.T) {
		t.Setenv("LD_LIBRARY_PATH", standin.Directory(t, oneLayout.distro, false))
		t.Setenv("RMW_IMPLEMENTATION", oneLayout.rmw)
		command, truth := standin.Command(t, standin.Config{Distro: oneLayout.distro, RMW: oneLayout.rmw, Arguments: strings.Fields(hasty)})
		// Each runs in a child of the shell's.
		script := filepath.Join(t.TempDir(), "brief.sh")
		text := fmt.Sprintf("for i in 1 2 3; do %s; done\n", strings.Join(command.Args, " "))
		if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r := record(t, session.Configuration{Command: []string{"env", "sh", script}})
		data := r.wait()
		requireBriefProcess(t, data, readTruth(t, truth).Truth)
	})
}

// requireBriefProcess requires publishes of a process, unless it was too slow for any, and the last row of it to tell
// its name and that it has ended.
func requireBriefProcess(t *testing.T, data *oracle.Dataset, truth *groundtruth.Truth) {
	t.Helper()
	pid, publishes := truth.Header.PID, 0
	for _, row := range data.Publishes {
		if int(row.PID) == pid {
			publishes++
		}
	}
	if publishes == 0 && len(truth.Publishes) > 0 {
		t.Errorf("PID %d has no publishes", pid)
	}
	var last *trace.Process
	for i := range data.Processes {
		if int(data.Processes[i].PID) == pid {
			last = &data.Processes[i]
		}
	}
	if last == nil || !last.Exited || last.Command != "ros_node" {
		t.Errorf("PID %d: %+v", pid, last)
	}
}
