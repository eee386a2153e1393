package browser

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
	"github.com/caret-bpf/caret-bpf/writer"
)

// synthetic makes a dataset of so many callbacks of 16 chains of nodes.
func synthetic(t testing.TB, callbacks int) (dataset string) {
	t.Helper()
	return written(t, func(write func(*trace.Batch) error) error {
		entities, err := tracetest.System(callbacks, write)
		if err != nil {
			return err
		}
		return write(entities)
	})
}

// written makes a dataset.
func written(t testing.TB, rows func(write func(*trace.Batch) error) error) (dataset string) {
	t.Helper()
	dataset = filepath.Join(t.TempDir(), "dataset")
	w, err := writer.Create(dataset, writer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	session := trace.NewSession()
	session.Host.Name = "host"
	session.Ending = trace.EndingDuration
	session.Enter(trace.StateStopped, time.Now())
	for _, err := range []error{rows(w.Write), w.WriteSession(session), w.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return dataset
}

// recorded records a stand-in of ten nodes, one of which is late now and then.
func recorded(t testing.TB, flags ...string) (dataset string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("recording needs root")
	}
	pipeline, err := filepath.Abs(filepath.Join(root, "build/testdata/jazzy/pipeline"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(pipeline); err != nil {
		t.Skip(err)
	}
	dataset = filepath.Join(t.TempDir(), "dataset")
	arguments := append([]string{"record", "--duration", "4s", "-o", dataset}, flags...)
	command := exec.Command(program, append(arguments, "--", pipeline)...)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("recording: %v\n%s", err, output)
	}
	return dataset
}
