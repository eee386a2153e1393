package recording

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// TestTwoHosts records two processes that send messages to each other by two recorders, as if each had a computer of
// its own, whose clocks are known to differ.
func TestTwoHosts(t *testing.T) {
	requireRecording(t)
	for _, l := range []layout{oneLayout, {standin.Humble, standin.FastDDS}} {
		t.Run(l.distro+"_"+l.rmw, func(t *testing.T) {
			flags := fmt.Sprintf("--topics 2 --rate 50 --wait-subscribers 1 --domain %d", standin.Domain(t))
			here, there := startNode(t, l, flags), startNode(t, l, flags)
			here.WaitReady()
			there.WaitReady()
			first, second := record(t, session.Configuration{PIDs: here.pidText()}), record(t, session.Configuration{PIDs: there.pidText()})
			requireTwoHosts(t, first, second)
			here.stop()
			there.stop()
		})
	}
}

// TestROSTwoHosts is TestTwoHosts with real ROS 2: each has a talker and the other's listener.
func TestROSTwoHosts(t *testing.T) {
	forEachROS(t, func(t *testing.T, ros rosEnvironment) {
		const renamed = "chatter:=answer"
		here := []int{ros.start(t, "demo_nodes_cpp", "talker"), ros.start(t, "demo_nodes_cpp", "listener", "--ros-args", "-r", renamed)}
		there := []int{ros.start(t, "demo_nodes_cpp", "listener"), ros.start(t, "demo_nodes_cpp", "talker", "--ros-args", "-r", renamed)}
		time.Sleep(5 * time.Second) // until they have found each other
		pids := func(list []int) string { return strings.Trim(fmt.Sprint(list), "[]") }
		first, second := record(t, session.Configuration{PIDs: pids(here)}), record(t, session.Configuration{PIDs: pids(there)})
		requireTwoHosts(t, first, second)
	})
}

// sentMessage identifies a message where it arrived.
type sentMessage struct {
	topic      string
	source     int64
	subscriber int32
	node       string
}

// requireTwoHosts ends two recordings, and gives the second one the clock of another host: in the end every latency
// between the two is within its bound of what it is by the clock that both have.
func requireTwoHosts(t *testing.T, first, second *recording) {
	t.Helper()
	for _, r := range []*recording{first, second} {
		r.waitForMoreRows(trace.TableCallback, 10)
	}
	here, there := first.stop(), second.stop()
	truth := make(map[sentMessage]int64)
	directions := make(map[bool]int)
	eachBetween(t, oracle.OpenQuery(t, first.dir, second.dir), here, there, func(m sentMessage, i *analyze.CommunicationInstance, isBack bool) {
		if i.ClockSource != "" {
			t.Errorf("two recordings of one boot have clocks by %q", i.ClockSource)
		}
		truth[m] = i.Latency.Value
		directions[isBack]++
	})
	if directions[false] == 0 || directions[true] == 0 {
		t.Fatalf("%v messages went between the two", directions)
	}
	for _, test := range []struct {
		name    string
		clock   otherClock
		options analyze.ClockOptions
		source  analyze.ClockSource
		verdict analyze.ClockVerdict
	}{
		{"synchronized", otherClock{ahead: 1_500_000, within: 1_500_001}, analyze.ClockOptions{}, analyze.ClockRecorded, analyze.ClocksAgree},
		{"behind by years", otherClock{ahead: -20 * 365 * 24 * 3600 * 1e9, ppm: 30}, analyze.ClockOptions{ByMessages: true}, analyze.ClockMessages, analyze.ClocksUnjudged},
		{"ahead", otherClock{ahead: 37e9, ppm: -30}, analyze.ClockOptions{ByMessages: true}, analyze.ClockMessages, analyze.ClocksUnjudged},
		{"not as it says", otherClock{ahead: -10e9, within: 300_001}, analyze.ClockOptions{ByMessages: true}, analyze.ClockMessages, analyze.ClocksDisagree},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			from, to := filepath.Join(dir, "here"), filepath.Join(dir, "there")
			otherClock{within: 300_001}.write(t, from, here, here.Session.Host.BootID)
			test.clock.write(t, to, there, "another boot")
			q := oracle.OpenQuery(t, from, to)
			clocks, err := q.Clocks(t.Context(), nil)
			if err != nil || len(clocks) != 1 || clocks[0].Verdict != test.verdict || !clocks[0].Offset.Valid {
				t.Errorf("got %+v, %v, want %s", clocks, err, test.verdict)
			}
			if err := q.AlignClocks(t.Context(), test.options); err != nil {
				t.Fatal(err)
			}
			compared, worst := 0, int64(0)
			eachBetween(t, q, here, there, func(m sentMessage, i *analyze.CommunicationInstance, _ bool) {
				want, ok := truth[m]
				off, bound := i.Latency.Value-want, i.ClockUncertainty.Value
				if !ok || i.ClockSource != test.source || bound <= 0 || off > bound || -off > bound {
					t.Errorf("%+v took %d (%t), and took %d within %d by %q", m, want, ok, i.Latency.Value, bound, i.ClockSource)
				}
				compared++
				worst = max(worst, bound)
			})
			if compared != len(truth) {
				t.Errorf("%d of %d messages were compared", compared, len(truth))
			}
			t.Logf("%d latencies are within %v; %+v", compared, time.Duration(worst), clocks)
		})
	}
}

