package simulation

import (
	"fmt"
	"math/rand/v2"

	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	// origin is when a simulation begins, in Unix nanoseconds.
	origin = int64(1_760_000_000_000_000_000)
	// mostDuration is how long the longest recording goes on, in a system that is not hurried.
	mostDuration = int64(25_000_000)
)

// New makes up the system of a seed.
func New(seed uint64) *System {
	s := &System{
		random: rand.New(rand.NewPCG(seed, 1)), clockStep: 1, pace: 1, topics: make(map[string][]*subscription), stamped: make(map[stampOfTopic]bool), oneBoot: true,
	}
	s.now = origin
	if s.chance(60) {
		s.clockStep = 1000
	}
	if s.chance(30) {
		s.pace = 15
	}
	s.duration = mostDuration / s.pace
	s.realStepAt = origin + s.duration
	s.addRecordings()
	s.addProcesses()
	s.connect()
	return s
}

// addRecordings makes up who records, and by which clock. Recorders begin and end at different times.
func (s *System) addRecordings() {
	count := 1
	if s.chance(40) {
		count = 2 + s.random.IntN(2)
		s.oneBoot = s.chance(60)
	}
	if s.oneBoot && s.chance(30) {
		s.realStepAt, s.realStep = origin+s.between(s.duration/4, s.duration), s.between(-3000, 3000)*1000
	}
	for i := range count {
		r := &recording{system: s, number: i, begin: origin, end: origin + s.duration, bootID: "boot"}
		if s.chance(40) {
			r.begin += s.between(0, s.duration/3)
		}
		if s.chance(30) {
			r.end -= s.between(0, s.duration/4)
		}
		switch {
		case !s.oneBoot: // synchronized to some µs
			r.bootID, r.ahead = fmt.Sprintf("boot-%d", i), s.between(-20, 20)*1000/s.pace
		case count > 1: // real time has been set since the first one began
			r.ahead = s.between(-5000, 5000) * 1000
		}
		s.recordings = append(s.recordings, r)
	}
}

func (s *System) addProcesses() {
	names := 0
	for i := range 1 + s.random.IntN(4) {
		p := &process{recording: s.recordings[i%len(s.recordings)], addresses: 0x1000, born: 1}
		p.key = trace.ProcessKey{BootID: p.recording.bootID, PID: int32(100 + i), ProcessStart: int64(i)}
		p.hidesSources, p.hidesGIDs, p.hidesSlots = s.chance(5), s.chance(25), s.chance(20)
		s.fillProcess(p, &names)
		if s.chance(25) {
			s.restart(p, names)
		}
	}
}

// fillProcess gives a process nodes and threads.
func (s *System) fillProcess(p *process, names *int) {
	s.processes = append(s.processes, p)
	for range 1 + s.random.IntN(2) {
		x := &executor{process: p}
		for range 1 + s.random.IntN(3) {
			p.tids++
			x.threads = append(x.threads, &thread{executor: x, tid: 10*p.key.PID + p.tids})
		}
		p.executors = append(p.executors, x)
	}
	for range 1 + s.random.IntN(3) {
		n := &node{process: p, name: fmt.Sprintf("/node_%d", *names), handle: p.address(), executor: p.executors[s.random.IntN(len(p.executors))]}
		*names++
		n.executor.nodes = append(n.executor.nodes, n)
		p.nodes = append(p.nodes, n)
	}
}

// restart lets a process end and another one begin with nodes of the same names.
func (s *System) restart(p *process, names int) {
	p.died = origin + s.between(s.duration/3, 2*s.duration/3)
	q := &process{recording: p.recording, key: p.key, addresses: 0x1000, born: p.died + s.between(100_000, 2_000_000/s.pace)}
	if s.chance(50) {
		q.key.PID += 50 // or else the PID is used again
	}
	q.key.ProcessStart += q.born - origin
	q.hidesSources, q.hidesGIDs, q.hidesSlots = p.hidesSources, p.hidesGIDs, p.hidesSlots
	names -= len(p.nodes)
	s.fillProcess(q, &names)
}

// topic is the name of a topic of a layer: messages go from layer to layer, so that nothing goes round for ever.
func topic(layer, number int) string { return fmt.Sprintf("/layer_%d/topic_%d", layer, number) }

// layers is the number of layers of topics.
const layers = 4

// connect gives the nodes what they publish and receive.
func (s *System) connect() {
	for _, p := range s.processes {
		for i, n := range p.nodes {
			layer := s.random.IntN(layers)
			if i == 0 && len(s.topics) == 0 {
				layer = 0
			}
			s.fillNode(n, layer)
		}
	}
	for _, p := range s.processes {
		for _, n := range p.nodes {
			for _, c := range n.callbacks {
				if c.kind == trace.KindTimer {
					s.runTimer(c)
				}
			}
		}
	}
}

