package recording

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/test/groundtruth"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/writer"
)

func TestFilters(t *testing.T) {
	requireRecording(t)
	matches := func(expression string) func(string) bool { return regexp.MustCompile(expression).MatchString }
	matchesNot := func(expression string) func(string) bool {
		return func(name string) bool { return !matches(expression)(name) }
	}
	for name, test := range map[string]struct {
		configuration session.Configuration
		want          oracle.NameFilter
	}{
		"select node":  {session.Configuration{SelectNodes: []string{"^/standin0$"}}, oracle.NameFilter{DropsNode: matchesNot("^/standin0$")}},
		"ignore node":  {session.Configuration{IgnoreNodes: []string{"none", "standin0"}}, oracle.NameFilter{DropsNode: matches("standin0")}},
		"select topic": {session.Configuration{SelectTopics: []string{"/t1$", "/t1/relayed$"}}, oracle.NameFilter{DropsTopic: matches("/t0")}},
		"ignore topic": {session.Configuration{IgnoreTopics: []string{"relayed"}}, oracle.NameFilter{DropsTopic: matches("relayed")}},
		"select overrides ignore": {
			session.Configuration{SelectTopics: []string{"/t1"}, IgnoreTopics: []string{"/t1", "/t0"}}, oracle.NameFilter{DropsTopic: matchesNot("/t1")},
		},
		"node and topic": {
			session.Configuration{IgnoreNodes: []string{"standin1"}, IgnoreTopics: []string{"/t0"}},
			oracle.NameFilter{DropsNode: matches("standin1"), DropsTopic: matches("/t0")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "node and topic" {
				requireLong(t) // the kernel is told of addresses, however they were chosen
			}
			t.Parallel()
			l := layout{standin.Jazzy, standin.FastDDS}
			n, r := recordFromTheBeginning(t, l, test.configuration, "--nodes 2 --topics 2 --rate 50 --chain --polled-rate 50 --intra-process")
			r.waitForRows(trace.TableCallback, enough)
			truth, data := n.stop(), r.wait()
			result := r.requireExact(data, truth, oracle.Circumstances{Filter: test.want})
			if dropped := len(truth.Callbacks) - int(result.Compared[trace.LostCallback]); dropped < enough/4 {
				t.Errorf("only %d callbacks were filtered out", dropped)
			}
		})
	}
}

