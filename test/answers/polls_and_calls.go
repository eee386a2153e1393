package answers

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/writer"
)

// addPollsAndCalls adds a node that polls a topic in its timer and publishes what it made of it, and calls of a
// service: some messages are never polled, some requests never answered, and some clients have no gid.
func addPollsAndCalls(t *testing.T, w *writer.Writer) {
	const (
		begin                            = int64(1_760_000_000_000_000_000)
		rounds                           = 200
		timer, giver, poller             = trace.Address(0x2000), trace.Address(0x1000), trace.Address(0x4000)
		subscription, client, server     = trace.Address(0x3000), trace.Address(0x5000), trace.Address(0x6000)
		giverThread, pollerThread, other = 901, 902, 903
	)
	key := trace.ProcessKey{BootID: "another boot", PID: 900, ProcessStart: 5}
	var publishes []trace.Publish
	var takes []trace.Take
	var callbacks []trace.Callback
	var calls []trace.Service
	for i := range int64(rounds) {
		at := begin + i*1_000_000
		publishes = append(publishes, trace.Publish{
			ProcessKey: key, TID: giverThread, PublishNumber: uint64(i), PublisherHandle: giver, TopicName: "/asked", NodeName: "/giver",
			RclcppPublishTimestamp: trace.Some(at), RclPublishTimestamp: trace.Some(at + 1), RMWPublishTimestamp: trace.Some(at + 2),
			SourceTimestamp: trace.Some(at + 3), Status: trace.PublishComplete,
		})
		start := trace.Some(at + 100)
		callbacks = append(callbacks, trace.Callback{
			ProcessKey: key, TID: pollerThread, Callback: timer, CallbackStartTimestamp: start, CallbackEndTimestamp: trace.Some(at + 900), Kind: trace.KindTimer,
			Status: trace.CallbackComplete, NodeName: "/poller",
		})
		kind := trace.TakeRMW
		if i%7 == 0 {
			kind = trace.TakeIgnored
		}
		topic, node := "/asked", "/poller"
		if i < 50 {
			topic, node = "", "" // the subscription was not known yet
		}
		if i%14 != 0 {
			takes = append(takes, trace.Take{
				ProcessKey: key, TID: pollerThread, Kind: kind, SubscriptionHandle: subscription, TopicName: topic, NodeName: node,
				SourceTimestamp: trace.Some(at + 3), RMWTakeTimestamp: trace.Some(at + 150 + i), Callback: timer, CallbackStartTimestamp: start, PublisherGID: "0102",
			})
		}
		publishes = append(publishes, trace.Publish{
			ProcessKey: key, TID: pollerThread, PublishNumber: uint64(i), PublisherHandle: poller, TopicName: "/answered", NodeName: "/poller",
			RclcppPublishTimestamp: trace.Some(at + 700 - i), SourceTimestamp: trace.Some(at + 703), Callback: timer, CallbackStartTimestamp: start,
			Status: trace.PublishComplete,
		})
		call := trace.Service{ProcessKey: key, TID: other, SequenceNumber: i % 150, ClientGID: "0a0b", ServiceName: "/add"}
		if i%9 == 0 {
			call.ClientGID = ""
		}
		for n, step := range []trace.ServiceStep{trace.RequestSent, trace.RequestTaken, trace.ResponseSent, trace.ResponseTaken} {
			call.Step, call.StepTimestamp = step, at+int64(n)*(200+i)
			call.ClientHandle, call.ServiceHandle, call.NodeName = 0, server, "/giver"
			if n == 0 || n == 3 {
				call.ClientHandle, call.ServiceHandle, call.NodeName = client, 0, "/poller"
			}
			if i < 150 || n < 2 { // the last calls, whose sequence numbers come again, are not answered
				calls = append(calls, call)
			}
		}
	}
	// Two servers of one service: each takes every request and answers it, one sooner than the other; the slow one misses
	// every third.
	for i := range int64(30) {
		at := begin + (rounds+i)*1_000_000
		step := func(step trace.ServiceStep, after int64, client, server trace.Address, node string) {
			calls = append(calls, trace.Service{
				ProcessKey: key, TID: other, SequenceNumber: i % 20, ClientGID: "0c0d", ServiceName: "/both", Step: step, StepTimestamp: at + after,
				ClientHandle: client, ServiceHandle: server, NodeName: node,
			})
		}
		step(trace.RequestSent, 0, client, 0, "/poller")
		step(trace.RequestTaken, 10, 0, server, "/giver")
		if i%3 > 0 {
			step(trace.RequestTaken, 20, 0, server+8, "/poller")
		}
		step(trace.ResponseSent, 30+i, 0, server, "/giver")
		step(trace.ResponseTaken, 100, client, 0, "/poller")
		if i%3 > 0 {
			step(trace.ResponseSent, 200+i, 0, server+8, "/poller")
			step(trace.ResponseTaken, 300, client, 0, "/poller")
		}
	}
	write(t, w, publishes)
	write(t, w, takes)
	write(t, w, callbacks)
	write(t, w, calls)
	write(t, w, []trace.Process{{ProcessKey: key}})
	write(t, w, []trace.Node{{ProcessKey: key, NodeHandle: 1, NodeName: "giver", Namespace: "/"}, {ProcessKey: key, NodeHandle: 2, NodeName: "poller", Namespace: "/"}})
	write(t, w, []trace.Publisher{
		{ProcessKey: key, PublisherHandle: giver, NodeHandle: 1, NodeName: "/giver", TopicName: "/asked", GID: "0102"},
		{ProcessKey: key, PublisherHandle: poller, NodeHandle: 2, NodeName: "/poller", TopicName: "/answered", GID: "0103"},
	})
	write(t, w, []trace.Subscription{{ProcessKey: key, SubscriptionHandle: subscription, NodeHandle: 2, NodeName: "/poller", TopicName: "/asked"}})
	write(t, w, []trace.Timer{{ProcessKey: key, TimerHandle: 7, NodeHandle: 2, NodeName: "/poller", Callback: timer}})
	write(t, w, []trace.CallbackInfo{{ProcessKey: key, Callback: timer, Kind: trace.KindTimer, OwnerHandle: 7, NodeName: "/poller"}})
}
