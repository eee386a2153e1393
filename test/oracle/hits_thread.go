package oracle

import (
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

// hitThread follows the hits of a thread.
type hitThread struct {
	*hits
	pid, tid int32

	running []*hitExecution
	// taken and dequeued are the last ones that no callback has started with.
	taken, dequeued *hitReception
	// intra and rclcpp are layers of a publish that wait for the next rcl_publish, last is what came of the last one.
	intra, last *hitPublish
	rclcpp      trace.Optional[int64]
	rclcppOf    uint64
}

// hit returns what is wrong with a hit.
func (t *hitThread) hit(e *trace.Event) string {
	at, arguments := e.EventTimestamp, [4]uint64{e.Argument1.Value, e.Argument2.Value, e.Argument3.Value, e.Argument4.Value}
	switch e.Event {
	case "callback_start":
		return t.start(at, arguments[0], arguments[1]&0xff != 0)
	case "callback_end":
		return t.end(at, arguments[0])
	case "rmw_take":
		if arguments[3]&0xff != 0 {
			t.taken = &hitReception{in: t.innermost(), polled: true, at: at, source: trace.Some(int64(arguments[2])), taken: hitPlace{t.pid, arguments[0]}}
			t.receptions = append(t.receptions, t.taken)
		}
	case "rclcpp_ring_buffer_dequeue":
		t.dequeued = &hitReception{in: t.innermost(), polled: true, at: at, slot: trace.Some(arguments[1]), taken: hitPlace{t.pid, arguments[0]}}
		t.receptions = append(t.receptions, t.dequeued)
	case "rclcpp_ring_buffer_enqueue":
		t.enqueues = append(t.enqueues, &hitEnqueue{t.byBuffer[hitPlace{t.pid, arguments[0]}], t.intra, arguments[1], at})
	case "rclcpp_intra_publish":
		t.intra, t.last = t.newPublish(arguments[0]), nil
		t.intra.intra = trace.Some(at)
	case "rclcpp_publish":
		t.rclcpp, t.rclcppOf = trace.Some(at), arguments[1]
	case "rcl_publish":
		t.rclPublish(at, arguments[0], arguments[1])
	case "rmw_publish":
		t.rmwPublish(at, arguments[0], arguments[1], int64(arguments[2]))
	case "dds_bind_addr_to_stamp":
		if p := t.last; p != nil && !p.source.Valid && (arguments[0] == 0 || arguments[0] == p.message) {
			p.source, p.stamp = trace.Some(int64(arguments[1])), trace.Some(at)
		}
	case "request_sent", "request_taken", "response_sent", "response_taken":
		t.steps = append(t.steps, &hitStep{trace.ServiceStep(e.Event), hitPlace{t.pid, arguments[0]}, arguments[2], at})
	}
	return ""
}

func (t *hitThread) innermost() *hitExecution {
	if len(t.running) == 0 {
		return nil
	}
	return t.running[len(t.running)-1]
}

// start begins an execution. What it started with was taken on the thread just before, of the callback's subscription.
func (t *hitThread) start(at int64, address uint64, intra bool) string {
	c := t.callbacks[hitPlace{t.pid, address}]
	if c == nil {
		return "nothing is known of the callback"
	}
	x := &hitExecution{callback: c, tid: t.tid, start: at}
	t.executions = append(t.executions, x)
	if s := c.subscription; s != nil {
		var fed *hitReception
		switch {
		case intra && t.dequeued != nil && t.byBuffer[t.dequeued.taken] == s:
			fed, t.dequeued = t.dequeued, nil
		case !intra && t.taken != nil && t.byRMW[t.taken.taken] == s:
			fed, t.taken = t.taken, nil
		}
		if fed != nil {
			fed.subscription, fed.in, fed.polled = s, x, false
			x.received = append(x.received, fed)
		}
	}
	t.running = append(t.running, x)
	t.intra, t.last = nil, nil
	return ""
}

func (t *hitThread) end(at int64, address uint64) string {
	t.intra, t.last = nil, nil
	c := t.callbacks[hitPlace{t.pid, address}]
	for i, x := range slices.Backward(t.running) {
		if x.callback == c {
			x.end = trace.Some(at)
			if i+1 < len(t.running) {
				return "a callback in it has not ended"
			}
			t.running = t.running[:i]
			return ""
		}
	}
	if c == nil {
		return "nothing is known of the callback"
	}
	c.endsOnly++
	return ""
}

func (t *hitThread) newPublish(handle uint64) *hitPublish {
	p := &hitPublish{in: t.innermost(), handle: handle, publisher: t.publishers[hitPlace{t.pid, handle}]}
	t.publishes = append(t.publishes, p)
	return p
}

// rclPublish joins the layers above that are of the same publisher and of the same message. Serialized and loaned
// messages hit rcl's function and, from Jazzy on, its tracepoint.
func (t *hitThread) rclPublish(at int64, handle, message uint64) {
	p := t.last
	if p == nil || p.handle != handle || p.message != message || p.rmw.Valid || p.source.Valid {
		if p = t.intra; p == nil || p.handle != handle {
			p = t.newPublish(handle)
		}
		if t.rclcpp.Valid && t.rclcppOf == message {
			p.rclcpp = t.rclcpp
		}
	}
	p.rcl, p.message = trace.Some(at), message
	t.intra, t.last, t.rclcpp = nil, p, trace.Optional[int64]{}
}

// rmwPublish joins the layer to the publish of rcl that it follows. From Jazzy on it tells the source timestamp and the
// rmw publisher. The middleware's own publishes do not come from rcl.
func (t *hitThread) rmwPublish(at int64, handle, message uint64, source int64) {
	p := t.last
	if p == nil || p.rmw.Valid || p.source.Valid || p.message != message {
		t.last = nil
		return
	}
	p.rmw = trace.Some(at)
	if handle != 0 {
		p.source, p.stamp = trace.Some(source), p.rmw
	}
	if p.publisher == nil { // rcl publishes its logs through a copy of the publisher
		p.publisher = t.publishersRMW[hitPlace{t.pid, handle}]
	}
}
