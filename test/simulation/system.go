package simulation

import (
	"math/rand/v2"

	"github.com/caret-bpf/caret-bpf/trace"
)

// System is a made-up system of processes, and what has happened in it. All its times are true ones, in nanoseconds;
// common has them as answers do.
type System struct {
	agenda
	random *rand.Rand
	// clockStep is the step of the clocks that recorders read, in nanoseconds: 1, or 1000.
	clockStep int64
	// pace is by how much less time everything takes than usual: where much happens, times are often equal.
	pace int64
	// duration is how long the longest recording goes on.
	duration int64
	// realStep is by how much real time was set, at realStepAt; 0: it was not.
	realStep, realStepAt int64
	// oneBoot: all recorders share a monotonic clock.
	oneBoot bool

	recordings []*recording
	processes  []*process
	topics     map[string][]*subscription
	stamped    map[stampOfTopic]bool
	calls      []*call
	gids       int // that were given away
}

// stampOfTopic is a source timestamp of a topic: no two messages of a topic have the same one.
type stampOfTopic struct {
	topic  string
	source int64
}

// process is a process that one recorder records.
type process struct {
	key       trace.ProcessKey
	recording *recording
	// born and died are when it began and ended; 0 where that is not in the time of the simulation.
	born, died int64
	nodes      []*node
	executors  []*executor
	// hidesSources: its publishes show no source timestamp. hidesGIDs: its takes do not tell the publisher, as those of
	// Cyclone DDS.
	hidesSources, hidesGIDs bool
	// hidesSlots: slots of its buffers are not always certain, as on Humble.
	hidesSlots bool
	addresses  trace.Address
	tids       int32
}

func (p *process) address() trace.Address {
	p.addresses += 0x10
	return p.addresses
}

// alive tells whether it runs at a time.
func (p *process) alive(at int64) bool { return p.born <= at && (p.died == 0 || at < p.died) }

type node struct {
	process       *process
	name          string
	handle        trace.Address
	executor      *executor
	busy          bool // a callback of its mutually exclusive group is running
	callbacks     []*callback
	publishers    []*publisher
	subscriptions []*subscription
	servers       []*server
	clients       []*client
	// chain are callbacks, each of which leaves something to the next in a variable.
	chain []*callback
}

type publisher struct {
	node     *node
	topic    string
	handle   trace.Address
	gid      string
	intra    bool // it puts messages into buffers of its process
	hidden   bool // no entity table has it
	messages []*message
	arrival  map[*subscription]int64 // when the last message came, or will come
}

type subscription struct {
	node     *node
	topic    string
	handle   trace.Address
	callback *callback // nil where it is polled
	depth    int
	queue    []*delivery // that have come through the middleware and wait
	ring     *ring       // nil without intra-process communication
	received []*reception
}

// hasOf tells whether messages of a publisher reach it through its buffer.
func (sub *subscription) hasOf(p *publisher) bool {
	return p.intra && sub.ring != nil && sub.node.process == p.node.process
}

type callback struct {
	node                  *node
	kind                  trace.CallbackKind
	address, intraAddress trace.Address
	hidden                bool // no entity table has it
	reentrant             bool
	period                int64 // of a timer
	init                  int64 // of a timer: when its grid begins
	due                   bool  // of a timer
	subscription          *subscription
	server                *server
	publishes             []*publisher
	polls                 []*subscription
	calls                 []*client
	executions            []*execution

	// readsFrom is the callback before it in its node's chain; left is what that has left, nil where that was used.
	readsFrom *callback
	left      *execution
}

type executor struct {
	process *process
	threads []*thread
	nodes   []*node
}

type thread struct {
	executor  *executor
	tid       int32
	busy      bool
	frames    []*execution
	publishes uint64 // that its recording has seen
}

// running is the innermost execution of the thread; nil where there is none.
func (t *thread) running() *execution {
	if len(t.frames) == 0 {
		return nil
	}
	return t.frames[len(t.frames)-1]
}

// execution is one execution of a callback. Times are 0 as long as they have not come.
type execution struct {
	callback *callback
	thread   *thread
	parent   *execution
	depth    int32
	intra    bool
	start    int64
	end      int64
	unwound  bool
	fed      *reception // the message that started it
	call     *call      // that it answers
	script   []action
	written  int64 // when its row was written
	// inputs are the newest message of each subscription that it has got until now.
	inputs map[*subscription]*reception
	polled []*reception
	// from is the execution that left what this one has read, in a chain.
	from *execution
}

// action is what an execution does after so many nanoseconds. It returns true if something else goes on with the
// script.
type action struct {
	delay int64
	do    func() bool
}

// message is a message that was published. Layers are 0 where they were not passed.
type message struct {
	publisher                        *publisher
	thread                           *thread
	in                               *execution
	intra, rclcpp, rcl, rmw, written int64
	source                           int64
	deliveries                       map[*subscription]*delivery
	// number is that of its publish on its thread, from the first layer that was recorded on.
	number   uint64
	numbered bool
	enqueues uint32 // that were recorded
	over     bool   // it has passed all its layers
	recorded bool   // its row is written
	// inputs are what the execution that published it had got then.
	inputs map[*subscription]*reception
}

// delivery is the way of a message to a subscription.
type delivery struct {
	message      *message
	subscription *subscription
	buffered     bool
	enqueued     int64
	slot         uint64
	overwritten  bool
	reception    *reception
}

// reception is a message that was taken.
type reception struct {
	delivery *delivery
	thread   *thread
	take     int64
	size     uint64 // of the buffer afterwards
	// hiddenSlot: the recording does not know the slot.
	hiddenSlot bool
	ignored    bool
	// execution is the one that it started or, of a polled message, in which it was polled; nil where there was none.
	execution *execution
	polled    bool
}
