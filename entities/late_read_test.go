package entities

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestWhatWasReadAfterAnEndIsForgotten: the memory of an entity that had ended when it was read may be its successor's
// by then.
func TestWhatWasReadAfterAnEndIsForgotten(t *testing.T) {
	eachLayout(t, func(t *testing.T, m *image) {
		want := newWorld(t, m).rows()
		timer, publisher := want.Timers[0], want.Publishers[0]
		const read = 100
		for name, test := range map[string]struct {
			end   int64
			known bool
		}{"it ended before": {50, false}, "it ended then": {read, false}, "it ended later": {150, true}} {
			g := m.graph()
			g.ReadBy(func() int64 { return read })
			g.Init(event(abi.EventRclTimerInit, 10, timer.TimerHandle, 500_000_000))
			g.Init(event(abi.EventRclcppTimerCallbackAdded, 11, timer.TimerHandle, timer.Callback))
			if info, ok := g.Callback(timer.Callback, 12); !ok || info.Symbol == "" {
				t.Fatalf("%s: nothing was read: %+v, %v", name, info, ok)
			}
			g.Init(event(abi.EventRclTimerFini, test.end, timer.TimerHandle))
			for _, row := range g.Rows(true).CallbackInfos {
				if (row.Symbol != "") != test.known {
					t.Errorf("%s: %+v", name, row)
				}
			}
		}
		g := m.graph()
		g.ReadBy(func() int64 { return read })
		g.Init(event(abi.EventRclTimerInit, 10, timer.TimerHandle, 500_000_000))
		g.Init(event(abi.EventRclcppTimerCallbackAdded, 11, timer.TimerHandle, timer.Callback))
		g.Init(event(abi.EventRclcppCallbackRegister, 12, timer.Callback, "main::tick()"))
		g.Init(event(abi.EventRclTimerFini, 50, timer.TimerHandle))
		if rows := g.Rows(true).CallbackInfos; len(rows) != 1 || rows[0].Symbol != "main::tick()" {
			t.Errorf("what an event has told: %+v", rows)
		}
		g.Init(event(abi.EventRclPublisherInit, 110, publisher.PublisherHandle, 0, publisher.RMWPublisherHandle, "/chatter", 1))
		g.Init(event(abi.EventAddPublisher, 111, publisher.PublisherHandle, m.publisherObject(publisher.PublisherHandle)))
		if p, _ := g.Publisher(publisher.PublisherHandle, 112); p == nil || p.MessageType != "std_msgs/msg/String" {
			t.Fatalf("publisher %+v", p)
		}
		g.ReadBy(func() int64 { return 200 })
		g.Init(event(abi.EventRclPublisherFini, 120, publisher.PublisherHandle))
		for _, row := range g.Rows(true).Publishers {
			if row.PublisherHandle == publisher.PublisherHandle && row.MessageType == "" {
				t.Errorf("read before the end, and forgotten: %+v", row)
			}
		}
	})
}

// publisherObject makes an rclcpp publisher of a handle.
func (m *image) publisherObject(handle trace.Address) uint64 {
	object := m.object()
	m.class(object, "N6rclcpp9PublisherIN8std_msgs3msg7String_ISaIvEEESaIvEEE")
	m.set(object+m.layout.PublisherBase.PublisherHandle, uint64(handle))
	return object
}
