package analyze

import (
	"math"

	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// noTime is the time of what did not happen or is unknown.
const noTime = math.MinInt64

// departure is one publish of a message. Times are on the query's clock.
type departure struct {
	publisher *system.Publisher
	dataset   int
	// at is when it was published: the first of rclcpp_intra_publish and rclcpp_publish or, without them, of the layers
	// below.
	at                               int64
	intra, rclcpp, rcl, rmw, written int64 // noTime where the layer was not passed
	source                           trace.Optional[int64]
	// callback is that in which it was published, begun at start; nil outside of callbacks.
	callback *system.Callback
	start    int64
	number   publishNumber
	enqueues uint32

	// inputs are what the message was made of, as far as a query has found it; begins the paths on which it set out.
	inputs []*arrival
	one    [1]*arrival // room for what is nearly always enough
	begins *pathBegin
	// flow is the first one of the publication, if a timeline is asked for.
	flow    Flow
	outlets *outletsOf // as passages found them last
}

// publishNumber identifies a publish as its enqueues name it: the process is that of one dataset, by a number of the
// query's.
type publishNumber struct {
	process int32
	tid     int32
	number  uint64
}

// arrival is one message that a callback was started with, or that was polled; for some questions also an execution
// that no message started. Times are on the query's clock.
type arrival struct {
	subscription *system.Subscription // nil where no message came
	dataset      int
	tid          int32
	polled       bool
	// callback is the one that the message started, begun at start and ended at end. Of a polled message it is the
	// callback in which it was taken, nil outside of callbacks, and start is the take.
	callback   *system.Callback
	start, end int64
	// within is the start of the callback in which a polled message was taken.
	within int64
	// take is when rmw_take or the dequeue of an intra-process buffer happened; noTime where it was not seen.
	take   int64
	source trace.Optional[int64]
	gid    string
	// intra: it came through an intra-process buffer. dequeue is the slot, null where that is not certain.
	intra   bool
	dequeue trace.Optional[uint64]

	// from is the publish of the message, as far as it was found; begins are paths that begin with its reception.
	from   *departure
	begins *pathBegin
	// flow is that on which the message came, if a timeline is asked for.
	flow Flow
}

// arrived is when the message was there.
func (a *arrival) arrived() int64 {
	if a.take != noTime {
		return a.take
	}
	return a.start
}

// enqueue is one message put into an intra-process buffer.
type enqueue struct {
	subscription *system.Subscription
	at           int64
	index        trace.Optional[uint64] // null where it is not certain
	taken        bool                   // before it was seen
	overwritten  trace.Optional[bool]   // another message, which nobody had taken
	number       publishNumber
	published    bool // number is known
}

// orNone returns the corrected time, noTime for null.
func (c *clockCorrection) orNone(at trace.Optional[int64]) int64 {
	if !at.Valid {
		return noTime
	}
	return c.correct(at.Value)
}

// optionalTime is null for noTime.
func optionalTime(at int64) trace.Optional[int64] {
	if at == noTime {
		return trace.Optional[int64]{}
	}
	return trace.Some(at)
}

// orNoTime is noTime for null.
func orNoTime(at trace.Optional[int64]) int64 {
	if !at.Valid {
		return noTime
	}
	return at.Value
}

// firstOf returns the least of the times that are known.
func firstOf(times ...int64) int64 {
	first := int64(noTime)
	for _, t := range times {
		if t != noTime && (first == noTime || t < first) {
			first = t
		}
	}
	return first
}
