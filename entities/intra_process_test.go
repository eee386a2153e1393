package entities

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestSendsIntraProcess: with Cyclone DDS a message names its publisher by an instance handle. The publisher's
// initialization tells it, before anything can be read of the process's memory.
func TestSendsIntraProcess(t *testing.T) {
	const instance, text = 0x0807060504030201, "0102030405060708"
	for name, test := range map[string]struct {
		instance uint64
		intra    bool
		identity string
		want     trace.Optional[bool]
	}{
		"its own, through buffers too":       {instance, true, text, trace.Some(true)},
		"its own, not seen in buffers":       {instance, false, text, trace.Optional[bool]{}},
		"another process's":                  {instance, true, "1112131415161718", trace.Some(false)},
		"the publisher's handle is unknown":  {0, true, text, trace.Optional[bool]{}},
		"the message does not say whose":     {instance, true, "", trace.Optional[bool]{}},
		"a gid, and the publisher's unknown": {instance, true, "00112233445566778899aabbccddeeff", trace.Optional[bool]{}},
	} {
		t.Run(name, func(t *testing.T) {
			g := New(testKey)
			created := event(abi.EventRclPublisherInit, 10, publisherHandle, nodeHandle, rmwPublisher, "/chatter", 1)
			created.Arguments[3] = test.instance
			g.Init(created)
			if test.intra {
				g.NoteIntraProcessPublish(publisherHandle, 20)
			}
			if got := g.SendsIntraProcess("/chatter", test.identity, 30); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

// TestInstanceIsReadWhenMemoryIs: a message that came before memory could be read is no reason never to read it.
func TestInstanceIsReadWhenMemoryIs(t *testing.T) {
	g := New(testKey)
	created := event(abi.EventRclPublisherInit, 10, publisherHandle, nodeHandle, rmwPublisher, "/chatter", 1)
	created.Arguments[3] = 0
	g.Init(created)
	p := g.publishers.lives[publisherHandle][0]
	if got := g.identityOf(p, 2*cycloneClientSize); got != "" || p.noInstance {
		t.Errorf("without memory: %q, given up: %v", got, p.noInstance)
	}
}
