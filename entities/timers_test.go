package entities

import (
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/elffile"
	"github.com/caret-bpf/caret-bpf/trace"
)

// functorPlaces are where functors of some alignments lie behind a TimerBase that ends 7 bytes before a multiple of 8.
func functorPlaces(m *image) map[string]uint64 {
	end := m.layout.TimerBase.End
	wide := (end + 63) &^ 63
	return map[string]uint64{"empty or a byte": end, "two bytes": end + 1, "alignment 4": end + 3, "pointer": end + 7, "alignment 64": wide}
}

// timerAt makes a timer at an address, without code.
func (m *image) timerAt(object uint64) (handle trace.Address) {
	m.class(object, talkerTimer)
	timer := m.timer(1e9)
	m.set(object+m.layout.TimerBase.TimerHandle, timer)
	return trace.Address(timer)
}

// wideObject is room for an object of large alignment.
func (m *image) wideObject() uint64 { return (m.allocate(&m.heap, 1024) + 255) &^ 255 }

func TestCallbackOfTimerLiesWhereItsCodeSays(t *testing.T) {
	eachLayout(t, func(t *testing.T, m *image) {
		for name, place := range functorPlaces(m) {
			object := m.wideObject()
			timer := m.timerAt(object)
			m.executes(object, elffile.Member{Offsets: []int64{int64(place)}, Address: true})
			callback := trace.Address(object + place)
			got, ok := m.graph().Callback(callback, 1)
			if !ok || got.OwnerHandle != timer || got.Kind != trace.KindTimer {
				t.Errorf("%s: %+v, %v", name, got, ok)
			}
			for other, elsewhere := range functorPlaces(m) {
				if elsewhere == functorPlaces(m)[name] {
					continue
				}
				if got, ok := m.graph().Callback(trace.Address(object+elsewhere), 1); ok {
					t.Errorf("%s, executed at the place of %s: %+v", name, other, got)
				}
			}
		}
	})
}

// TestExecutedAddressTellsTheTimer: what is executed at a place where only a timer's functor can lie is that timer's.
func TestExecutedAddressTellsTheTimer(t *testing.T) {
	eachLayout(t, func(t *testing.T, m *image) {
		places := functorPlaces(m)
		for name, place := range places {
			object := m.wideObject()
			timer := m.timerAt(object)
			if got, ok := m.graph().Callback(trace.Address(object+place), 1); !ok || got.OwnerHandle != timer {
				t.Errorf("%s: %+v, %v", name, got, ok)
			}
			for _, elsewhere := range []uint64{0, m.layout.TimerBase.TimerHandle, m.layout.TimerBase.End - 1, place + 8, place + 256} {
				if got, ok := m.graph().Callback(trace.Address(object+elsewhere), 1); ok && elsewhere != places["alignment 64"] {
					t.Errorf("%s, executed at %d: %+v", name, elsewhere, got)
				}
			}
		}
	})
}

// TestAddressInTwoTimersIsNoOnes: one has it behind a large gap, the other at its end.
func TestAddressInTwoTimersIsNoOnes(t *testing.T) {
	eachLayout(t, func(t *testing.T, m *image) {
		object := m.wideObject()
		places := functorPlaces(m)
		if places["alignment 64"] == places["pointer"] {
			t.Skip("there is no gap")
		}
		callback := object + places["alignment 64"]
		m.timerAt(object)
		near := m.timerAt(callback - places["pointer"])
		if got, ok := m.graph().Callback(trace.Address(callback), 1); ok {
			t.Errorf("believed %+v", *got)
		}
		m.executes(object, elffile.Member{Offsets: []int64{int64(places["empty or a byte"])}, Address: true})
		if got, ok := m.graph().Callback(trace.Address(callback), 1); !ok || got.OwnerHandle != near {
			t.Errorf("one timer's code excludes it: %+v, %v", got, ok)
		}
	})
}

func TestImplausibleCodeOfATimer(t *testing.T) {
	eachLayout(t, func(t *testing.T, m *image) {
		end := int64(m.layout.TimerBase.End)
		for name, member := range map[string]elffile.Member{
			"in the base":   {Offsets: []int64{end - 1}, Address: true},
			"before it":     {Offsets: []int64{-8}, Address: true},
			"two steps":     {Offsets: []int64{end + 7, 8}, Address: true},
			"null variable": {Offsets: []int64{end + 7}},
		} {
			object := m.object()
			m.timerAt(object)
			m.executes(object, member)
			if at, err := (reader{view{memory: m}, m.layout}).timerCallback(trace.Address(object)); err == nil {
				t.Errorf("%s: believed to be at %v", name, at)
			}
		}
	})
}