// eachBetween passes on the received messages from one of the recordings to the other one.
func eachBetween(t *testing.T, q *analyze.Query, here, there *oracle.Dataset, each func(sentMessage, *analyze.CommunicationInstance, bool)) {
	t.Helper()
	has := func(d *oracle.Dataset, pid int32) bool {
		return slices.ContainsFunc(d.Processes, func(p trace.Process) bool { return p.PID == pid })
	}
	_, err := q.CommunicationLatency(t.Context(), func(instances []analyze.CommunicationInstance) error {
		for n := range instances {
			i := &instances[n]
			isBack := has(there, i.PublisherPID)
			if i.Fate == analyze.Received && isBack == has(here, i.SubscriptionPID) {
				each(sentMessage{i.Topic, i.SourceTimestamp.Value, i.SubscriptionPID, i.SubscriptionNode}, i, isBack)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// otherClock is how the clock of a host differs from that of the machine.
type otherClock struct {
	ahead, ppm int64
	// within is what the host believes its error to be; 0: it is not synchronized.
	within int64
}

// otherUptime is how much longer the host has been up.
const otherUptime = int64(12_345_678_901)

// write writes a recording as a host with that clock would have.
func (c otherClock) write(t *testing.T, dir string, data *oracle.Dataset, bootID string) {
	t.Helper()
	began := data.Session.Clock
	shift := func(at int64) int64 { return at + c.ahead + (at-began.RealtimeTimestamp)*c.ppm/1_000_000 }
	clock := func(row trace.Clock) trace.Clock {
		moved := trace.Clock{
			MonotonicTimestamp: row.MonotonicTimestamp + otherUptime + (row.MonotonicTimestamp-began.MonotonicTimestamp)*c.ppm/1_000_000,
			RealtimeOffset:     row.RealtimeOffset + c.ahead - otherUptime, Uncertainty: row.Uncertainty,
			Synchronized: trace.Some(c.within != 0), MaxError: trace.Some(c.within),
			Frequency: row.Frequency, Tick: row.Tick, RemainingAdjustment: row.RemainingAdjustment,
		}
		moved.RealtimeTimestamp = moved.MonotonicTimestamp + moved.RealtimeOffset
		return moved
	}
	var moved trace.Batch
	moved.Append(&data.Batch)
	for _, rows := range reflect.ValueOf(&moved).Elem().Fields() {
		for i := range rows.Len() {
			moveRow(rows.Index(i), shift, bootID)
		}
	}
	moved.Clocks = nil
	for _, row := range data.Clocks {
		moved.Clocks = append(moved.Clocks, clock(row))
	}
	described := *data.Session
	described.Host.BootID, described.Clock = bootID, clock(began)
	tracetest.AddSegments(t, dir, 0, &moved)
	tracetest.AddSession(t, dir, &described)
}

// moveRow shifts the times of a row that are on the recording's clock.
func moveRow(row reflect.Value, shift func(int64) int64, bootID string) {
	for _, field := range reflect.VisibleFields(row.Type()) {
		name, _, _ := strings.Cut(field.Tag.Get("column"), ",")
		value := row.FieldByIndex(field.Index)
		switch {
		case name == "boot_id":
			value.SetString(bootID)
		case name == "source_timestamp" || name == "message_timestamp" || !strings.HasSuffix(name, "_timestamp"):
		case value.Kind() == reflect.Struct:
			if of := value.Addr().Interface().(*trace.Optional[int64]); of.Valid {
				of.Value = shift(of.Value)
			}
		case value.Int() != 0:
			value.SetInt(shift(value.Int()))
		}
	}
}