// TestRawEvents compares the unmerged events with all tracepoints that the ground truth has.
func TestRawEvents(t *testing.T) {
	forEachLayout(t, func(t *testing.T, l layout) {
		t.Parallel()
		n, r := recordFromTheBeginning(t, l, session.Configuration{Raw: true}, "--rate 50 --intra-process --polled-rate 50 --nested-depth 3 --throw-every 9")
		r.waitForRows(trace.TableCallback, enough)
		truth, data := n.stop(), r.wait()
		r.requireExact(data, truth, oracle.Circumstances{})

		type hit struct {
			tid       int
			event     string
			argument1 uint64
			at        groundtruth.Bracket
		}
		var want []hit
		add := func(tid int, event string, argument1 uint64, at groundtruth.Bracket) {
			if at.Happened() {
				want = append(want, hit{tid, event, argument1, at})
			}
		}
		// Humble's rmw_publish has the message only.
		rmwArgument := func(p groundtruth.Publish) uint64 {
			if l.distro == standin.Humble {
				return p.Message
			}
			return p.RMWPublisher
		}
		for _, c := range truth.Callbacks {
			add(c.TID, "callback_start", c.Callback, c.Start)
			add(c.TID, "callback_end", c.Callback, c.End)
			add(c.TID, "rmw_take", c.RMWSubscription, c.Take)
		}
		for _, p := range truth.Publishes {
			add(p.TID, "rclcpp_intra_publish", p.Publisher, p.Intra)
			add(p.TID, "rclcpp_publish", 0, p.RCLCPP)
			add(p.TID, "rcl_publish", p.Publisher, p.RCL)
			add(p.TID, "rmw_publish", rmwArgument(p), p.RMW)
		}
		for _, take := range truth.Takes {
			add(take.TID, "rmw_take", take.RMWSubscription, take.Bracket)
		}
		if l.distro != standin.Humble {
			for _, e := range truth.Enqueues {
				add(e.TID, "rclcpp_ring_buffer_enqueue", e.Buffer, e.Bracket)
			}
			for _, d := range truth.Dequeues {
				add(d.TID, "rclcpp_ring_buffer_dequeue", d.Buffer, d.Bracket)
			}
		}
		type key struct {
			tid   int
			event string
		}
		rows := map[key][]trace.Event{}
		count := 0
		for _, row := range data.Events {
			if row.Event == "rmw_take" && row.Argument4.Value&0xff == 0 {
				continue // nothing was there to be taken: the ground truth does not tell
			}
			k := key{int(row.TID), row.Event}
			if slices.ContainsFunc(want, func(h hit) bool { return h.event == row.Event }) {
				rows[k] = append(rows[k], row)
				count++
			}
		}
		for _, h := range want {
			found := 0
			for _, row := range rows[key{h.tid, h.event}] {
				if h.at.Contains(uint64(row.EventTimestamp - data.Session.Clock.RealtimeOffset)) {
					found++
					if row.Argument1.Value != h.argument1 {
						t.Errorf("%s at %d: argument %#x, not %#x", h.event, h.at.Before, row.Argument1.Value, h.argument1)
					}
				}
			}
			if found != 1 {
				t.Errorf("%s at %d has %d rows", h.event, h.at.Before, found)
			}
		}
		if count != len(want) {
			t.Errorf("%d events, not %d", count, len(want))
		}
		t.Logf("%d events", count)
	})
}

// TestLimits ends recordings by what they have written; TestMinFree by what is left of the disk.
func TestLimits(t *testing.T) {
	requireRecording(t)
	n := startReadyNode(t, oneLayout, "--rate 200")
	for name, test := range map[string]struct {
		limits session.Configuration
		want   trace.Ending
	}{
		"rows": {session.Configuration{MaxRows: 50}, trace.EndingRows},
		"size": {session.Configuration{MaxBytes: 1}, trace.EndingSize},
	} {
		t.Run(name, func(t *testing.T) {
			test.limits.PIDs, test.limits.SegmentPeriod = n.pidText(), time.Second
			data := record(t, test.limits).wait()
			requireEnding(t, data, test.want)
			if rows := uint64(len(data.Callbacks) + len(data.Publishes)); rows < test.limits.MaxRows {
				t.Errorf("there are %d rows", rows)
			}
		})
	}
	n.stop()
}

// TestDuration ends a recording by its time limit, and looks at what session.json says of it.
func TestDuration(t *testing.T) {
	requireRecording(t)
	requireLong(t)
	n := startReadyNode(t, oneLayout, "--rate 50")
	const limit = time.Second
	r := record(t, session.Configuration{PIDs: n.pidText(), Duration: limit})
	r.closing = r.opened + uint64(limit)
	data := r.wait()
	r.requireExact(data, n.stop(), oracle.Circumstances{Found: true})
	requireEnding(t, data, trace.EndingDuration)
	var states []trace.State
	for i, change := range data.Session.History {
		states = append(states, change.State)
		if i > 0 && change.Timestamp < data.Session.History[i-1].Timestamp {
			t.Errorf("the session was %s before it was %s", change.State, states[i-1])
		}
	}
	want := []trace.State{trace.StateConfigured, trace.StateArmed, trace.StateRecording, trace.StateFlushing, trace.StateStopped}
	if !slices.Equal(states, want) {
		t.Errorf("the session was %v, not %v", states, want)
	}
	if got := data.Session.Rows[trace.TableCallback]; got != uint64(len(data.Callbacks)) {
		t.Errorf("session.json counts %d callbacks, there are %d", got, len(data.Callbacks))
	}
	if len(data.Clocks) < 2 {
		t.Errorf("%d clock offsets", len(data.Clocks))
	}
}

