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

// workers writes the dataset of a made-up system: /camera publishes every 50 ms, in a callback that takes about 10 ms,
// and so long as it is told takes that of /detector, which gets the images. Nothing takes the same time twice, and now
// and then something takes much longer: that depends on the seed.
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
		Nodes:      []trace.Node{{ProcessKey: key, NodeHandle: node, NodeName: "camera", Namespace: "/"}, {ProcessKey: key, NodeHandle: node + 1, NodeName: "detector", Namespace: "/"}},
		Publishers: []trace.Publisher{{ProcessKey: key, PublisherHandle: publisher, NodeHandle: node, TopicName: "/image", NodeName: "/camera", GID: gid}},
		Timers:     []trace.Timer{{ProcessKey: key, TimerHandle: timer, Period: trace.Some(int64(period)), NodeHandle: node, NodeName: "/camera", Callback: timer + 1}},
		Subscriptions: []trace.Subscription{{
			ProcessKey: key, SubscriptionHandle: subscription, NodeHandle: node + 1, TopicName: "/image", NodeName: "/detector", Subscription: subscription + 1, Callback: subscription + 2,
		}},
		CallbackInfos: []trace.CallbackInfo{
			{ProcessKey: key, Callback: timer + 1, Kind: trace.KindTimer, OwnerHandle: timer, NodeName: "/camera", Period: trace.Some(int64(period)), Symbol: "Camera::tick()"},
			{ProcessKey: key, Callback: subscription + 2, Kind: trace.KindSubscription, OwnerHandle: subscription, NodeName: "/detector", TopicName: "/image", Symbol: "Detector::on()"},
		},
	}
	for i := range int64(executions) {
		start := begin + i*int64(period) + upTo(200*time.Microsecond)
		published := start + took(10*time.Millisecond)
		stamp := published + 3000
		rows.Callbacks = append(rows.Callbacks, trace.Callback{
			ProcessKey: key, TID: 77, Callback: timer + 1, Kind: trace.KindTimer, Period: trace.Some(int64(period)), NodeName: "/camera",
			CallbackStartTimestamp: trace.Some(start), CallbackEndTimestamp: trace.Some(published + 50_000), Status: trace.CallbackComplete,
		})
		rows.Publishes = append(rows.Publishes, trace.Publish{
			ProcessKey: key, TID: 77, PublishNumber: uint64(i), PublisherHandle: publisher, Status: trace.PublishComplete, Kind: trace.PublishMessage,
			Callback: timer + 1, CallbackStartTimestamp: trace.Some(start), TopicName: "/image", NodeName: "/camera",
			RclcppPublishTimestamp: trace.Some(published), RclPublishTimestamp: trace.Some(published + 1000), RMWPublishTimestamp: trace.Some(published + 2000), SourceTimestamp: trace.Some(stamp),
		})
		received := stamp + 200_000 + upTo(100*time.Microsecond)
		rows.Callbacks = append(rows.Callbacks, trace.Callback{
			ProcessKey: key, TID: 78, Callback: subscription + 2, Kind: trace.KindSubscription, SubscriptionHandle: subscription, TopicName: "/image", NodeName: "/detector",
			CallbackStartTimestamp: trace.Some(received), CallbackEndTimestamp: trace.Some(received + took(detector)), Status: trace.CallbackComplete,
			SourceTimestamp: trace.Some(stamp), PublisherGID: gid, RMWTakeTimestamp: trace.Some(received - 2000),
		})
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
	if code != exitDiffers || !strings.Contains(out, "/detector") || !strings.Contains(out, "p50") || strings.Contains(out, "/camera /camera/callback") {
		t.Errorf("a tenth longer: exit code %d: %s\n%s", code, problems, out)
	}
}
