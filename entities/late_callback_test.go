package entities

import (
	"debug/elf"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/layouts"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestLateCallbacks: the callback of an intra-process subscription may begin after the rcl subscription was finalized.
// It is still its own, until another one is announced where it is, or might have been.
func TestLateCallbacks(t *testing.T) {
	const fini, later, buffer = 100, 200, 0x8000
	layout, err := layouts.For("humble", elf.EM_X86_64, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		meanwhile func(g *Graph)
		of        func(intra, inter trace.Address) trace.Address
		known     bool
	}{
		"intra-process": {func(*Graph) {}, func(intra, _ trace.Address) trace.Address { return intra }, true},
		"another kind":  {func(*Graph) {}, func(_, inter trace.Address) trace.Address { return inter }, false},
		"events were lost": {
			func(g *Graph) { g.Doubt(fini+10, fini+20) },
			func(intra, _ trace.Address) trace.Address { return intra }, false,
		},
		"events were lost before": {
			func(g *Graph) { g.Doubt(fini-20, fini-10) },
			func(intra, _ trace.Address) trace.Address { return intra }, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			events, intra, inter := startingProcess(layout)
			g := New(testKey)
			g.SetMemory(nil, layout)
			for _, e := range events {
				g.Init(e)
			}
			g.End(abi.EventRclSubscriptionFini, subscriptionHandle, fini)
			test.meanwhile(g)
			address := test.of(intra, inter)
			if object := g.callbacks.lives[address][0].object; object != nil {
				object.current.Buffer = buffer
			}
			if got := g.BufferOfCallback(address, later); (got == buffer) != test.known {
				t.Errorf("buffer %v", got)
			}
			info, known := g.Callback(address, later)
			if known != test.known || known && (info.OwnerHandle != subscriptionHandle || info.TopicName != "/commands") {
				t.Errorf("known: %v, %+v", known, info)
			}
			g.Init(event(abi.EventRclcppSubscriptionCallbackAdded, later+1, 0x9999, address))
			if info, known := g.Callback(address, later+2); known && info.OwnerHandle == subscriptionHandle {
				t.Errorf("another one is announced: %+v", info)
			}
		})
	}
}