// TestDiskFull records to a small file system. What was written before it was full can be read.
func TestDiskFull(t *testing.T) {
	requireRecording(t)
	requireLong(t)
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=16m"); err != nil {
		t.Skipf("mounting a tmpfs: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	n := startReadyNode(t, oneLayout, "--rate 200 --topics 2")
	output := filepath.Join(disk, "recording")
	r := record(t, session.Configuration{PIDs: n.pidText(), Output: output, Raw: true, SegmentPeriod: 100 * time.Millisecond})
	waitForSegments(t, output, 6)
	filler, err := os.Create(filepath.Join(disk, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	for block := make([]byte, 4096); err == nil; {
		_, err = filler.Write(block)
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	if err := r.waitForEnd(); !errors.Is(err, writer.ErrDiskFull) {
		t.Fatalf("the recording ended with %v", err)
	}
	data := oracle.ReadDataset(t, output)
	requireEnding(t, data, trace.EndingError)
	if data.Session.State != trace.StateStopped {
		t.Errorf("session.json says state %s", data.Session.State)
	}
	if said := data.Session.Error; strings.Count(said, unix.ENOSPC.Error()) != 1 || slices.Contains(data.Session.Warnings, said) {
		t.Errorf("session.json says error %q, warnings %q", said, data.Session.Warnings)
	}
	if data.Session.Unstored[trace.TableEvent] == 0 {
		t.Errorf("unstored rows: %v", data.Session.Unstored)
	}
	if got := data.Session.Rows[trace.TableEvent]; got != uint64(len(data.Events)) {
		t.Errorf("session.json counts %d events, there are %d", got, len(data.Events))
	}
	if len(data.Callbacks) == 0 || len(data.Events) == 0 {
		t.Errorf("%d callbacks and %d events are readable", len(data.Callbacks), len(data.Events))
	}
	requireOwnText(t, n.PID())
	n.stop()
}

// TestAttributesAreStored: what was noted of a recording is in its session.json and in a table.
func TestAttributesAreStored(t *testing.T) {
	requireRecording(t)
	n := startReadyNode(t, oneLayout, "--rate 50")
	r := record(t, session.Configuration{PIDs: n.pidText(), Attributes: []string{"vehicle=bus 7", "route=a=b"}})
	r.waitForRows(trace.TableCallback, 1)
	data := r.stop()
	n.stop()
	want := []trace.Attribute{{Key: "vehicle", Value: "bus 7"}, {Key: "route", Value: "a=b"}}
	if !slices.Equal(data.Attributes, want) || !maps.Equal(data.Session.Attributes, map[string]string{"vehicle": "bus 7", "route": "a=b"}) {
		t.Errorf("%v, session.json has %v", data.Attributes, data.Session.Attributes)
	}
}

// TestWhatCannotBeRecorded names targets and outputs that do not work. Nothing must be left behind.
func TestWhatCannotBeRecorded(t *testing.T) {
	requireRecording(t)
	n := startReadyNode(t, oneLayout, "--rate 10")
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	used := t.TempDir()
	if err := os.WriteFile(filepath.Join(used, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		configuration session.Configuration
		want          error
	}{
		"a dead process":                {session.Configuration{PIDs: fmt.Sprint(dead.Process.Pid)}, target.ErrNoProcess},
		"none that lives":               {session.Configuration{PIDs: fmt.Sprint(os.Getpid(), ",", dead.Process.Pid)}, target.ErrNoProcess},
		"a process that is not ROS 2's": {session.Configuration{PIDs: fmt.Sprint(os.Getpid())}, target.ErrNotROS2},
		"no number":                     {session.Configuration{PIDs: "talker"}, target.ErrInvalidPID},
		"nothing":                       {session.Configuration{}, session.ErrConfiguration},
		"two ways to name processes":    {session.Configuration{PIDs: n.pidText(), All: true}, session.ErrConfiguration},
		"an unknown profile":            {session.Configuration{PIDs: n.pidText(), Profile: "maximal"}, session.ErrConfiguration},
		"a negative budget":             {session.Configuration{PIDs: n.pidText(), MaxOverhead: -0.1}, session.ErrConfiguration},
		"a budget of more than all":     {session.Configuration{PIDs: n.pidText(), MaxOverhead: 1.5}, session.ErrConfiguration},
		"no attribute":                  {session.Configuration{PIDs: n.pidText(), Attributes: []string{"vehicle"}}, session.ErrConfiguration},
		"an attribute of two values":    {session.Configuration{PIDs: n.pidText(), Attributes: []string{"a=1", "a=2"}}, session.ErrConfiguration},
		"a broken expression":           {session.Configuration{PIDs: n.pidText(), SelectNodes: []string{"("}}, session.ErrConfiguration},
		"a directory that is not empty": {session.Configuration{PIDs: n.pidText(), Output: used}, writer.ErrExists},
	} {
		t.Run(name, func(t *testing.T) {
			output := test.configuration.Output
			if output == "" {
				output = filepath.Join(t.TempDir(), "recording")
				test.configuration.Output = output
			}
			err := session.Run(t.Context(), test.configuration, session.Options{})
			if !errors.Is(err, test.want) {
				t.Errorf("error %v, not %v", err, test.want)
			}
			if _, err := os.Stat(output); err == nil && !strings.HasPrefix(output, used) {
				t.Error("there is an output all the same")
			}
		})
	}
	requireOwnText(t, n.PID())
	n.stop()
}

// TestSomeCannotBeRecorded names a process together with what pgrep finds as well: wrappers, and what has ended
// meanwhile.
func TestSomeCannotBeRecorded(t *testing.T) {
	requireRecording(t)
	n := startReadyNode(t, oneLayout, "--rate 50")
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	r := record(t, session.Configuration{PIDs: fmt.Sprint(os.Getpid(), " ", dead.Process.Pid, " ", n.PID())})
	for _, pid := range []int{os.Getpid(), dead.Process.Pid} {
		if !r.said(fmt.Sprintf("not recorded: PID %d", pid)) {
			t.Errorf("nothing is said of PID %d", pid)
		}
	}
	r.waitForRows(trace.TableCallback, 1)
	data := r.stop()
	if len(data.Processes) == 0 || int(data.Processes[0].PID) != n.PID() || len(data.Session.Warnings) < 2 {
		t.Errorf("processes %v, warnings %q", data.Processes, data.Session.Warnings)
	}
	n.stop()
}

// TestNoPrivileges records as a user who may not.
func TestNoPrivileges(t *testing.T) {
	requireRecording(t)
	n := startReadyNode(t, oneLayout, "--rate 10")
	output := t.TempDir()
	if err := os.Chmod(output, 0o777); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r := recorderCommand(ctx, t, session.Configuration{PIDs: n.pidText(), Output: filepath.Join(output, "recording")})
	// Still root, but without any capability: another user might not even be allowed to run the test binary.
	path, err := exec.LookPath("setpriv")
	if err != nil {
		t.Skip(err)
	}
	r.Args = []string{path, "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all", r.Path}
	r.Path = path
	var said bytes.Buffer
	r.Stdout, r.Stderr = &said, &said
	if err := r.Run(); err == nil {
		t.Fatal("recording works without any capability")
	}
	for _, word := range []string{"CAP_", "sudo"} {
		if !strings.Contains(said.String(), word) {
			t.Errorf("the error does not speak of %s: %s", word, said.String())
		}
	}
	t.Log(said.String())
	n.stop()
}
