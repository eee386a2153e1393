package answers

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/writer"
)

// addUncertainSlots adds a buffer of Humble's, of which the slots of some messages are not certain.
func addUncertainSlots(t *testing.T, w *writer.Writer) {
	const (
		begin                          = int64(1_760_000_000_000_000_000)
		publisher, subscription        = trace.Address(0x1000), trace.Address(0x3000)
		callback, buffer               = trace.Address(0x2000), trace.Address(0x4000)
		publisherThread, callersThread = 911, 912
	)
	key := trace.ProcessKey{BootID: "another boot", PID: 910, ProcessStart: 6}
	slot := func(index int64, certain bool) trace.Optional[uint64] {
		if !certain {
			return trace.Optional[uint64]{}
		}
		return trace.Some(uint64(index))
	}
	var publishes []trace.Publish
	var enqueues []trace.Enqueue
	var callbacks []trace.Callback
	var takes []trace.Take
	for i := range int64(300) {
		at := begin + i*1_000_000
		publishes = append(publishes, trace.Publish{
			ProcessKey: key, TID: publisherThread, PublishNumber: uint64(i), PublisherHandle: publisher, TopicName: "/uncertain", NodeName: "/source",
			RclcppIntraPublishTimestamp: trace.Some(at), EnqueueCount: 1, Status: trace.PublishComplete,
		})
		enqueues = append(enqueues, trace.Enqueue{
			ProcessKey: key, TID: publisherThread, Buffer: buffer, Index: slot(i%4, i%11 != 0), Size: 1, EnqueueTimestamp: at + 10,
			PublishNumber: trace.Some(uint64(i)), PublisherHandle: publisher, TopicName: "/uncertain",
		})
		if i%5 == 0 {
			continue // it is dropped
		}
		taken := at + 20 + i%3*900_000
		if i%10 == 1 {
			takes = append(takes, trace.Take{
				ProcessKey: key, TID: callersThread, Kind: trace.TakeDequeue, Buffer: buffer, DequeueIndex: slot(i%4, i%7 != 0), DequeueTimestamp: trace.Some(taken),
			})
			continue
		}
		callbacks = append(callbacks, trace.Callback{
			ProcessKey: key, TID: callersThread, Callback: callback, CallbackStartTimestamp: trace.Some(taken + 5), CallbackEndTimestamp: trace.Some(taken + 50),
			Kind: trace.KindIntraProcessSubscription, Status: trace.CallbackComplete, NodeName: "/sink", TopicName: "/uncertain", SubscriptionHandle: subscription,
			IsIntraProcess: trace.Some(true), Buffer: buffer, DequeueIndex: slot(i%4, i%7 != 0), DequeueTimestamp: trace.Some(taken),
		})
	}
	write(t, w, publishes)
	write(t, w, enqueues)
	write(t, w, takes)
	write(t, w, callbacks)
	write(t, w, []trace.Process{{ProcessKey: key}})
	write(t, w, []trace.Node{{ProcessKey: key, NodeHandle: 1, NodeName: "source", Namespace: "/"}, {ProcessKey: key, NodeHandle: 2, NodeName: "sink", Namespace: "/"}})
	write(t, w, []trace.Publisher{{ProcessKey: key, PublisherHandle: publisher, NodeHandle: 1, NodeName: "/source", TopicName: "/uncertain"}})
	write(t, w, []trace.Subscription{{
		ProcessKey: key, SubscriptionHandle: subscription, NodeHandle: 2, NodeName: "/sink", TopicName: "/uncertain", Callback: callback, Buffer: buffer,
		IsIntraProcess: trace.Some(true),
	}})
}
