package merge

import "github.com/caret-bpf/caret-bpf/trace"

// Rows are rows of the dataset, in the order in which their records completed.
type Rows struct {
	Callbacks []trace.Callback
	Publishes []trace.Publish
	Takes     []trace.Take
	Enqueues  []trace.Enqueue
	Events    []trace.Event

	Nodes         []trace.Node
	Publishers    []trace.Publisher
	Subscriptions []trace.Subscription
	Timers        []trace.Timer
	CallbackInfos []trace.CallbackInfo
}

// reset empties the rows and keeps their memory.
func (r *Rows) reset() {
	r.Callbacks = r.Callbacks[:0]
	r.Publishes = r.Publishes[:0]
	r.Takes = r.Takes[:0]
	r.Enqueues = r.Enqueues[:0]
	r.Events = r.Events[:0]
	r.Nodes = r.Nodes[:0]
	r.Publishers = r.Publishers[:0]
	r.Subscriptions = r.Subscriptions[:0]
	r.Timers = r.Timers[:0]
	r.CallbackInfos = r.CallbackInfos[:0]
}
