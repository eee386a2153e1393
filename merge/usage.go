package merge

import (
	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/trace"
)

// usage is what became of a message that was taken or dequeued.
type usage int

const (
	// usedUnknown: whether the next callback of the thread got it is not known.
	usedUnknown usage = iota
	// usedByCallback: the next callback of the thread got it.
	usedByCallback
	// usedByNoCallback: it was polled, or dropped.
	usedByNoCallback
)

// usageOfTake tells whether a take fed the callback that started next on its thread. info is what is known of the
// callback, nil if nothing is.
func (p *Process) usageOfTake(rmwSubscription trace.Address, at int64, callback trace.Address, info *trace.CallbackInfo) usage {
	if info != nil && info.Kind != "" && info.Kind != trace.KindSubscription {
		return usedByNoCallback
	}
	subscription, known := p.Graph.SubscriptionByRMW(rmwSubscription, at)
	if !known || subscription.SubscriptionHandle == 0 {
		return usedUnknown
	}
	if info != nil && info.OwnerHandle != 0 {
		if info.OwnerHandle == subscription.SubscriptionHandle {
			return usedByCallback
		}
		return usedByNoCallback
	}
	if own := p.Graph.CallbackOfSubscription(subscription.SubscriptionHandle, at); own != 0 && own != callback {
		return usedByNoCallback
	}
	return usedUnknown
}

// usageOfDequeue tells whether what was dequeued fed the intra-process callback that started next on its thread.
func (p *Process) usageOfDequeue(buffer trace.Address, at int64, callback trace.Address) usage {
	switch p.Graph.BufferOfCallback(callback, at) {
	case 0:
		return usedUnknown
	case buffer:
		return usedByCallback
	}
	return usedByNoCallback
}

// kindOfTake says what a take that fed no callback for sure was. A subscription with intra-process communication drops
// what a publisher of its process with intra-process communication has sent: it comes through the buffer, too.
func (p *Process) kindOfTake(feed *abi.Feed, at int64, use usage) trace.TakeKind {
	subscription, known := p.Graph.SubscriptionByRMW(trace.Address(feed.Source), at)
	if !known {
		if use == usedUnknown {
			return trace.TakeUnattributed
		}
		return takeKind(feed.Details)
	}
	switch p.isDropped(subscription, feed, at) {
	case trace.Some(true):
		return trace.TakeIgnored
	case trace.Some(false):
		if use != usedUnknown {
			return takeKind(feed.Details)
		}
	}
	return trace.TakeUnattributed
}

// isDropped tells whether a subscription drops a message; null where that is not known.
func (p *Process) isDropped(subscription *trace.Subscription, feed *abi.Feed, at int64) trace.Optional[bool] {
	intraProcess := p.Graph.IsIntraProcess(subscription.SubscriptionHandle, at)
	if intraProcess == trace.Some(false) {
		return intraProcess
	}
	sent := p.Graph.SendsIntraProcess(subscription.TopicName, publisherIdentity(feed), at)
	if sent == trace.Some(false) || intraProcess.Valid {
		return sent
	}
	return trace.Optional[bool]{}
}

// publisherIdentity is what a message says of its publisher, in hexadecimal: the gid, or with Cyclone DDS the handle
// that means something to the process only; "" if it says nothing.
func publisherIdentity(f *abi.Feed) string {
	if f.Details&abi.DetailGID == 0 {
		return ""
	}
	if f.GID[1] == 0 {
		return gidText(f.GID, cycloneClientSize)
	}
	return gidText(f.GID, gidSize)
}
