package main

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// The nodes of workers, and their topic.
const (
	workersCamera   = "/perception/front/camera"
	workersDetector = "/perception/front/detector"
	workersTopic    = "/perception/front/image"
)

// workers writes the dataset of a made-up system: a camera publishes every 50 ms, in a callback that takes about 10 ms,
// and so long as it is told takes that of a detector, which gets the images. Nothing takes the same time twice, and now
// and then something takes much longer: that depends on the seed. Each callback is preempted once, and each thread
// waits between two of them.
func workers(t *testing.T, seed uint64, detector time.Duration) (dir string) {
	t.Helper()
	const (
		begin, period = int64(1_760_000_000_000_000_000), 50 * time.Millisecond
		executions    = 150
		node, timer   = trace.Address(0x100), trace.Address(0x200) // the camera's; the detector's follow
		publisher     = trace.Address(0x300)
		subscription  = trace.Address(0x400)
		gid           = "010f0000000000000000000000000001"
	)
	key := trace.ProcessKey{BootID: "boot", PID: 77, ProcessStart: 1}
	random := rand.New(rand.NewPCG(seed, 18))
	upTo := func(most time.Duration) int64 { return random.Int64N(int64(most)) }
	took := func(usual time.Duration) int64 {
		if random.IntN(40) == 0 {
			return int64(usual) + upTo(4*time.Millisecond)
		}
		return int64(usual) + upTo(300*time.Microsecond)
	}
	rows := &trace.Batch{
		Processes:  []trace.Process{{ProcessKey: key, Command: "workers", Distro: "jazzy"}},
		Nodes:      []trace.Node{{ProcessKey: key, NodeHandle: node, NodeName: "camera", Namespace: "/perception/front"}, {ProcessKey: key, NodeHandle: node + 1, NodeName: "detector", Namespace: "/perception/front"}},
		Publishers: []trace.Publisher{{ProcessKey: key, PublisherHandle: publisher, NodeHandle: node, TopicName: workersTopic, NodeName: workersCamera, GID: gid}},
		Timers:     []trace.Timer{{ProcessKey: key, TimerHandle: timer, Period: trace.Some(int64(period)), NodeHandle: node, NodeName: workersCamera, Callback: timer + 1}},
		Subscriptions: []trace.Subscription{{
			ProcessKey: key, SubscriptionHandle: subscription, NodeHandle: node + 1, TopicName: workersTopic, NodeName: workersDetector, Subscription: subscription + 1, Callback: subscription + 2,
		}},
		CallbackInfos: []trace.CallbackInfo{
			{ProcessKey: key, Callback: timer + 1, Kind: trace.KindTimer, OwnerHandle: timer, NodeName: workersCamera, Period: trace.Some(int64(period)), Symbol: "Camera::tick()"},
			{ProcessKey: key, Callback: subscription + 2, Kind: trace.KindSubscription, OwnerHandle: subscription, NodeName: workersDetector, TopicName: workersTopic, Symbol: "Detector::on()"},
		},
	}
	ended := map[int32]int64{77: begin - int64(period), 78: begin - int64(period)}
	run := func(row trace.Callback, took int64) {
		start := row.CallbackStartTimestamp.Value
		row.ProcessKey, row.CallbackEndTimestamp, row.Status = key, trace.Some(start+took), trace.CallbackComplete
		tracetest.SetParts(&row, took-1_000_000, 1_000_000, 0, 0, 1, 0)
		rows.Callbacks = append(rows.Callbacks, row)
		rows.Scheds = append(rows.Scheds, trace.Sched{
			ProcessKey: key, TID: row.TID, Kind: trace.SchedBlocked, SchedOutTimestamp: ended[row.TID] + 10_000, SchedInTimestamp: start - 20_000, WakingTimestamp: trace.Some(start - 70_000),
		}, trace.Sched{
			ProcessKey: key, TID: row.TID, Kind: trace.SchedPreempted, SchedOutTimestamp: start + 2_000_000, SchedInTimestamp: start + 3_000_000,
			Callback: row.Callback, CallbackStartTimestamp: row.CallbackStartTimestamp,
			OtherPID: trace.Some[int32](900), OtherTID: trace.Some[int32](901), OtherCommand: "hog", OtherPriority: trace.Some[int32](49),
		})
		ended[row.TID] = start + took
	}
	for i := range int64(executions) {
		start := begin + i*int64(period) + upTo(200*time.Microsecond)
		published := start + took(10*time.Millisecond)
		stamp := published + 3000
		run(trace.Callback{
			TID: 77, Callback: timer + 1, Kind: trace.KindTimer, Period: trace.Some(int64(period)), NodeName: workersCamera, CallbackStartTimestamp: trace.Some(start),
		}, published+50_000-start)
		rows.Publishes = append(rows.Publishes, trace.Publish{
			ProcessKey: key, TID: 77, PublishNumber: uint64(i), PublisherHandle: publisher, Status: trace.PublishComplete, Kind: trace.PublishMessage,
			Callback: timer + 1, CallbackStartTimestamp: trace.Some(start), TopicName: workersTopic, NodeName: workersCamera,
			RclcppPublishTimestamp: trace.Some(published), RclPublishTimestamp: trace.Some(published + 1000), RMWPublishTimestamp: trace.Some(published + 2000), SourceTimestamp: trace.Some(stamp),
		})
		received := stamp + 200_000 + upTo(100*time.Microsecond)
		run(trace.Callback{
			TID: 78, Callback: subscription + 2, Kind: trace.KindSubscription, SubscriptionHandle: subscription, TopicName: workersTopic, NodeName: workersDetector,
			CallbackStartTimestamp: trace.Some(received), SourceTimestamp: trace.Some(stamp), PublisherGID: gid, RMWTakeTimestamp: trace.Some(received - 2000),
		}, took(detector))
	}
	dir = t.TempDir()
	tracetest.AddSegments(t, dir, 0, rows)
	session := trace.NewSession()
	session.Ending = trace.EndingDuration
	tracetest.AddSession(t, dir, session)
	return dir
}

