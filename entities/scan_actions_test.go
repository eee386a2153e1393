package entities

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
)

// action makes a waitable of a group that leads to handles of rcl: object, implementation, rcl_action_*_t, its
// implementation.
func (w *world) action(typeName string, handles ...uint64) (waitable, first uint64) {
	m := w.image
	waitable, implementation, action := m.object(), m.object(), m.object()
	first = m.words(handles...)
	m.instance(waitable, m.typeInfo(typeName), 0)
	m.set(waitable+40, implementation)
	m.set(implementation+72, action)
	m.set(action, first)
	return waitable, first
}

// impl returns the implementation that a handle leads to: handles inside others are copies with the same one.
func (w *world) impl(handle uint64) uint64 { return w.get(handle) }

const fibonacci = "N7example6action9FibonacciEE"

func TestScanOfActions(t *testing.T) {
	eachLayout(t, func(t *testing.T, m *image) {
		w := newWorld(t, m)
		publisher := func(topic string) uint64 { handle, _ := m.publisher(topic, 1); return w.impl(handle) }
		subscription := func(topic string) uint64 { handle, _ := m.subscription(topic, 1); return w.impl(handle) }
		service := func(name string) uint64 { return w.impl(m.service(name)) }
		client := func(name string) uint64 { return w.impl(m.client(name)) }
		server, services := w.action(actionServerName+fibonacci,
			service("/f/_action/send_goal"), service("/f/_action/cancel_goal"), service("/f/_action/get_result"),
			publisher("/f/_action/feedback"), publisher("/f/_action/status"), w.impl(m.timer(9e11)))
		caller, clients := w.action(actionClientName+fibonacci,
			client("/g/_action/send_goal"), client("/g/_action/cancel_goal"), client("/g/_action/get_result"),
			subscription("/g/_action/feedback"), subscription("/g/_action/status"))
		mixed, _ := w.action(actionServerName+fibonacci,
			service("/f/_action/send_goal"), service("/other/_action/cancel_goal"), service("/f/_action/get_result"))
		m.vector(w.group+m.layout.CallbackGroup.Waitables, server, caller, mixed, w.timer)
		rows := scanned(t, m, m)
		if len(rows.ServiceServers) != 1+3 || len(rows.Publishers) != 1+2 || len(rows.Clients) != 1+3 || len(rows.Subscriptions) != 2+2 ||
			len(rows.Timers) != 1+1 {
			t.Fatalf("found %+v", rows)
		}
		for _, row := range rows.ServiceServers {
			if row.ServiceHandle == trace.Address(services+8) && (row.ServiceName != "/f/_action/cancel_goal" || row.NodeName != "/demo/talker" ||
				row.ServiceType != "action_msgs/srv/CancelGoal" || row.CallbackGroup != trace.Address(w.group)) {
				t.Errorf("service %+v", row)
			}
		}
		for _, row := range rows.Timers {
			if row.TimerHandle == trace.Address(services+40) && (row.Period != trace.Some(int64(9e11)) || row.NodeName != "/demo/talker" || row.Callback != 0) {
				t.Errorf("timer %+v", row)
			}
		}
		for _, row := range rows.Publishers {
			if row.PublisherHandle == trace.Address(services+24) && (row.MessageType != "example/action/Fibonacci_FeedbackMessage" ||
				row.NodeHandle != trace.Address(w.nodeHandle)) {
				t.Errorf("publisher %+v", row)
			}
		}
		for _, row := range rows.Clients {
			if row.ClientHandle == trace.Address(clients) && row.ServiceType != "example/action/Fibonacci_SendGoal" {
				t.Errorf("client %+v", row)
			}
		}
		for _, row := range rows.Subscriptions {
			if row.SubscriptionHandle == trace.Address(clients+32) && (row.MessageType != "action_msgs/msg/GoalStatusArray" || row.Subscription != 0) {
				t.Errorf("subscription %+v", row)
			}
		}
	})
}

func TestScanOfManagedNode(t *testing.T) {
	for topic, known := range map[string]bool{"/demo/talker/transition_event": true, "/something_else": false} {
		eachLayout(t, func(t *testing.T, m *image) {
			w := newWorld(t, m)
			m.instance(w.service, m.typeInfo(serviceName+"N14lifecycle_msgs3srv11ChangeStateEEE", m.base(serviceBaseName)), 0)
			publisher, _ := m.publisher(topic, 1)
			node, implementation := m.allocate(&m.heap, 2048), m.object()
			m.instance(node, m.typeInfo("15LifecycleTalker", m.base(lifecycleNodeName)), 0)
			m.set(node+832, implementation)
			machine := implementation + 40
			m.set(machine+m.layout.StateMachine.TransitionEvent, w.impl(publisher))
			m.set(machine+m.layout.StateMachine.ChangeState, w.impl(m.get(w.service+m.layout.ServiceBase.ServiceHandle)))
			rows := scanned(t, m, m)
			want := trace.LifecycleStateMachine{
				ProcessKey: testKey, StateMachine: trace.Address(machine), NodeHandle: trace.Address(w.nodeHandle), NodeName: "/demo/talker",
				Provenance: trace.FromMemory,
			}
			if found := len(rows.LifecycleStateMachines) == 1 && rows.LifecycleStateMachines[0] == want; found != known {
				t.Errorf("%s: state machines %+v", topic, rows.LifecycleStateMachines)
			}
			if found := len(rows.Publishers) == 2; found != known {
				t.Errorf("%s: publishers %+v", topic, rows.Publishers)
			}
		})
	}
}
