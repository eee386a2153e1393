package merge

import "github.com/caret-bpf/caret-bpf/trace"

// Rows are rows of the dataset, in the order in which their records completed.
type Rows struct {
	Callbacks  []trace.Callback
	Publishes  []trace.Publish
	Takes      []trace.Take
	Enqueues   []trace.Enqueue
	Services   []trace.Service
	Lifecycles []trace.Lifecycle
	SimTimes   []trace.SimTime
	Events     []trace.Event

	Nodes                  []trace.Node
	Publishers             []trace.Publisher
	Subscriptions          []trace.Subscription
	Timers                 []trace.Timer
	ServiceServers         []trace.ServiceServer
	Clients                []trace.Client
	CallbackInfos          []trace.CallbackInfo
	CallbackGroups         []trace.CallbackGroup
	Executors              []trace.Executor
	Contexts               []trace.Context
	LifecycleStateMachines []trace.LifecycleStateMachine
}

// reset empties the rows and keeps their memory.
func (r *Rows) reset() {
	r.Callbacks = r.Callbacks[:0]
	r.Publishes = r.Publishes[:0]
	r.Takes = r.Takes[:0]
	r.Enqueues = r.Enqueues[:0]
	r.Services = r.Services[:0]
	r.Lifecycles = r.Lifecycles[:0]
	r.SimTimes = r.SimTimes[:0]
	r.Events = r.Events[:0]
	r.Nodes = r.Nodes[:0]
	r.Publishers = r.Publishers[:0]
	r.Subscriptions = r.Subscriptions[:0]
	r.Timers = r.Timers[:0]
	r.ServiceServers = r.ServiceServers[:0]
	r.Clients = r.Clients[:0]
	r.CallbackInfos = r.CallbackInfos[:0]
	r.CallbackGroups = r.CallbackGroups[:0]
	r.Executors = r.Executors[:0]
	r.Contexts = r.Contexts[:0]
	r.LifecycleStateMachines = r.LifecycleStateMachines[:0]
}
