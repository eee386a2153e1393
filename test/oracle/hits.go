package oracle

import (
	"cmp"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
)

// hits is what the single tracepoint hits of a recording (record --raw) tell: an account of executions, publishes and
// messages that is made without merged rows, by plain joins of hits of a thread, to check answers against. It takes
// names and handles from the tables of entities. Addresses must not change hands during the recording, and no callback
// may be left by an exception.
type hits struct {
	callbacks     map[hitPlace]*hitCallback // several addresses may lead to one
	subscriptions map[hitPlace]*hitSubscription
	byRMW         map[hitPlace]*hitSubscription
	byBuffer      map[hitPlace]*hitSubscription
	publishers    map[hitPlace]*hitPublisher
	publishersRMW map[hitPlace]*hitPublisher

	executions []*hitExecution
	publishes  []*hitPublish
	receptions []*hitReception
	enqueues   []*hitEnqueue

	serviceSides map[hitPlace]hitServiceSide
	steps        []*hitStep
}

// hitServiceSide is what the tables tell of an rcl client or service.
type hitServiceSide struct{ service, node string }

// hitPlace is an address in a process.
type hitPlace struct {
	pid     int32
	address uint64
}

type hitCallback struct {
	trace.CallbackInfo
	subscription *hitSubscription // nil for other kinds
	endsOnly     uint64           // executions that began before the recording
}

type hitSubscription struct {
	trace.Subscription
	buffer   uint64
	callback *hitCallback
}

type hitPublisher struct{ trace.Publisher }

// hitExecution is one execution of a callback.
type hitExecution struct {
	callback *hitCallback
	tid      int32
	start    int64
	end      trace.Optional[int64]
	// received are the messages that started it or that were polled in it.
	received  []*hitReception
	publishes []*hitPublish
}

// hitReception is one message taken from the middleware or from a buffer.
type hitReception struct {
	subscription *hitSubscription
	// in is the execution that it started or, with polled, in which it was polled; nil outside of callbacks.
	in     *hitExecution
	polled bool
	at     int64
	source trace.Optional[int64]
	slot   trace.Optional[uint64]

	taken hitPlace // the rmw subscription or the buffer
	from  *hitPublish
}

// input is when the node had the message: the start of the callback, or the poll.
func (r *hitReception) input() int64 {
	if r.polled {
		return r.at
	}
	return r.in.start
}

// hitPublish is one publish of one message.
type hitPublish struct {
	publisher                      *hitPublisher
	in                             *hitExecution // nil outside of callbacks
	intra, rclcpp, rcl, rmw, stamp trace.Optional[int64]
	source                         trace.Optional[int64]
	handle, message                uint64
}

// at is when it began.
func (p *hitPublish) at() int64 {
	if first, ok := earliest(p.intra, p.rclcpp); ok {
		return first
	}
	first, _ := earliest(p.rcl, p.rmw)
	return first
}

func earliest(times ...trace.Optional[int64]) (first int64, ok bool) {
	for _, t := range times {
		if t.Valid && (!ok || t.Value < first) {
			first, ok = t.Value, true
		}
	}
	return first, ok
}

type hitEnqueue struct {
	subscription *hitSubscription
	publish      *hitPublish // nil if it was not seen
	slot         uint64
	at           int64
}

func readHits(t *testing.T, data *Dataset) *hits {
	t.Helper()
	h := &hits{
		callbacks: map[hitPlace]*hitCallback{}, subscriptions: map[hitPlace]*hitSubscription{}, byRMW: map[hitPlace]*hitSubscription{},
		byBuffer: map[hitPlace]*hitSubscription{}, publishers: map[hitPlace]*hitPublisher{}, publishersRMW: map[hitPlace]*hitPublisher{},
		serviceSides: map[hitPlace]hitServiceSide{},
	}
	h.readEntities(data)
	type threadOf struct{ pid, tid int32 }
	threads := map[threadOf][]*trace.Event{}
	for i := range data.Events {
		e := &data.Events[i]
		threads[threadOf{e.PID, e.TID}] = append(threads[threadOf{e.PID, e.TID}], e)
	}
	for of, events := range threads {
		slices.SortStableFunc(events, func(a, b *trace.Event) int { return cmp.Compare(a.EventTimestamp, b.EventTimestamp) })
		thread := hitThread{hits: h, pid: of.pid, tid: of.tid}
		for _, e := range events {
			if err := thread.hit(e); err != "" {
				t.Errorf("PID %d, thread %d at %d, %s: %s", e.PID, e.TID, e.EventTimestamp, e.Event, err)
			}
		}
	}
	h.resolve()
	return h
}

// readEntities takes the last row of each entity.
func (h *hits) readEntities(data *Dataset) {
	for _, row := range data.Subscriptions {
		at := hitPlace{row.PID, uint64(row.SubscriptionHandle)}
		s := h.subscriptions[at]
		if s == nil {
			s = &hitSubscription{}
			h.subscriptions[at] = s
		}
		s.Subscription = row
		if row.Buffer != 0 {
			s.buffer = uint64(row.Buffer)
			h.byBuffer[hitPlace{row.PID, s.buffer}] = s
		}
		h.byRMW[hitPlace{row.PID, uint64(row.RMWSubscriptionHandle)}] = s
	}
	owners := map[hitPlace]*hitCallback{}
	for _, row := range data.CallbackInfos {
		owner := hitPlace{row.PID, uint64(cmp.Or(row.OwnerHandle, row.Callback))}
		c := owners[owner]
		if c == nil {
			c = &hitCallback{}
			owners[owner] = c
		}
		c.CallbackInfo = row
		h.callbacks[hitPlace{row.PID, uint64(row.Callback)}] = c
	}
	for _, row := range data.Subscriptions {
		if c := h.callbacks[hitPlace{row.PID, uint64(row.Callback)}]; c != nil {
			s := h.subscriptions[hitPlace{row.PID, uint64(row.SubscriptionHandle)}]
			s.callback, c.subscription = c, s
		}
	}
	for _, row := range data.Publishers {
		p := &hitPublisher{row}
		h.publishers[hitPlace{row.PID, uint64(row.PublisherHandle)}] = p
		h.publishersRMW[hitPlace{row.PID, uint64(row.RMWPublisherHandle)}] = p
	}
	for _, row := range data.ServiceServers {
		h.serviceSides[hitPlace{row.PID, uint64(row.ServiceHandle)}] = hitServiceSide{row.ServiceName, row.NodeName}
	}
	for _, row := range data.Clients {
		h.serviceSides[hitPlace{row.PID, uint64(row.ClientHandle)}] = hitServiceSide{row.ServiceName, row.NodeName}
	}
}

// resolve finds the subscriptions of polled messages, which no callback names, and leaves out what belongs to the
// middleware.
func (h *hits) resolve() {
	for _, r := range h.receptions {
		switch {
		case r.subscription != nil:
		case r.slot.Valid:
			r.subscription = h.byBuffer[r.taken]
		default:
			r.subscription = h.byRMW[r.taken]
		}
		if r.in != nil && r.polled {
			r.in.received = append(r.in.received, r)
		}
	}
	h.receptions = slices.DeleteFunc(h.receptions, func(r *hitReception) bool {
		return r.subscription == nil || r.subscription.TopicName == trace.DiscoveryTopic
	})
	h.publishes = slices.DeleteFunc(h.publishes, func(p *hitPublish) bool { return p.publisher == nil })
	for _, p := range h.publishes {
		if p.in != nil {
			p.in.publishes = append(p.in.publishes, p)
		}
	}
}
