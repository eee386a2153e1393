package ctf

import (
	"cmp"
	"context"
	"encoding/hex"

	"github.com/caret-bpf/caret-bpf/trace"
)

// ironDistro is the oldest distribution of which the traces are: what is recorded of Humble is what Iron's tracepoints
// show, for CARET's of Humble are in its own rclcpp.
const ironDistro = "iron"

// tracetoolsVersion is the oldest one whose rmw_publish has a timestamp, as the trace's have. Trace Compass joins
// messages by it, and fails if it is no version.
const tracetoolsVersion = "8.0.0"

// entityEvents adds the events of entities.
type entityEvents struct {
	*collector
	// collectors are the objects that collect executors' entities, or the executors themselves.
	collectors map[entityAddress]trace.Address
	groups     map[entityAddress]bool
	// added holds what was added: the two rows of a subscription have events in common.
	added map[string]bool
}

type entityAddress struct {
	process trace.ProcessKey
	address trace.Address
}

// entities adds the events that tell of processes and entities. offset is from monotonic to real time.
func (c *collector) entities(ctx context.Context, d *trace.Dataset, offset int64) error {
	e := &entityEvents{collector: c, collectors: make(map[entityAddress]trace.Address), groups: make(map[entityAddress]bool), added: make(map[string]bool)}
	for _, key := range c.keys {
		process := c.processes[key]
		where := c.place(&process.ProcessKey, process.PID, 0)
		distro := max(process.Distro, ironDistro)
		if err := c.emit(caretInit, c.first, &where, number(c.first-offset), value{text: distro}); err != nil {
			return err
		}
	}
	err := scan(ctx, c, d, trace.TableExecutor, func(row *trace.Executor) error {
		e.collectors[entityAddress{row.ProcessKey, row.Executor}] = cmp.Or(row.EntitiesCollector, row.Executor)
		return nil
	})
	if err != nil {
		return err
	}
	err = scan(ctx, c, d, trace.TableCallbackGroup, func(row *trace.CallbackGroup) error {
		e.groups[entityAddress{row.ProcessKey, row.CallbackGroup}] = true
		return nil
	})
	if err != nil {
		return err
	}
	for _, read := range []func() error{
		func() error { return scanWanted(ctx, c, d, trace.TableContext, e.context) },
		func() error { return scanWanted(ctx, c, d, trace.TableNode, e.node) },
		func() error { return scanWanted(ctx, c, d, trace.TablePublisher, e.publisher) },
		func() error { return scanWanted(ctx, c, d, trace.TableSubscription, e.subscription) },
		func() error { return scanWanted(ctx, c, d, trace.TableTimer, e.timer) },
		func() error { return scanWanted(ctx, c, d, trace.TableServiceServer, e.service) },
		func() error { return scanWanted(ctx, c, d, trace.TableClient, e.client) },
		func() error { return scanWanted(ctx, c, d, trace.TableCallbackInfo, e.callbackInfo) },
		func() error { return scanWanted(ctx, c, d, trace.TableCallbackGroup, e.callbackGroup) },
		func() error { return scanWanted(ctx, c, d, trace.TableExecutor, e.executor) },
		func() error { return scanWanted(ctx, c, d, trace.TableLifecycleStateMachine, e.stateMachine) },
	} {
		if err := read(); err != nil {
			return err
		}
	}
	return nil
}

// entityRow is whose events are added, and when it began.
type entityRow struct {
	*entityEvents
	at    int64
	where place
	err   error
}

func (e *entityEvents) row(of *trace.ProcessKey, init trace.Optional[int64]) *entityRow {
	r := &entityRow{entityEvents: e, at: e.first, where: e.place(of, of.PID, 0)}
	if init.Valid {
		r.at = init.Value
	}
	return r
}

// known is an address that an event must have, by the name of its field. must are what the event is left out without.
type known struct {
	name    string
	address trace.Address
}

// add adds an event once. It is left out where something is not known that it must have.
func (r *entityRow) add(of event, must []known, values ...value) {
	if r.err != nil {
		return
	}
	for _, m := range must {
		if m.address == 0 {
			r.leaveOut(of, "without "+m.name)
			return
		}
	}
	text := string(appendEvent(r.buffer[:0], of, r.tracepoints[of].fields, r.at, &r.where, values))
	if r.added[text] {
		return
	}
	r.added[text] = true
	r.err = r.emit(of, r.at, &r.where, values...)
}

