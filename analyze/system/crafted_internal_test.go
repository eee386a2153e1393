package system

import (
	"fmt"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
)

// craftedRows are so many that steps which grow with their square take minutes for each case.
const craftedRows = 200_000

// follow returns the lives of entities that follow each other.
func follow(i int) (init, end trace.Optional[int64]) {
	return trace.Some(int64(10 * i)), trace.Some(int64(10*i + 5))
}

// TestCraftedEntitiesAreToldApartInTime: a dataset that is made for it has all that is looked for at one place. No case
// takes a second unless looking grows with what is there.
func TestCraftedEntitiesAreToldApartInTime(t *testing.T) {
	t.Parallel()
	key := trace.ProcessKey{BootID: "boot", PID: 1}
	telling := func(i int) trace.Telling { return trace.Telling{Entity: uint64(i + 1), Revision: uint64(i + 1)} }
	node := func(i int, handle trace.Address, name string) trace.Node {
		init, end := follow(i)
		return trace.Node{ProcessKey: key, NodeHandle: handle, NodeName: name, Namespace: "/", InitTimestamp: init, EndTimestamp: end, Telling: telling(i)}
	}
	publisher := func(i int, p trace.Publisher) trace.Publisher {
		p.ProcessKey, p.Telling = key, telling(i)
		p.InitTimestamp, p.EndTimestamp = follow(i)
		return p
	}
	for _, c := range []struct {
		name string
		add  func(l *Loader, i int)
		// check fails unless the last entities belong together.
		check func(a *Architecture) bool
	}{
		{"rows without numbers at one address", func(l *Loader, i int) {
			init, end := follow(i)
			l.publishers.add(&trace.Publisher{ProcessKey: key, PublisherHandle: 1, TopicName: "/t", InitTimestamp: init})
			l.publishers.add(&trace.Publisher{ProcessKey: key, PublisherHandle: 1, TopicName: "/t", InitTimestamp: init, EndTimestamp: end})
		}, func(a *Architecture) bool { return len(a.Nodes[0].Publishers) == craftedRows }},
		{"rows without numbers, whose begins are unknown", func(l *Loader, i int) {
			_, end := follow(i)
			l.publishers.add(&trace.Publisher{ProcessKey: key, PublisherHandle: 1, TopicName: "/t", EndTimestamp: end})
		}, func(a *Architecture) bool { return len(a.Nodes[0].Publishers) == craftedRows }},
		{"nodes at one address", func(l *Loader, i int) {
			n := node(i, 1, fmt.Sprint("node_", i))
			l.nodes.add(&n)
			p := publisher(i, trace.Publisher{NodeHandle: 1})
			l.publishers.add(&p)
		}, func(a *Architecture) bool { return len(a.Nodes) == craftedRows && len(a.Nodes[0].Publishers) == 1 }},
		{"nodes known by name", func(l *Loader, i int) {
			n := node(i, trace.Address(i+1), "node")
			l.nodes.add(&n)
			p := publisher(i, trace.Publisher{NodeName: "/node"})
			l.publishers.add(&p)
		}, func(a *Architecture) bool { return len(a.Nodes) == craftedRows && len(a.Nodes[0].Publishers) == 1 }},
		{"names of one node each", func(l *Loader, i int) {
			n := node(i, trace.Address(i+1), fmt.Sprint("node_", i))
			l.nodes.add(&n)
			p := publisher(i, trace.Publisher{NodeName: fmt.Sprint("/node_", i)})
			l.publishers.add(&p)
		}, func(a *Architecture) bool { return len(a.Nodes) == craftedRows && len(a.Nodes[0].Publishers) == 1 }},
		{"subscriptions at one address, the last ones first", func(l *Loader, i int) {
			s := trace.Subscription{ProcessKey: key, SubscriptionHandle: 1, Subscription: trace.Address(i + 1), Telling: telling(i), TopicName: "/t", Callback: 2}
			s.InitTimestamp, s.EndTimestamp = follow(craftedRows - i)
			l.subscriptions.add(&s)
		}, func(a *Architecture) bool { return len(a.Nodes[0].Subscriptions) == craftedRows }},
		{"timers with one callback", func(l *Loader, i int) {
			timer := trace.Timer{ProcessKey: key, TimerHandle: 1, Callback: 2, CallbackGroup: 3, Telling: telling(i)}
			timer.InitTimestamp, timer.EndTimestamp = follow(i)
			l.timers.add(&timer)
			info := trace.CallbackInfo{ProcessKey: key, Callback: 2, Symbol: "f", Telling: telling(i)}
			info.InitTimestamp, info.EndTimestamp = follow(i)
			l.callbacks.add(&info)
			group := trace.CallbackGroup{ProcessKey: key, CallbackGroup: 3, Executor: 4, Telling: telling(i)}
			group.InitTimestamp, group.EndTimestamp = follow(i)
			l.groups.add(&group)
			executor := trace.Executor{ProcessKey: key, Executor: 4, Telling: telling(i)}
			executor.InitTimestamp, executor.EndTimestamp = follow(i)
			l.executors.add(&executor)
		}, func(a *Architecture) bool {
			n := a.Nodes[0]
			return len(n.Callbacks) == craftedRows && n.Callbacks[0].Symbol == "f" && len(n.CallbackGroups[0].Callbacks) == 1 && len(a.Executors[0].Groups) == 1
		}},
		{"a group of many callbacks, an executor of many groups", func(l *Loader, i int) {
			timer := trace.Timer{ProcessKey: key, TimerHandle: 1, Callback: trace.Address(i + 1), CallbackGroup: 1, Telling: telling(i)}
			l.timers.add(&timer)
			group := trace.CallbackGroup{ProcessKey: key, CallbackGroup: trace.Address(i + 1), Executor: 4, Telling: telling(i)}
			l.groups.add(&group)
			if i == 0 {
				l.executors.add(&trace.Executor{ProcessKey: key, Executor: 4, Telling: telling(i)})
			}
		}, func(a *Architecture) bool {
			return len(a.Nodes[0].CallbackGroups[0].Callbacks) == craftedRows && len(a.Executors[0].Groups) == craftedRows
		}},
		{"a topic of which no two live at once", func(l *Loader, i int) {
			p := publisher(i, trace.Publisher{PublisherHandle: 1, TopicName: "/t"})
			l.publishers.add(&p)
			s := trace.Subscription{ProcessKey: key, SubscriptionHandle: 1, Subscription: 1, Telling: telling(i), TopicName: "/t"}
			s.InitTimestamp, s.EndTimestamp = follow(i)
			l.subscriptions.add(&s)
		}, func(a *Architecture) bool { return len(a.Communications) == craftedRows }},
		{"a publisher of many callbacks", func(l *Loader, i int) {
			timer := trace.Timer{ProcessKey: key, TimerHandle: 1, Callback: trace.Address(i + 1), Telling: telling(i)}
			l.timers.add(&timer)
			if i == 0 {
				l.publishers.add(&trace.Publisher{ProcessKey: key, PublisherHandle: 1, TopicName: "/t", Telling: telling(i)})
			}
		}, func(a *Architecture) bool { return len(a.Nodes[0].Publishers[0].Callbacks) == craftedRows }},
		{"rows of one address", func(l *Loader, i int) {
			timer := trace.Timer{ProcessKey: key, TimerHandle: 1, Callback: 2, Telling: telling(i)}
			timer.InitTimestamp, timer.EndTimestamp = follow(i)
			l.timers.add(&timer)
		}, func(a *Architecture) bool {
			lookup := NewLookup(a.Index().Callbacks)
			for i := range int64(craftedRows) {
				c, sure := a.Index().Callbacks[Place{key, 2}].during(trace.Span{First: 10 * i, Last: 10*i + 4})
				if c == nil || !sure || c.Life.Init.Value != 10*i || a.CallbackAt(key, 2, 10*i+4) != c || lookup.Find(&key, 2, 10*i) != c || lookup.Find(&key, 2, 10*i+5) != c || lookup.Find(&key, 2, 10*i+6) != nil {
					return false
				}
			}
			return true
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLoader()
			for i := range craftedRows {
				c.add(l, i)
			}
			l.build()
			for _, n := range l.result.Nodes { // as if each callback had published with the first publisher
				for _, callback := range n.Callbacks {
					if len(n.Publishers) > 0 {
						l.publishes[publishedIn{callback, n.Publishers[0]}]++
					}
				}
			}
			l.finish()
			if !c.check(l.result) {
				t.Errorf("%d nodes, %d communications", len(l.result.Nodes), len(l.result.Communications))
			}
		})
	}
}

// Of communications as many are known as there is memory for, and a file that has more is refused.
func TestCommunicationsAreLimited(t *testing.T) {
	for _, c := range []struct {
		limit, want int
		complete    bool
	}{{0, 0, false}, {1, 1, false}, {5, 5, false}, {6, 6, true}, {7, 6, true}} {
		n := &Node{Name: "/n"}
		for range 2 {
			n.Publishers = append(n.Publishers, &Publisher{Node: n, TopicName: "/t"})
		}
		for range 3 {
			n.Subscriptions = append(n.Subscriptions, &Subscription{Node: n, TopicName: "/t"})
		}
		a := &Architecture{Nodes: []*Node{n}}
		if complete := a.connect(c.limit); complete != c.complete || len(a.Communications) != c.want {
			t.Errorf("up to %d: %d, complete %t", c.limit, len(a.Communications), complete)
		}
	}
}
