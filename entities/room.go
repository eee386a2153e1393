package entities

import (
	"errors"
	"time"
)

// Meter bounds the places at which the entities of processes are remembered.
type Meter interface {
	// Take is asked before there are so many more of them.
	Take(places int) error
	// Give takes back what was taken.
	Give(places int)
}

// placesAtOnce is how many places are asked for at a time.
const placesAtOnce = 1 << 10

// remembered is how long entities are known that have ended: records are read, and scans are over, within seconds.
const (
	remembered = 30 * time.Second
	// forgetInterval is how often it is looked for such at most.
	forgetInterval = 5 * time.Second
	// fewEvents is after how many events it is looked for them at least, where few entities are known.
	fewEvents = placesAtOnce / 4
)

// errNoRoom: more entities are made than are remembered.
var errNoRoom = errors.New("the process has had too many entities")

// room is how many places a graph may remember.
type room struct {
	meter    Meter // nil bounds nothing
	taken    int
	forgotAt int64 // when it was last looked for entities that had ended
	events   int   // how many might have made some known since then
}

// Limit lets a meter bound how many entities the graph knows. What is made beyond stays unknown.
func (g *Graph) Limit(meter Meter) { g.room.meter = meter }

// Successor returns an empty graph of the same process, which runs another program now. The former must not be used any
// more.
func (g *Graph) Successor() *Graph {
	g.Release()
	successor := New(g.key)
	successor.room.meter, successor.unread = g.room.meter, g.unread
	return successor
}

// Release gives back what the graph has taken. It must not be used any more.
func (g *Graph) Release() {
	if g.room.meter != nil {
		g.room.meter.Give(g.room.taken)
	}
	g.room.taken = 0
}

// mayGrow reports whether one more entity may become known. Those that ended long ago make room.
func (g *Graph) mayGrow() bool {
	if g.room.meter == nil {
		return true
	}
	g.room.events++
	places := g.places()
	isFull := places >= g.room.taken
	// Looking at all takes a while. An address that is used again and again is one place, and has several entities.
	if isDue := isFull || g.room.events >= max(fewEvents, places/4); isDue && g.lastEvent >= g.room.forgotAt+forgetInterval.Nanoseconds() {
		g.room.forgotAt, g.room.events = g.lastEvent, 0
		g.forgetEnded(g.lastEvent - remembered.Nanoseconds())
	}
	if !isFull || g.places() < g.room.taken/2 { // else it would have to be done again soon
		return true
	}
	if g.room.meter.Take(placesAtOnce) != nil {
		return false
	}
	g.room.taken += placesAtOnce
	return true
}

// places is how many are remembered. What one initialization event adds is a few.
func (g *Graph) places() int {
	return len(g.nodes.lives) + len(g.publishers.lives) + len(g.subscriptions.lives) + len(g.objects.lives) + len(g.timers.lives) +
		len(g.services.lives) + len(g.clients.lives) + len(g.callbacks.lives) + len(g.groups.lives) + len(g.executors.lives) +
		len(g.contexts.lives) + len(g.stateMachines.lives) + len(g.rmwPublishers) + len(g.rmwSubscriptions) + len(g.collectors) +
		len(g.buffers) + len(g.intraProcessBuffers)
}
