package abi

// AnyEndpoint stands for the handles of rmw of a publisher or a subscription that ends: its event does not tell them.
// Nothing is at such an address.
const AnyEndpoint = 1

// Places returns the addresses at which an initialization event says that an entity begins or ends whose name memory
// shows: a node, a publisher, a subscription, a timer, a service, a client or a callback; 0 stands for none.
func (r *InitRecord) Places() [2]uint64 {
	a := &r.Arguments
	switch Event(r.Header.Status) {
	case EventRclNodeInit:
		return [2]uint64{a[0], a[1]}
	case EventRclPublisherInit, EventRclSubscriptionInit, EventRclServiceInit, EventRclClientInit:
		return [2]uint64{a[0], a[2]}
	case EventRclPublisherFini, EventRclSubscriptionFini:
		return [2]uint64{a[0], AnyEndpoint}
	case EventRclTimerInit, EventRMWPublisherInit, EventRclcppCallbackRegister, EventRclNodeFini, EventRclTimerFini,
		EventRclServiceFini, EventRclClientFini:
		return [2]uint64{a[0]}
	case EventGenericSubscription:
		return [2]uint64{a[2]}
	case EventRclcppSubscriptionCallbackAdded, EventRclcppTimerCallbackAdded, EventRclcppServiceCallbackAdded:
		return [2]uint64{a[1]}
	}
	return [2]uint64{}
}
