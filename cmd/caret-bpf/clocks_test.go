package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// twoHosts are datasets of hosts whose clocks are apart by three seconds. Each second a message goes from the first one
// to the second one, takes a millisecond, and another one comes back.
func twoHosts(t *testing.T) (front, rear string) {
	t.Helper()
	const ahead = int64(3 * time.Second)
	dirs := [2]string{t.TempDir(), t.TempDir()}
	var rows [2]trace.Batch
	for i := range dirs {
		key := trace.ProcessKey{BootID: fmt.Sprint("boot-", i), PID: int32(70 + i), ProcessStart: 1}
		other := 1 - i
		session := trace.NewSession()
		session.Host.BootID, session.Host.Name = key.BootID, []string{"front", "rear"}[i]
		session.Clock.Frequency, session.Clock.Tick, session.Clock.RemainingAdjustment = trace.Some(int64(0)), trace.Some(int64(10_000)), trace.Some(int64(0))
		tracetest.AddSession(t, dirs[i], session)
		rows[i].Processes = []trace.Process{{ProcessKey: key, Command: "node"}}
		rows[i].Nodes = []trace.Node{{ProcessKey: key, NodeHandle: 0x10, NodeName: session.Host.Name, Namespace: "/"}}
		rows[i].Publishers = []trace.Publisher{{ProcessKey: key, PublisherHandle: 0x11, NodeHandle: 0x10, TopicName: fmt.Sprint("/of_", i), GID: fmt.Sprint("a", i)}}
		rows[i].Subscriptions = []trace.Subscription{{ProcessKey: key, SubscriptionHandle: 0x22, NodeHandle: 0x10, TopicName: fmt.Sprint("/of_", other), Subscription: 0x23, Callback: 0x24}}
		for second := range int64(15) {
			clock := session.Clock
			clock.MonotonicTimestamp += second * int64(time.Second)
			clock.RealtimeTimestamp += second * int64(time.Second)
			rows[i].Clocks = append(rows[i].Clocks, clock)
		}
		for second := range int64(10) {
			mine, theirs := (second+1)*int64(time.Second)+int64(i)*ahead, (second+1)*int64(time.Second)+int64(i)*ahead+int64(time.Millisecond)
			rows[i].Publishes = append(rows[i].Publishes, trace.Publish{
				ProcessKey: key, PublisherHandle: 0x11, RclcppPublishTimestamp: trace.Some(mine), RclPublishTimestamp: trace.Some(mine), RMWPublishTimestamp: trace.Some(mine),
				SourceTimestamp: trace.Some(1000*int64(i) + second), Status: trace.PublishComplete, PublishNumber: uint64(second), Provenance: trace.FromTracepoint,
			})
			rows[i].Callbacks = append(rows[i].Callbacks, trace.Callback{
				ProcessKey: key, Callback: 0x24, CallbackStartTimestamp: trace.Some(theirs), CallbackEndTimestamp: trace.Some(theirs + 10), RMWTakeTimestamp: trace.Some(theirs),
				SourceTimestamp: trace.Some(1000*int64(other) + second), PublisherGID: fmt.Sprint("a", other), Status: trace.CallbackComplete, Provenance: trace.FromTracepoint,
			})
		}
		tracetest.AddSegments(t, dirs[i], 0, &rows[i])
	}
	return dirs[0], dirs[1]
}

func TestClocksCommand(t *testing.T) {
	front, rear := twoHosts(t)
	code, out, problems := runCommand("clocks", front, rear)
	if code != exitSuccess || !strings.Contains(out, "front  rear") || !strings.Contains(out, "3.00 s") || !strings.Contains(out, "unknown") || problems != "" {
		t.Errorf("exit code %d: %s%s", code, out, problems)
	}
	if got := columnOf(t, "offset", "clocks", front, rear, "--series"); len(got) < 10 || slices.ContainsFunc(got, func(text string) bool { return !strings.HasPrefix(text, "3000") && !strings.HasPrefix(text, "2999") }) {
		t.Errorf("the offsets are %q", got)
	}
	if code, out, _ := runCommand("clocks", front, rear, "--json"); code != exitSuccess || !json.Valid([]byte(out)) {
		t.Errorf("exit code %d: %s", code, out)
	}
	if code, _, problems := runCommand("clocks", front); code != exitNoTarget || !strings.Contains(problems, "several hosts") {
		t.Errorf("of one host: exit code %d: %s", code, problems)
	}
}