// addTo adds the event that something is in a callback group.
func (r *entityRow) addTo(of event, process trace.ProcessKey, group trace.Address, member known) {
	if group != 0 && !r.groups[entityAddress{process, group}] {
		r.leaveOut(of, "with an unknown callback group")
	}
	r.add(of, []known{{"callback_group_addr", group}, member}, number(group), number(member.address))
}

// addWithGID adds the event by which the middleware's object gets its gid, which is zeros where it is not known.
func (r *entityRow) addWithGID(of event, handle known, gid string) {
	bytes, err := hex.DecodeString(gid)
	if err != nil || len(bytes) == 0 {
		bytes = nil
		if handle.address != 0 {
			r.leaveOut(of, "of which the gid is not known: it is zeros")
		}
	}
	r.add(of, []known{handle}, number(handle.address), value{text: string(bytes)})
}

func (e *entityEvents) context(row *trace.Context) error {
	r := e.row(&row.ProcessKey, row.InitTimestamp)
	r.add(rclInit, nil, number(row.ContextHandle), value{text: tracetoolsVersion})
	return r.err
}

func (e *entityEvents) node(row *trace.Node) error {
	r := e.row(&row.ProcessKey, row.InitTimestamp)
	if row.NodeName == "" || row.Namespace == "" {
		r.leaveOut(rclNodeInit, "without a name")
		return nil
	}
	r.add(rclNodeInit, nil, number(row.NodeHandle), number(row.RMWHandle), value{text: row.NodeName}, value{text: row.Namespace})
	return r.err
}

func (e *entityEvents) publisher(row *trace.Publisher) error {
	r := e.row(&row.ProcessKey, row.InitTimestamp)
	r.addWithGID(rmwPublisherInit, known{"rmw_publisher_handle", row.RMWPublisherHandle}, row.GID)
	if row.TopicName == "" {
		r.leaveOut(rclPublisherInit, "without topic_name")
		return r.err
	}
	r.add(rclPublisherInit, []known{{"node_handle", row.NodeHandle}}, number(row.PublisherHandle), number(row.NodeHandle),
		number(row.RMWPublisherHandle), value{text: row.TopicName}, number(row.QueueDepth.Value))
	return r.err
}

func (e *entityEvents) subscription(row *trace.Subscription) error {
	r := e.row(&row.ProcessKey, row.InitTimestamp)
	handle, owner := known{"subscription_handle", row.SubscriptionHandle}, known{"subscription", row.Subscription}
	if row.TopicName == "" {
		r.leaveOut(rclSubscriptionInit, "without topic_name")
	} else {
		// What gid a subscription has is not recorded.
		rmwHandle := known{"rmw_subscription_handle", row.RMWSubscriptionHandle}
		r.add(rmwSubscriptionInit, []known{rmwHandle}, number(row.RMWSubscriptionHandle), value{})
		r.add(rclSubscriptionInit, []known{handle, {"node_handle", row.NodeHandle}}, number(row.SubscriptionHandle), number(row.NodeHandle),
			number(row.RMWSubscriptionHandle), value{text: row.TopicName}, number(row.QueueDepth.Value))
	}
	r.add(rclcppSubscriptionInit, []known{handle, owner}, number(row.SubscriptionHandle), number(row.Subscription))
	at := r.at
	if row.Buffer != 0 {
		// Of a subscription's two callbacks, CARET takes the earlier one for that of intra-process messages. Those that
		// were made before the recording have one time.
		r.at--
	}
	r.add(rclcppSubscriptionCallbackAdded, []known{owner, {"callback", row.Callback}}, number(row.Subscription), number(row.Callback))
	r.at = at
	if row.CallbackGroup != 0 {
		r.addTo(callbackGroupAddSubscription, row.ProcessKey, row.CallbackGroup, handle)
	}
	if row.Buffer != 0 {
		buffer, ipb := known{"buffer", row.Buffer}, known{"ipb", row.IPB}
		r.add(rclcppConstructRingBuffer, nil, number(row.Buffer), number(row.Capacity.Value))
		r.add(rclcppBufferToIPB, []known{buffer, ipb}, number(row.Buffer), number(row.IPB))
		r.add(rclcppIPBToSubscription, []known{ipb, owner}, number(row.IPB), number(row.Subscription))
	}
	return r.err
}