// What is proposed of one recording is met by 50 others of the same system, and not when a callback takes a tenth
// longer: that one is named.
func TestVerifyFindsADelay(t *testing.T) {
	expected := filepath.Join(t.TempDir(), "expect.yaml")
	if code, _, problems := runCommand("expect", workers(t, 0, 10*time.Millisecond), "-o", expected); code != exitSuccess {
		t.Fatalf("exit code %d: %s", code, problems)
	}
	for seed := range uint64(50) {
		if code, out, problems := runCommand("verify", workers(t, 1+seed, 10*time.Millisecond), "--expect", expected, "--quiet"); code != exitSuccess {
			t.Errorf("seed %d: exit code %d: %s\n%s", seed, code, problems, out)
		}
	}
	code, out, problems := runCommand("verify", workers(t, 51, 11*time.Millisecond), "--expect", expected, "--quiet")
	if code != exitDiffers || !strings.Contains(out, workersDetector) || !strings.Contains(out, "p50") || strings.Contains(out, workersCamera+" "+workersCamera) {
		t.Errorf("a tenth longer: exit code %d: %s\n%s", code, problems, out)
	}
}

// What is proposed of runs that differ is met by others that are as one or the other of them.
func TestExpectationsOfRuns(t *testing.T) {
	const fast, slow, slower = 10 * time.Millisecond, 20 * time.Millisecond, 22 * time.Millisecond
	expected := filepath.Join(t.TempDir(), "expect.yaml")
	if code, _, problems := runCommand("expect", workers(t, 0, fast), workers(t, 1, slow), "--runs", "-o", expected); code != exitSuccess {
		t.Fatalf("exit code %d: %s", code, problems)
	}
	for takes, want := range map[time.Duration]int{fast: exitSuccess, slow: exitSuccess, slower: exitDiffers} {
		if code, out, problems := runCommand("verify", workers(t, 2, takes), "--expect", expected, "--quiet"); code != want {
			t.Errorf("%v: exit code %d, want %d: %s\n%s", takes, code, want, problems, out)
		}
	}
}
