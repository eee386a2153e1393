package entities

import (
	"debug/elf"
	"encoding/binary"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/layouts"
	"github.com/caret-bpf/caret-bpf/trace"
)

// ring is memory in which every address leads somewhere: the words of a seed, again and again, so that pointers go
// around in circles. Every fourth page counts as a read-only mapping of a file.
type ring struct {
	seed  []byte
	reads int
}

func (r *ring) ReadAt(p []byte, address uint64) error {
	r.reads++
	if len(r.seed) == 0 {
		return errUnmapped
	}
	for i := range p {
		p[i] = r.seed[(address+uint64(i))%uint64(len(r.seed))]
	}
	return nil
}

func (r *ring) ReadOnlyFile(address uint64) bool { return address/pageSize%4 == 0 }

// FuzzMemory reads entities out of arbitrary memory: it ends after a bounded number of reads, and what is believed is
// plausible.
func FuzzMemory(f *testing.F) {
	m := newImage(f, "jazzy", elf.EM_X86_64)
	_, callback := m.timerObject(talkerTimer, m.timer(1e9))
	f.Add(m.heap.data[:4096], uint64(callback))
	circle := make([]byte, 64)
	for i := 0; i < len(circle); i += wordSize {
		binary.LittleEndian.PutUint64(circle[i:], uint64(pageSize*4+i))
	}
	f.Add(circle, uint64(pageSize*4))
	f.Add([]byte("rmw_x\x00/a"), uint64(1<<63))
	f.Add([]byte{}, uint64(0))
	f.Fuzz(func(t *testing.T, seed []byte, address uint64) {
		for _, distro := range []string{"humble", "jazzy"} {
			layout, err := layouts.For(distro, elf.EM_AARCH64, nil)
			if err != nil {
				t.Fatal(err)
			}
			memory := &ring{seed: seed}
			g := New(testKey)
			g.SetMemory(memory, layout)
			at := trace.Address(address)
			if c, ok := g.Callback(at, 1); ok && c.Kind == "" {
				t.Errorf("callback without a kind: %+v", c)
			}
			if p, ok := g.Publisher(at, 1); ok && !isTopic(p.TopicName) {
				t.Errorf("publisher %+v", p)
			}
			if p, ok := g.PublisherByRMW(at, 1); ok && !isTopic(p.TopicName) {
				t.Errorf("publisher %+v", p)
			}
			if s, ok := g.SubscriptionByRMW(at, 1); ok && !isTopic(s.TopicName) {
				t.Errorf("subscription %+v", s)
			}
			if n, ok := g.Node(at, 1); ok && (!isBaseName(n.NodeName) || !isName(n.Namespace)) {
				t.Errorf("node %+v", n)
			}
			g.Rows(true)
			const maxReads = 1000
			if memory.reads > maxReads {
				t.Errorf("%d reads", memory.reads)
			}
		}
	})
}

// FuzzInit takes in arbitrary events over a small set of addresses.
func FuzzInit(f *testing.F) {
	f.Add([]byte{21, 1, 2, 3, 22, 2, 1, 4, 24, 5, 6, 7, 25, 6, 8, 9, 27, 1, 1, 1, 31, 2, 3, 4})
	f.Fuzz(func(t *testing.T, script []byte) {
		layout, err := layouts.For("humble", elf.EM_X86_64, nil)
		if err != nil {
			t.Fatal(err)
		}
		g := New(testKey)
		g.SetMemory(nil, layout)
		for i := 0; i+4 <= len(script); i += 4 {
			e := event(abi.Event(20+script[i]%38), int64(i), int(script[i+1]%8), int(script[i+2]%8), int(script[i+3]%8))
			e.String1 = "/name"
			g.Init(e)
			g.Callback(trace.Address(script[i+1]%8), int64(i))
			g.SubscriptionByRMW(trace.Address(script[i+2]%8), int64(i))
			if script[i]&0x80 != 0 {
				g.Rows(false)
			}
		}
		g.Rows(true)
		if rows := rowsByKey(g.Rows(true)); len(rows) != 0 {
			t.Errorf("told twice: %+v", rows)
		}
	})
}