// Tables show how certain latencies are where that is a question.
func TestClockOffset(t *testing.T) {
	front, rear := twoHosts(t)
	for _, test := range []struct {
		flags                  []string
		code                   int
		latency, source, shows string
		problem                string
	}{
		{nil, exitSuccess, "-2999000000", "unknown", "", "--clock-offset messages"},
		{[]string{"recorded"}, exitSuccess, "-2999000000", "unknown", "", "nothing was recorded of how well"},
		{[]string{"messages"}, exitSuccess, "1000000", "messages", "CLOCK UNCERTAINTY", ""},
		{[]string{"rear=3s±1us"}, exitSuccess, "1000000", "given", "CLOCK UNCERTAINTY", ""},
		{[]string{"rear=2999ms+-5ms"}, exitSuccess, "2000000", "given", "CLOCK UNCERTAINTY", ""},
		{[]string{"rear=3s"}, exitSuccess, "1000000", "unknown", "", "no bound"},
		{[]string{"rear=2s±1us"}, exitSuccess, "1001000000", "given", "CLOCK UNCERTAINTY", "farther apart"},
		{[]string{"roof=3s"}, exitUsage, "", "", "", "front, rear"},
		{[]string{"rear=soon"}, exitUsage, "", "", "", "soon"},
		{[]string{"rear=1s±-1s"}, exitUsage, "", "", "", "negative"},
		{[]string{"rear"}, exitUsage, "", "", "", "HOST=OFFSET±BOUND"},
		{[]string{"messages", "rear=1s"}, exitUsage, "", "", "", "goes without others"},
	} {
		t.Run(strings.Join(test.flags, " "), func(t *testing.T) {
			arguments := []string{"latency", "communication", front, rear}
			for _, flag := range test.flags {
				arguments = append(arguments, "--clock-offset", flag)
			}
			code, out, problems := runCommand(arguments...)
			if code != test.code || !strings.Contains(problems, test.problem) || test.problem == "" && problems != "" {
				t.Fatalf("exit code %d: %s", code, problems)
			}
			if code != exitSuccess {
				return
			}
			if strings.Contains(out, "CLOCK UNCERTAINTY") != (test.shows != "") {
				t.Errorf("the table is\n%s", out)
			}
			source, latency := columnOf(t, "clock_source", arguments...), columnOf(t, "max", append(arguments, "--topic", "/of_1")...)
			if len(source) != 2 || source[0] != test.source || source[1] != test.source {
				t.Errorf("by %q, want %s", source, test.source)
			}
			there := columnOf(t, "max", append(arguments, "--topic", "/of_0")...)
			if len(latency) != 1 || len(there) != 1 {
				t.Fatalf("got %q, %q", there, latency)
			}
			if !nearly(latency[0], test.latency) && !nearly(there[0], test.latency) {
				t.Errorf("there %s, back %s; want %s", there[0], latency[0], test.latency)
			}
		})
	}
}

// nearly compares to the microsecond.
func nearly(a, b string) bool {
	var x, y int64
	_, _ = fmt.Sscan(a, &x)
	_, _ = fmt.Sscan(b, &y)
	return x-y < 1000 && y-x < 1000
}

func TestClockOffsetsAreRead(t *testing.T) {
	for text, want := range map[string]analyze.ClockOffset{
		"a=1s":           {Ahead: 1e9},
		"a=-1.5ms±0s":    {Ahead: -1_500_000, Within: trace.Some(int64(0))},
		"a=b=2us+-300ns": {Ahead: 2000, Within: trace.Some(int64(300))},
	} {
		host, got, err := parseClockOffset(text)
		if err != nil || got != want || host != text[:strings.LastIndex(text, "=")] {
			t.Errorf("%s: %s, %+v, %v", text, host, got, err)
		}
	}
}
