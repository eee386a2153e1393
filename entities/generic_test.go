package entities

import (
	"debug/elf"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestGenericSubscriptionsAreShown: no event of Humble announces the object of a generic subscription, and it may be
// gone before a scan. Its first callback tells whose it is.
func TestGenericSubscriptionsAreShown(t *testing.T) {
	const (
		rclNode, rclSubscription, rmw = 0x1000, 0x2000, 0x3000
		object, callback              = 0x4000, 0x4168
	)
	initialize := func(g *Graph, at int64, topic string) {
		g.Init(event(abi.EventRclSubscriptionInit, at, trace.Address(rclSubscription), trace.Address(rclNode), trace.Address(rmw), topic, 1))
	}
	show := func(g *Graph, at int64) {
		g.Init(event(abi.EventGenericSubscription, at, trace.Address(rclSubscription), trace.Address(object), trace.Address(callback)))
	}
	owner := func(t *testing.T, g *Graph, at int64, topic string) {
		t.Helper()
		row, ok := g.Callback(callback, at)
		if !ok || row.OwnerHandle != rclSubscription || row.TopicName != topic || row.Kind != trace.KindSubscription {
			t.Errorf("at %d the callback is %+v, %v", at, row, ok)
		}
	}
	g := newImage(t, "humble", elf.EM_X86_64).graph()
	initialize(g, 10, "/first")
	show(g, 20)
	owner(t, g, 20, "/first")
	show(g, 30) // told again, as when other subscriptions were created
	owner(t, g, 30, "/first")
	if rows := g.Rows(true).Subscriptions; len(rows) != 1 || rows[0].Subscription != object || rows[0].Callback != callback {
		t.Errorf("rows %+v", rows)
	}
	g.End(abi.EventRclSubscriptionFini, rclSubscription, 40)
	initialize(g, 50, "/second")
	show(g, 60)
	owner(t, g, 60, "/second")
	owner(t, g, 35, "/first")
	if row, ok := g.Callback(callback, 45); ok {
		t.Errorf("nobody lives there, not %+v", row)
	}
}

// TestGenericSubscriptionOfNobody: a subscription that nothing is known of stays unknown.
func TestGenericSubscriptionOfNobody(t *testing.T) {
	g := newImage(t, "humble", elf.EM_X86_64).graph()
	g.Init(event(abi.EventGenericSubscription, 20, trace.Address(0x2000), trace.Address(0x4000), trace.Address(0x4168)))
	if row, ok := g.Callback(0x4168, 20); ok {
		t.Errorf("the callback is %+v", row)
	}
}
