package system

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/caret-bpf/caret-bpf/trace"
)

// nameEntities sorts the entities and gives them names and construction orders, which are the same for every recording
// of the same system where its init events were recorded.
func (l *Loader) nameEntities() {
	a := l.result
	slices.SortStableFunc(a.Nodes, func(x, y *Node) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), CompareProcesses(x.Process, y.Process), compareLives(x.Life, y.Life), cmp.Compare(x.Handle, y.Handle))
	})
	slices.SortStableFunc(a.Executors, func(x, y *Executor) int {
		return cmp.Or(CompareProcesses(x.Process, y.Process), compareLives(x.Life, y.Life), cmp.Compare(x.Address, y.Address))
	})
	for i, e := range a.Executors {
		e.Name = fmt.Sprintf("executor_%d", i)
	}
	for _, n := range a.Nodes {
		n.nameEntities()
	}
	for _, e := range a.Executors {
		slices.SortFunc(e.Groups, func(x, y *CallbackGroup) int {
			return cmp.Or(cmp.Compare(x.Node.Name, y.Node.Name), cmp.Compare(x.position, y.position))
		})
	}
}

// CompareProcesses is an order of processes: by boot, PID and start.
func CompareProcesses(a, b trace.ProcessKey) int {
	return cmp.Or(cmp.Compare(a.BootID, b.BootID), cmp.Compare(a.PID, b.PID), cmp.Compare(a.ProcessStart, b.ProcessStart))
}

// compareLives orders by begin; what was there before the recording comes first.
func compareLives(a, b Life) int {
	if a.Init.Valid != b.Init.Valid {
		if a.Init.Valid {
			return 1
		}
		return -1
	}
	return cmp.Compare(a.Init.Value, b.Init.Value)
}

func (n *Node) nameEntities() {
	slices.SortStableFunc(n.Publishers, func(x, y *Publisher) int {
		return cmp.Or(cmp.Compare(x.TopicName, y.TopicName), compareLives(x.Life, y.Life), cmp.Compare(x.Handle, y.Handle))
	})
	slices.SortStableFunc(n.Subscriptions, func(x, y *Subscription) int {
		return cmp.Or(cmp.Compare(x.TopicName, y.TopicName), compareLives(x.Life, y.Life), cmp.Compare(x.Handle, y.Handle))
	})
	slices.SortStableFunc(n.Timers, func(x, y *Timer) int {
		return cmp.Or(cmp.Compare(x.Period.Value, y.Period.Value), compareLives(x.Life, y.Life), cmp.Compare(x.Handle, y.Handle))
	})
	slices.SortStableFunc(n.Services, func(x, y *Service) int {
		return cmp.Or(cmp.Compare(x.ServiceName, y.ServiceName), compareLives(x.Life, y.Life), cmp.Compare(x.Handle, y.Handle))
	})
	slices.SortStableFunc(n.Clients, func(x, y *Client) int {
		return cmp.Or(cmp.Compare(x.ServiceName, y.ServiceName), compareLives(x.Life, y.Life), cmp.Compare(x.Handle, y.Handle))
	})
	for i, p := range n.Publishers {
		if i > 0 && n.Publishers[i-1].TopicName == p.TopicName {
			p.ConstructionOrder = n.Publishers[i-1].ConstructionOrder + 1
		}
	}
	for i, s := range n.Subscriptions {
		if i > 0 && n.Subscriptions[i-1].TopicName == s.TopicName {
			s.ConstructionOrder = n.Subscriptions[i-1].ConstructionOrder + 1
		}
	}
	n.nameCallbacks()
	n.nameGroups()
}

// callbackKinds is the order in which a node's callbacks are numbered.
var callbackKinds = []trace.CallbackKind{trace.KindTimer, trace.KindSubscription, trace.KindService}

func (n *Node) nameCallbacks() {
	slices.SortStableFunc(n.Callbacks, func(x, y *Callback) int {
		return cmp.Or(compareKindred(x, y), compareLives(x.Life, y.Life), cmp.Compare(x.subscriptionOrder(), y.subscriptionOrder()), cmp.Compare(cmp.Or(x.Address, x.IntraProcessAddress), cmp.Or(y.Address, y.IntraProcessAddress)))
	})
	services := 0
	for _, c := range n.Callbacks {
		if c.Kind == trace.KindService {
			services++
		}
	}
	others, serviceDigits := 0, len(strconv.Itoa(services))
	digits := len(strconv.Itoa(len(n.Callbacks) - services))
	services = 0
	for i, c := range n.Callbacks {
		c.position = i
		if c.Kind == trace.KindService {
			c.Name = fmt.Sprintf("%s/service_callback_%0*d", n.Name, serviceDigits, services)
			services++
		} else {
			c.Name = fmt.Sprintf("%s/callback_%0*d", n.Name, digits, others)
			others++
		}
		if i > 0 && compareKindred(n.Callbacks[i-1], c) == 0 {
			c.ConstructionOrder = n.Callbacks[i-1].ConstructionOrder + 1
		}
	}
}

// compareKindred is 0 for callbacks that only the order of their construction tells apart.
func compareKindred(a, b *Callback) int {
	return cmp.Or(cmp.Compare(slices.Index(callbackKinds, a.Kind), slices.Index(callbackKinds, b.Kind)), cmp.Compare(a.Period.Value, b.Period.Value),
		cmp.Compare(a.TopicName, b.TopicName), cmp.Compare(a.ServiceName, b.ServiceName), cmp.Compare(a.Symbol, b.Symbol))
}

// subscriptionOrder keeps callbacks in the order of their subscriptions where it is unknown when they were made.
func (c *Callback) subscriptionOrder() int {
	if c.Subscription == nil {
		return 0
	}
	return c.Subscription.ConstructionOrder
}

func (n *Node) nameGroups() {
	slices.SortStableFunc(n.CallbackGroups, func(x, y *CallbackGroup) int {
		return cmp.Or(compareLives(x.Life, y.Life), cmp.Compare(x.Address, y.Address))
	})
	for i, g := range n.CallbackGroups {
		g.position = i
		g.Name = fmt.Sprintf("%s/callback_group_%d", n.Name, i)
		slices.SortFunc(g.Callbacks, func(x, y *Callback) int { return cmp.Compare(x.position, y.position) })
	}
}
