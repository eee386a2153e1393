package analyze

import (
	"cmp"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze/system"
)

// inbound are the messages that are on their way to one subscription through the middleware.
type inbound struct {
	queues []*flightQueue

	gid   string // of the last message that arrived: it comes again and again, and hashing it takes long
	named []*system.Publisher
}

// publishersOf returns the publishers with that gid.
func (in *inbound) publishersOf(gid string, byGID map[string][]*system.Publisher) []*system.Publisher {
	if gid != in.gid {
		in.gid, in.named = gid, byGID[gid]
	}
	return in.named
}

// flightQueue are the messages of one publisher that are on their way to one subscription, in the order of source
// timestamps.
type flightQueue struct {
	route
	flights []flight
	// overtaken are those at the begin that had been received or overtaken when the last window ended.
	overtaken int
	// receivedAt is when the newest one that has been received was published; noTime before the first.
	receivedAt int64
	found      int // where the last one was found
}

type flight struct {
	source    int64
	departure *departure
	received  bool
}

func newFlightQueue(r route) *flightQueue {
	return &flightQueue{route: r, receivedAt: noTime, found: -1}
}

// push keeps the order: threads that share a publisher may overtake each other. Where the clock was set back, a message
// comes before those that were overtaken: it was not, so nothing behind it is given up when this window ends.
func (q *flightQueue) push(d *departure) {
	q.flights = append(q.flights, flight{source: d.source.Value, departure: d})
	i := len(q.flights) - 1
	for ; i > 0 && q.flights[i-1].source > q.flights[i].source; i-- {
		q.flights[i-1], q.flights[i] = q.flights[i], q.flights[i-1]
	}
	q.overtaken = min(q.overtaken, i)
}

// find returns the flight with the source timestamp that was not received; −1 where there is none. A timestamp comes
// again where the clock is coarse or was set back: then the first that was published after what has been received, else
// the first.
func (q *flightQueue) find(source int64) int {
	found := -1
	for i := q.firstFrom(source); i < len(q.flights) && q.flights[i].source == source; i++ {
		switch f := &q.flights[i]; {
		case f.received:
		case f.departure.at > q.receivedAt:
			return i
		case found < 0:
			found = i
		}
	}
	return found
}

// firstFrom returns the index of the first flight with that source timestamp or a later one.
func (q *flightQueue) firstFrom(source int64) int {
	// Messages nearly always arrive in the order in which they were published.
	if i := q.found; i >= 0 && i+1 < len(q.flights) && q.flights[i].source < source && q.flights[i+1].source == source {
		return i + 1
	}
	i, _ := slices.BinarySearchFunc(q.flights, source, func(f flight, source int64) int { return cmp.Compare(f.source, source) })
	return i
}

// receive notes that a flight arrived and returns its departure.
func (q *flightQueue) receive(i int) *departure {
	q.found = i
	q.flights[i].received = true
	d := q.flights[i].departure
	q.receivedAt = max(q.receivedAt, d.at)
	return d
}

// lastReceived is the index of the last message that has been received, -1 if none has.
func (q *flightQueue) lastReceived() int {
	for i := len(q.flights) - 1; i >= 0; i-- {
		if q.flights[i].received {
			return i
		}
	}
	return -1
}

// keptFlights is how many messages are kept of a publisher whose subscription has received none of them: it may never
// receive anything.
const keptFlights = windowRows

// giveUp ends a window: it takes the flights out that later ones had overtaken when the last window ended, and the
// oldest of too many, and tells the fate of those that were not received. (Threads that take at the same time may be
// seen in the wrong order: what was overtaken in this window may still come in the next.)
func (q *flightQueue) giveUp(tell func(*departure, Fate)) {
	last := q.lastReceived()
	done := max(min(q.overtaken, last+1), len(q.flights)-keptFlights)
	for i, f := range q.flights[:done] {
		switch {
		case f.received:
		case i < last:
			tell(f.departure, Lost)
		default:
			tell(f.departure, Open)
		}
	}
	q.flights = slices.Delete(q.flights, 0, done)
	q.overtaken = max(last+1-done, 0)
	q.found = -1
}
