package entities

import (
	"debug/elf"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
)

// copyHandle makes the word at an address a handle of rcl that is a copy of another one.
func (m *image) copyHandle(at, handle uint64) { m.set(at, m.get(handle)) }

func (m *image) publisherAt(at uint64, topic string) {
	handle, _ := m.publisher(topic, 10)
	m.copyHandle(at, handle)
}

// withStatics is a Space that has the heap of an image among the static variables of librcl.
type withStatics struct{ *image }

func (s withStatics) Mappings() ([]target.Mapping, error) {
	mappings, err := s.image.Mappings()
	mappings[0].Path, mappings[0].Inode = "/opt/lib/librcl.so", 8
	return mappings, err
}

// loggers makes rcl's map of loggers, with publishers of a node.
func (m *image) loggers(node uint64, topics ...string) (hashMap, list uint64) {
	hashMap, buckets := m.object(), m.object()
	list, elements := m.object(), m.object()
	m.set(m.object(), hashMap) // the variable
	m.set(hashMap, buckets)
	m.set(hashMap+mapCapacity, 4)
	m.set(hashMap+mapSize, uint64(len(topics)))
	m.set(hashMap+mapKeySize, rosoutKeySize)
	m.set(hashMap+mapValueSize, rosoutDataSize)
	m.set(hashMap+mapHash, m.allocate(&m.file, 16))
	m.set(buckets+8, list)
	m.set(list+listSize, uint64(len(topics)))
	m.set(list+listElements, elements)
	m.set(list+listValueSize, wordSize)
	for i, topic := range topics {
		entry, value := m.allocate(&m.heap, 32), m.allocate(&m.heap, 32)
		m.set(elements+uint64(i)*wordSize, entry)
		m.set(entry+entryValue, value)
		m.set(value+m.layout.RosoutEntry.Node, node)
		m.publisherAt(value+m.layout.RosoutEntry.Publisher, topic)
	}
	return hashMap, list
}

func TestScanFindsLoggers(t *testing.T) {
	eachLayout(t, func(t *testing.T, m *image) {
		w := newWorld(t, m)
		m.loggers(w.nodeHandle, rosoutTopic)
		rows := scanned(t, m, withStatics{m})
		row := rowOf(rows.Publishers, func(r trace.Publisher) bool { return r.TopicName == rosoutTopic })
		if row.NodeHandle != trace.Address(w.nodeHandle) || row.NodeName != "/demo/talker" || row.MessageType != "rcl_interfaces/msg/Log" ||
			len(rows.Publishers) != 2 {
			t.Errorf("publishers %+v", rows.Publishers)
		}
	})
}

func TestBrokenMapsOfLoggersAreNotBelieved(t *testing.T) {
	for name, damage := range map[string]func(m *image, hashMap, list uint64){
		"values of another size":     func(m *image, hashMap, _ uint64) { m.set(hashMap+mapValueSize, 24) },
		"keys of another size":       func(m *image, hashMap, _ uint64) { m.set(hashMap+mapKeySize, 16) },
		"more entries than it says":  func(m *image, hashMap, _ uint64) { m.set(hashMap+mapSize, 0) },
		"endless buckets":            func(m *image, hashMap, _ uint64) { m.set(hashMap+mapCapacity, 1<<60) },
		"endless list":               func(m *image, _, list uint64) { m.set(list+listSize, 1<<60) },
		"list of something else":     func(m *image, _, list uint64) { m.set(list+listValueSize, 16) },
		"no function to hash with":   func(m *image, hashMap, _ uint64) { m.set(hashMap+mapHash, hashMap) },
		"list that is its own entry": func(m *image, _, list uint64) { m.set(m.get(list+listElements), list) },
	} {
		t.Run(name, func(t *testing.T) {
			eachLayout(t, func(t *testing.T, m *image) {
				w := newWorld(t, m)
				hashMap, list := m.loggers(w.nodeHandle, rosoutTopic)
				damage(m, hashMap, list)
				compareRows(t, rowsByKey(scanned(t, m, withStatics{m})), rowsByKey(w.rows()))
			})
		})
	}
}

// TestLoggersOfNewNodes: rcl initializes the publishers of all nodes at one place on the stack. Each is one publisher,
// and lives as long as its node.
func TestLoggersOfNewNodes(t *testing.T) {
	m := newImage(t, "jazzy", elf.EM_X86_64)
	w := newWorld(t, m)
	m.loggers(w.nodeHandle, rosoutTopic)
	snapshot := scanned(t, m, withStatics{m})
	lasting := rowOf(snapshot.Publishers, func(r trace.Publisher) bool { return r.TopicName == rosoutTopic })
	const stack, other = trace.Address(0x7ffc0000), trace.Address(0x9000)
	g := m.graph()
	g.initPublisher(2, trace.Publisher{
		PublisherHandle: stack, NodeHandle: lasting.NodeHandle, RMWPublisherHandle: lasting.RMWPublisherHandle, TopicName: rosoutTopic,
	}, 0)
	rmwNode := trace.Address(m.get(m.get(w.nodeHandle+m.layout.Node.Impl) + m.layout.Node.RMWHandle))
	g.initNode(2, trace.Node{NodeHandle: lasting.NodeHandle, RMWHandle: rmwNode, NodeName: "talker", Namespace: "/demo"}) // as Humble does
	g.initNode(3, trace.Node{NodeHandle: other, NodeName: "second", Namespace: "/"})
	g.initPublisher(4, trace.Publisher{PublisherHandle: stack, NodeHandle: other, RMWPublisherHandle: 0x9100, TopicName: rosoutTopic}, 0)
	for rmw, want := range map[trace.Address]string{lasting.RMWPublisherHandle: "/demo/talker", 0x9100: "/second"} {
		if p, ok := g.PublisherByRMW(rmw, 5); !ok || p.NodeName != want {
			t.Errorf("publisher %+v of %s", p, want)
		}
	}
	early := g.Rows(false)
	if len(early.Publishers) != 0 {
		t.Errorf("rows with handles on the stack: %+v", early.Publishers)
	}
	g.Apply(&Snapshot{Begin: 6, Entities: trace.Batch{Publishers: []trace.Publisher{lasting}}})
	g.End(abi.EventRclNodeFini, other, 7)
	if talker := rowOf(early.Nodes, func(r trace.Node) bool { return r.NodeName == "talker" }); len(early.Nodes) != 2 ||
		talker.InitTimestamp != trace.Some(int64(2)) || talker.EndTimestamp.Valid {
		t.Errorf("nodes %+v", early.Nodes)
	}
	rows := g.Rows(true).Publishers
	first := rowOf(rows, func(r trace.Publisher) bool { return r.NodeName == "/demo/talker" })
	second := rowOf(rows, func(r trace.Publisher) bool { return r.NodeName == "/second" })
	if first.PublisherHandle != lasting.PublisherHandle || first.EndTimestamp.Valid || first.InitTimestamp != trace.Some(int64(2)) {
		t.Errorf("publisher %+v", first)
	}
	if second.PublisherHandle != stack || second.EndTimestamp != trace.Some(int64(7)) || len(rows) != 2 {
		t.Errorf("publishers %+v", rows)
	}
}

// rowOf returns the row that is wanted, an empty one if there is none.
func rowOf[R any](rows []R, wanted func(R) bool) R {
	var none R
	for _, row := range rows {
		if wanted(row) {
			return row
		}
	}
	return none
}