// refer makes the world's timer one that keeps a reference to a variable, and adds others that do; it returns their
// handles.
func (w *world) refer(variable uint64, others int) []trace.Address {
	m, l := w.image, w.layout
	place := (l.TimerBase.End + 7) &^ 7
	timers := []uint64{w.timer}
	var handles []trace.Address
	for range others {
		timers = append(timers, m.object())
	}
	for _, timer := range timers {
		m.set(timer, m.get(w.timer))
		m.set(timer+place, variable)
		if timer != w.timer {
			m.share(timer+l.TimerBase.TimerHandle, m.timer(1e9))
		}
		handles = append(handles, trace.Address(m.get(timer+l.TimerBase.TimerHandle)))
	}
	m.executes(w.timer, elffile.Member{Offsets: []int64{int64(place)}})
	m.vector(w.group+l.CallbackGroup.Timers, timers...)
	return handles
}

func TestTimerThatKeepsAReference(t *testing.T) {
	eachLayout(t, func(t *testing.T, m *image) {
		w := newWorld(t, m)
		variable := m.object() + 3
		timers := w.refer(variable, 0)
		g := m.graph()
		g.Apply(snapshotOf(t, m, 10))
		if got, ok := g.Callback(trace.Address(variable), 20); !ok || got.OwnerHandle != timers[0] || got.Period != trace.Some(int64(5e8)) {
			t.Errorf("%+v, %v", got, ok)
		}
	})
}

func TestSharedVariableIsNoTimersOwn(t *testing.T) {
	eachLayout(t, func(t *testing.T, m *image) {
		w := newWorld(t, m)
		variable := trace.Address(m.object() + 3)
		timers := w.refer(uint64(variable), 1)
		g := m.graph()
		g.Apply(snapshotOf(t, m, 10))
		shared, ok := g.Callback(variable, 20)
		if !ok || shared.Kind != trace.KindTimer || shared.OwnerHandle != 0 || shared.Period.Valid || shared.NodeName != "/demo/talker" {
			t.Errorf("of two timers: %+v, %v", shared, ok)
		}
		g.End(abi.EventRclTimerFini, timers[0], 30)
		if got, ok := g.Callback(variable, 25); !ok || got.OwnerHandle != 0 {
			t.Errorf("before one ended: %+v, %v", got, ok)
		}
		if got, ok := g.Callback(variable, 35); !ok || got.OwnerHandle != timers[1] || got.Period != trace.Some(int64(1e9)) {
			t.Errorf("after one ended: %+v, %v", got, ok)
		}
		g.End(abi.EventRclTimerFini, timers[1], 40)
		if got, ok := g.Callback(variable, 45); ok {
			t.Errorf("after both ended: %+v", got)
		}
	})
}

// TestTimersAnnounceTheirCallbacks: events name the address, so what a timer keeps a reference to is known without its
// code.
func TestTimersAnnounceTheirCallbacks(t *testing.T) {
	eachLayout(t, func(t *testing.T, m *image) {
		variable := trace.Address(m.object() + 3)
		g := m.graph()
		for i, timer := range []int{0x1000, 0x2000} {
			g.Init(event(abi.EventRclTimerInit, int64(10*i+10), timer, 1_000_000*(i+1)))
			g.Init(event(abi.EventRclcppTimerCallbackAdded, int64(10*i+11), timer, variable))
		}
		for time, want := range map[int64]trace.Address{15: 0x1000, 25: 0} {
			if got, ok := g.Callback(variable, time); !ok || got.OwnerHandle != want {
				t.Errorf("at %d: %+v, %v", time, got, ok)
			}
		}
		g.End(abi.EventRclTimerFini, 0x2000, 30)
		if got, ok := g.Callback(variable, 35); !ok || got.OwnerHandle != 0x1000 {
			t.Errorf("after the second ended: %+v, %v", got, ok)
		}
	})
}

// TestNextTimerAtTheSamePlace: nobody saw the end of the one before. Its functor was its own, so it is gone.
func TestNextTimerAtTheSamePlace(t *testing.T) {
	eachLayout(t, func(t *testing.T, m *image) {
		object, callback := m.timerObject(talkerTimer, m.timer(1e9))
		g := m.graph()
		g.Init(event(abi.EventRclTimerInit, 10, 0x1000, 5))
		g.Init(event(abi.EventRclcppTimerCallbackAdded, 11, 0x1000, callback))
		g.Init(event(abi.EventRclTimerInit, 20, 0x2000, 5))
		g.Init(event(abi.EventRclcppTimerCallbackAdded, 21, 0x2000, callback))
		if got, ok := g.Callback(callback, 25); !ok || got.OwnerHandle != 0x2000 || !strings.Contains(got.Symbol, "Talker") {
			t.Errorf("in %#x: %+v, %v", object, got, ok)
		}
	})
}