// fillNode gives a node of a layer its entities: it receives topics of the layer before.
func (s *System) fillNode(n *node, layer int) {
	p := n.process
	intra := s.chance(50)
	for range 1 + s.random.IntN(2) {
		n.publishers = append(n.publishers, &publisher{
			node: n, topic: topic(layer, s.random.IntN(2)), handle: p.address(), gid: s.gid(),
			intra: intra, hidden: s.chance(3), arrival: make(map[*subscription]int64),
		})
	}
	if layer == 0 || s.chance(40) {
		for range 1 + s.random.IntN(2) {
			s.addTimer(n)
		}
	}
	if layer > 0 {
		for range 1 + s.random.IntN(2) {
			s.addSubscription(n, topic(layer-1, s.random.IntN(2)), intra && s.chance(80))
		}
	}
	if s.chance(30) {
		s.addServer(n)
	}
	if s.chance(30) {
		s.addClient(n)
	}
	s.chain(n)
}

// callback adds a callback to a node, which publishes with some of its publishers.
func (s *System) callback(n *node, kind trace.CallbackKind) *callback {
	c := &callback{node: n, kind: kind, address: n.process.address(), reentrant: s.chance(30)}
	for _, p := range n.publishers {
		if s.chance(70) {
			c.publishes = append(c.publishes, p)
		}
	}
	n.callbacks = append(n.callbacks, c)
	return c
}

func (s *System) addTimer(n *node) {
	c := s.callback(n, trace.KindTimer)
	c.period = s.between(200, 1500) * 1000 / s.pace
	c.hidden = s.chance(5)
	c.init = max(origin, n.process.born) + s.between(0, 100_000/s.pace)
}

// addSubscription adds one with a callback, or one that callbacks of the node poll.
func (s *System) addSubscription(n *node, topic string, intra bool) {
	p := n.process
	sub := &subscription{node: n, topic: topic, handle: p.address(), depth: 1 + s.random.IntN(6)}
	n.subscriptions = append(n.subscriptions, sub)
	s.topics[topic] = append(s.topics[topic], sub)
	if len(n.callbacks) > 0 && s.chance(25) {
		c := n.callbacks[s.random.IntN(len(n.callbacks))]
		c.polls = append(c.polls, sub)
		return
	}
	sub.callback = s.callback(n, trace.KindSubscription)
	sub.callback.subscription = sub
	if intra {
		sub.callback.intraAddress = p.address()
		sub.ring = newRing(p.address(), 1+s.random.IntN(4))
	}
}

// addServer adds a service that no other node has at the same time.
func (s *System) addServer(n *node) {
	of := &server{node: n, name: n.name + "/service", handle: n.process.address()}
	of.callback = s.callback(n, trace.KindService)
	of.callback.server = of
	n.servers = append(n.servers, of)
}

// addClient adds a client of a service, which may not be there, and lets a callback call it.
func (s *System) addClient(n *node) {
	of := &client{node: n, name: fmt.Sprintf("/node_%d/service", s.random.IntN(4)), handle: n.process.address(), gid: s.gid()}
	n.clients = append(n.clients, of)
	if len(n.callbacks) > 0 {
		c := n.callbacks[s.random.IntN(len(n.callbacks))]
		c.calls = append(c.calls, of)
	}
}

// gid is one that nobody has had.
func (s *System) gid() string {
	s.gids++
	return fmt.Sprintf("%032x", s.gids)
}

// chain makes a chain of some nodes' callbacks: only the last one publishes.
func (s *System) chain(n *node) {
	if len(n.callbacks) < 2 || !s.chance(30) {
		return
	}
	n.chain = append(n.chain, n.callbacks...)
	s.random.Shuffle(len(n.chain), func(i, j int) { n.chain[i], n.chain[j] = n.chain[j], n.chain[i] })
	n.chain = n.chain[:2+s.random.IntN(len(n.chain)-1)]
	for i, c := range n.chain {
		c.reentrant, c.hidden = false, false
		if i > 0 {
			c.readsFrom = n.chain[i-1]
		}
		if i+1 < len(n.chain) {
			c.publishes = nil
		}
	}
}

// Run lets everything happen, and writes the rows of what has not ended then.
func (s *System) Run() {
	s.runUntil(s.lastEnd())
	for _, p := range s.processes {
		for _, n := range p.nodes {
			for _, of := range n.publishers {
				for _, m := range of.messages {
					s.recordPublish(m)
				}
			}
			for _, c := range n.callbacks {
				for _, e := range c.executions {
					s.recordExecution(e)
				}
			}
			for _, sub := range n.subscriptions {
				for _, of := range sub.received {
					if !of.polled && !of.ignored && !p.recording.sees(of.execution.start) {
						s.recordTake(of, trace.TakeUnattributed)
					}
				}
			}
		}
	}
	s.recordEntities()
}