func (e *entityEvents) timer(row *trace.Timer) error {
	r := e.row(&row.ProcessKey, row.InitTimestamp)
	if row.Period.Valid {
		r.add(rclTimerInit, nil, number(row.TimerHandle), number(row.Period.Value))
	} else {
		r.leaveOut(rclTimerInit, "without period")
	}
	e.own(row.ProcessKey, row.Callback, row.TimerHandle)
	r.add(rclcppTimerCallbackAdded, []known{{"callback", row.Callback}}, number(row.TimerHandle), number(row.Callback))
	r.add(rclcppTimerLinkNode, []known{{"node_handle", row.NodeHandle}}, number(row.TimerHandle), number(row.NodeHandle))
	r.addTo(callbackGroupAddTimer, row.ProcessKey, row.CallbackGroup, known{"timer_handle", row.TimerHandle})
	return r.err
}

func (e *entityEvents) service(row *trace.ServiceServer) error {
	r := e.row(&row.ProcessKey, row.InitTimestamp)
	if row.ServiceName == "" {
		r.leaveOut(rclServiceInit, "without service_name")
	} else {
		r.add(rclServiceInit, []known{{"node_handle", row.NodeHandle}}, number(row.ServiceHandle), number(row.NodeHandle),
			number(row.RMWServiceHandle), value{text: row.ServiceName})
	}
	e.own(row.ProcessKey, row.Callback, row.ServiceHandle)
	r.add(rclcppServiceCallbackAdded, []known{{"callback", row.Callback}}, number(row.ServiceHandle), number(row.Callback))
	r.addTo(callbackGroupAddService, row.ProcessKey, row.CallbackGroup, known{"service_handle", row.ServiceHandle})
	return r.err
}

func (e *entityEvents) client(row *trace.Client) error {
	r := e.row(&row.ProcessKey, row.InitTimestamp)
	r.addWithGID(rmwClientInit, known{"rmw_client_handle", row.RMWClientHandle}, row.GID)
	if row.ServiceName == "" {
		r.leaveOut(rclClientInit, "without service_name")
	} else {
		r.add(rclClientInit, []known{{"node_handle", row.NodeHandle}}, number(row.ClientHandle), number(row.NodeHandle),
			number(row.RMWClientHandle), value{text: row.ServiceName})
	}
	if row.CallbackGroup != 0 {
		r.addTo(callbackGroupAddClient, row.ProcessKey, row.CallbackGroup, known{"client_handle", row.ClientHandle})
	}
	return r.err
}

func (e *entityEvents) callbackInfo(row *trace.CallbackInfo) error {
	r := e.row(&row.ProcessKey, row.InitTimestamp)
	if row.Symbol == "" {
		r.leaveOut(rclcppCallbackRegister, "of which the symbol is not known: it says so")
	}
	r.add(rclcppCallbackRegister, nil, number(row.Callback), value{text: cmp.Or(row.Symbol, "unknown")})
	return r.err
}

func (e *entityEvents) callbackGroup(row *trace.CallbackGroup) error {
	r := e.row(&row.ProcessKey, row.InitTimestamp)
	if row.GroupTypeName == "" {
		r.leaveOut(callbackGroupToExecutorEntityCollector, "without group_type_name")
		return nil
	}
	collector := known{"entities_collector_addr", e.collectors[entityAddress{row.ProcessKey, row.Executor}]}
	r.add(callbackGroupToExecutorEntityCollector, []known{collector}, number(collector.address), number(row.CallbackGroup), value{text: string(row.GroupTypeName)})
	return r.err
}

func (e *entityEvents) executor(row *trace.Executor) error {
	r := e.row(&row.ProcessKey, row.InitTimestamp)
	collector := e.collectors[entityAddress{row.ProcessKey, row.Executor}]
	r.add(executorEntityCollectorToExecutor, nil, number(row.Executor), number(collector))
	if row.ExecutorType == "" {
		r.leaveOut(constructExecutor, "of which the type is not known: it says so")
	}
	r.add(constructExecutor, nil, number(row.Executor), value{text: cmp.Or(row.ExecutorType, "unknown")})
	return r.err
}

func (e *entityEvents) stateMachine(row *trace.LifecycleStateMachine) error {
	r := e.row(&row.ProcessKey, row.InitTimestamp)
	r.add(rclLifecycleStateMachineInit, []known{{"node_handle", row.NodeHandle}}, number(row.NodeHandle), number(row.StateMachine))
	return r.err
}
