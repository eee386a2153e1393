package browser

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// systemBegin is when a synthetic system begins, in Unix nanoseconds.
const systemBegin = int64(1_760_000_000_000_000_000)

// scheduled is a synthetic dataset that tells where the time went, but for every seventh callback, as a recording with
// `--sched=full` does.
func scheduled(t testing.TB, callbacks int, losses ...trace.Loss) (dataset string) {
	t.Helper()
	return written(t, func(write func(*trace.Batch) error) error {
		made := 0
		entities, err := tracetest.System(callbacks, func(rows *trace.Batch) error {
			for i := range rows.Callbacks {
				if made++; made%7 > 0 {
					interrupt(rows, &rows.Callbacks[i], []string{"hog", "logger"}[made%2])
				}
			}
			return write(rows)
		})
		if err != nil {
			return err
		}
		entities.Losses = losses
		return write(entities)
	})
}

// interrupt has a command take the CPU of a callback, which waits for something later.
func interrupt(rows *trace.Batch, row *trace.Callback, command string) {
	start := row.CallbackStartTimestamp.Value
	duration := row.CallbackEndTimestamp.Value - start
	preempted, blocked, wakeup := duration/4, duration/5, duration/20
	tracetest.SetParts(row, duration-preempted-blocked-wakeup, preempted, blocked, wakeup, 1, 0)
	off := trace.Sched{
		ProcessKey: row.ProcessKey, TID: row.TID, Kind: trace.SchedPreempted, SchedOutTimestamp: start + duration/10, OtherCommand: command,
		Callback: row.Callback, CallbackStartTimestamp: row.CallbackStartTimestamp,
	}
	off.SchedInTimestamp = off.SchedOutTimestamp + preempted
	wait := off
	wait.Kind, wait.OtherCommand, wait.SchedOutTimestamp = trace.SchedBlocked, "waker", start+duration/2
	wait.WakingTimestamp = trace.Some(wait.SchedOutTimestamp + blocked)
	wait.SchedInTimestamp = wait.WakingTimestamp.Value + wakeup
	rows.Scheds = append(rows.Scheds, off, wait)
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
	pipeline, err := filepath.Abs(filepath.Join(root, "build/testdata/jazzy/pipeline"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(pipeline); err != nil {
		t.Skip(err)
	}
	dataset = filepath.Join(t.TempDir(), "dataset")
	command := asRoot(t, slices.Concat([]string{program, "record", "--duration", "4s", "-o", dataset}, flags, []string{"--", pipeline})...)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("recording: %v\n%s", err, output)
	}
	return dataset
}

// asRoot is a command as root: by sudo, if it asks for no password.
func asRoot(t testing.TB, arguments ...string) *exec.Cmd {
	t.Helper()
	if os.Getuid() != 0 {
		if err := exec.Command("sudo", "-n", "true").Run(); err != nil {
			t.Skip("recording needs root, or sudo without a password")
		}
		arguments = append([]string{"sudo", "-n"}, arguments...)
	}
	return exec.Command(arguments[0], arguments[1:]...)
}
