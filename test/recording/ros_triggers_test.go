package recording

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/trace"
)

// held is a program's output that can be kept from being read: what the program then says, in a callback for example,
// takes as long.
type held struct {
	output *os.File // for the program
	// read and fill do not wait.
	read, fill int
}

const pipeSize = 4096

func newHeld(t *testing.T) *held {
	t.Helper()
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	h := &held{output: os.NewFile(uintptr(ends[1]), "output")}
	t.Cleanup(func() { _, _ = h.output.Close(), unix.Close(ends[0]) })
	if _, err := unix.FcntlInt(uintptr(ends[1]), unix.F_SETPIPE_SZ, pipeSize); err != nil {
		t.Fatal(err)
	}
	for _, end := range []struct {
		number, flags int
		into          *int
	}{{ends[0], unix.O_RDONLY, &h.read}, {ends[1], unix.O_WRONLY, &h.fill}} {
		again, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", end.number), end.flags|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Close(again) })
		*end.into = again
	}
	return h
}

// drain reads what the program has said, and lets it go on.
func (h *held) drain() {
	for buffer := make([]byte, pipeSize); ; {
		if n, err := unix.Read(h.read, buffer); err != nil || n == 0 {
			return
		}
	}
}

// block has the program wait when it says something, until drain is called.
func (h *held) block() {
	for {
		if _, err := unix.Write(h.fill, []byte{'x'}); err != nil {
			return
		}
	}
}

// TestROSTriggers: a callback of a stock program that is slow because nobody reads what it says, a topic that falls
// silent and a process that is killed each make a snapshot. Each holds what a recording beside it has of the seconds
// before and after, row by row, and only these.
func TestROSTriggers(t *testing.T) {
	forEachROS(t, func(t *testing.T, ros rosEnvironment) {
		output := newHeld(t)
		listener := ros.command(t, "demo_nodes_cpp", "listener")
		listener.Stdout, listener.Stderr = output.output, output.output
		if err := listener.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = listener.Process.Kill(), listener.Wait() })
		talker := ros.command(t, "demo_nodes_cpp", "talker")
		if err := talker.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = talker.Process.Kill(), talker.Wait() })
		time.Sleep(4 * time.Second)
		output.drain()
		pids := fmt.Sprint(listener.Process.Pid, " ", talker.Process.Pid)
		whole := record(t, session.Configuration{PIDs: pids})
		r := record(t, session.Configuration{PIDs: pids, RingAge: 20 * time.Second, Triggers: []string{
			"callback over=500ms node=^/listener name=slow before=3s after=2s cooldown=1h",
			"silent over=2500ms topic=^/chatter$ before=4s after=1s cooldown=1h",
			"exit process=talker before=3s after=2s cooldown=1h",
		}})
		time.Sleep(3 * time.Second)
		output.block()
		time.Sleep(2500 * time.Millisecond) // the next message comes within a second
		output.drain()
		r.waitForMessage("trigger slow: a callback of /listener took", "snapshot in")
		output.drain()
		if err := talker.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		_ = talker.Wait()
		r.waitForMessage("trigger exit: PID", "snapshot in")
		r.waitForMessage("trigger silent: nothing was published on /chatter for 2.5s", "snapshot in")
		r.cancel()
		if err := <-r.done; err != nil {
			t.Fatal(err)
		}
		all := whole.stopWithoutLoss()
		for _, name := range []string{"slow", "exit", "silent"} {
			found, err := filepath.Glob(filepath.Join(r.dir, "*-"+name))
			if err != nil || len(found) != 1 {
				t.Errorf("%d snapshots of %s, %v", len(found), name, err)
				continue
			}
			requirePartOf(t, found[0], all)
		}
		if slow := snapshotsIn(t, r.dir, "slow"); len(slow) == 1 {
			of := oracle.ReadDataset(t, slow[0]).Session.Snapshot
			if of.Trigger.Table != trace.TableCallback || !strings.Contains(string(of.Trigger.Row), `"node_name": "/listener"`) {
				t.Errorf("the row is %s", of.Trigger.Row)
			}
		}
	})
}

// requirePartOf requires that a snapshot has the callbacks and publishes that another recording has of its time, and no
// others. The hits of two recordings are some microseconds apart.
func requirePartOf(t *testing.T, dir string, whole *oracle.Dataset) {
	t.Helper()
	const apart = int64(5 * time.Millisecond)
	part := oracle.ReadDataset(t, dir)
	of := part.Session.Snapshot
	type occurrence struct {
		address trace.Address
		from    int64
		to      int64
	}
	callbacks := func(data *oracle.Dataset) (all []occurrence) {
		for _, row := range data.Callbacks {
			if row.CallbackEndTimestamp.Valid {
				all = append(all, occurrence{row.Callback, row.CallbackStartTimestamp.Value, row.CallbackEndTimestamp.Value})
			}
		}
		return all
	}
	publishes := func(data *oracle.Dataset) (all []occurrence) {
		for _, row := range data.Publishes {
			at := cmp.Or(row.RclcppPublishTimestamp.Value, row.RclPublishTimestamp.Value) // rcl itself publishes logs
			all = append(all, occurrence{row.PublisherHandle, at, at})
		}
		return all
	}
	for table, rows := range map[string]func(*oracle.Dataset) []occurrence{trace.TableCallback: callbacks, trace.TablePublish: publishes} {
		got := rows(part)
		certain := 0
		for _, want := range rows(whole) {
			if want.to < of.First-apart || want.from > of.Last+apart {
				continue
			}
			inside := want.to > of.First+apart && want.from < of.Last-apart && want.to < of.Last-apart
			found := false
			for _, have := range got {
				found = found || have.address == want.address && max(have.from-want.from, want.from-have.from) < apart && max(have.to-want.to, want.to-have.to) < apart
			}
			if inside {
				certain++
			}
			if inside && !found {
				t.Errorf("%s lacks a row of table %s: %+v", dir, table, want)
			}
		}
		for _, have := range got {
			if have.to < of.First || have.from > of.Last {
				t.Errorf("%s has a row of table %s that lies outside: %+v", dir, table, have)
			}
		}
		if len(got) < certain || len(got) > certain+6 {
			t.Errorf("%s has %d rows of table %s, of which %d are certain", dir, len(got), table, certain)
		}
		t.Logf("%s: %d rows of table %s, %d certain, of %d", filepath.Base(dir), len(got), table, certain, len(rows(whole)))
	}
}
