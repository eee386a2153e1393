package entities

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/layouts"
	"github.com/caret-bpf/caret-bpf/trace"
)

// The classes of intra-process subscriptions as GCC names them: with the standard allocator, and with one of the user's
// own.
const (
	standardIntraProcess = "N6rclcpp12experimental24SubscriptionIntraProcessIN8std_msgs3msg7String_ISaIvEEES6_SaIS6_ESt14default_deleteIS6_ES6_S5_EE"
	ownIntraProcess      = "N6rclcpp12experimental24SubscriptionIntraProcessIN8std_msgs3msg7String_ISaIvEEES6_7MyAllocIS6_E" +
		"NS_9allocator16AllocatorDeleterIS7_IvEEES6_SB_EE"
)

// intraProcessWorld is a world whose intra-process subscription has a class, and its callback as much further on than
// usual.
func intraProcessWorld(t *testing.T, m *image, class string, shift trace.Address) (w *world, callback trace.Address) {
	w = newWorld(t, m)
	m.instance(w.intra, m.typeInfo(class), 0)
	return w, m.callbackOf(layouts.OwnerSubscriptionIntraProcess, w.intra) + shift
}

// TestAllocatorMovesTheCallback: an allocator of the user's own and its deleter push the callback of an intra-process
// subscription further on. Where, only its first execution tells: the usual place is none.
func TestAllocatorMovesTheCallback(t *testing.T) {
	eachLayout(t, func(t *testing.T, m *image) {
		for name, test := range map[string]struct {
			class string
			shift trace.Address
			known bool
		}{
			"the standard allocator":             {standardIntraProcess, 0, true},
			"the standard allocator, elsewhere":  {standardIntraProcess, 8, false},
			"an own one":                         {ownIntraProcess, 8, true},
			"an own one with members":            {ownIntraProcess, 24, true},
			"an own one, at the usual place":     {ownIntraProcess, 0, false},
			"an own one, further than it can be": {ownIntraProcess, maxShift + 8, false},
		} {
			m := newImage(t, m.layout.Distro, m.layout.Machine)
			w, callback := intraProcessWorld(t, m, test.class, test.shift)
			g := m.graph()
			g.NumberBy(new(Numbers))
			g.Apply(snapshotOf(t, m, 10))
			for _, row := range g.Rows(false).Subscriptions {
				if row.Subscription == trace.Address(w.intra) && (row.Callback != 0) != (test.class == standardIntraProcess) {
					t.Errorf("%s: before it was executed %+v", name, row)
				}
			}
			info, ok := g.Callback(callback, 20)
			if ok != test.known || ok && (info.Kind != trace.KindIntraProcessSubscription || info.NodeName != "/demo/talker" || info.OwnerHandle == 0) {
				t.Errorf("%s: %+v, %v", name, info, ok)
			}
			if buffer := g.BufferOfCallback(callback, 20); (buffer != 0) != test.known {
				t.Errorf("%s: buffer %v", name, buffer)
			}
			entities := make(map[uint64]bool)
			for _, row := range g.Rows(true).Subscriptions {
				if row.Subscription == trace.Address(w.intra) {
					entities[row.Entity] = true
				}
			}
			if len(entities) > 1 {
				t.Errorf("%s: one object is %d entities", name, len(entities))
			}
		}
	})
}

// TestAllocatorDoesNotHideTheKind: the event that adds the callback of an intra-process subscription with an allocator
// of the user's own.
func TestAllocatorDoesNotHideTheKind(t *testing.T) {
	eachLayout(t, func(t *testing.T, m *image) {
		w, callback := intraProcessWorld(t, m, ownIntraProcess, 8)
		g := m.graph()
		g.Init(event(abi.EventRclcppSubscriptionCallbackAdded, 10, w.intra, callback))
		if info, ok := g.Callback(callback, 20); !ok || info.Kind != trace.KindIntraProcessSubscription || g.BufferOfCallback(callback, 20) == 0 {
			t.Errorf("%+v, %v", info, ok)
		}
	})
}
