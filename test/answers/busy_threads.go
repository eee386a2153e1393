package answers

import (
	"cmp"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
	"github.com/caret-bpf/caret-bpf/writer"
)

// busySystem is a system of three nodes, a thread each, recorded with all times off the CPU. A sensor's timer publishes
// points, a filter objects in the callback of points, and an actuator gets those. The threads of the latter two run
// other callbacks, too, and now and then something is missing of what was recorded.
type busySystem struct {
	random  *rand.Rand
	rows    trace.Batch
	threads [3]busyThread
}

const (
	busySensor = iota
	busyFilter
	busyActuator
)

// busyThread is what a thread does until now.
type busyThread struct {
	tid int32
	now int64
}

const (
	busyBegin = int64(1_760_000_000_000_000_000)
	// busyPeriod is that of the sensor's timer; the others' is three times as long.
	busyPeriod = int64(10_000_000)
	// busyInit is when the timers of the first two nodes were made. That of the actuator was there already.
	busyInit = busyBegin - 1234
)

var (
	busyKey   = trace.ProcessKey{BootID: "a boot", PID: 800, ProcessStart: 4}
	busyNodes = [3]string{"sensor", "filter", "actuator"}
	busyGIDs  = [2]string{"0a01", "0a02"}
	busyTopic = [2]string{"/points", "/objects"}
)

func busyTimer(node int) trace.Address        { return trace.Address(0x1000 + node*0x100) }
func busyPublisher(node int) trace.Address    { return trace.Address(0x2000 + node*0x100) }
func busySubscription(node int) trace.Address { return trace.Address(0x3000 + node*0x100) }
func busyReceiver(node int) trace.Address     { return trace.Address(0x4000 + node*0x100) }

// seldom is true one time in many.
func (s *busySystem) seldom(of int) bool { return s.random.IntN(of) == 0 }

func (s *busySystem) upTo(limit int64) int64 { return 1 + s.random.Int64N(limit) }

// off makes times off the CPU of a thread between two instants, and returns their parts. callback is that in which they
// are, if it is not nil.
func (s *busySystem) off(tid int32, from, until int64, callback *trace.Callback) (preempted, blocked, wakeup int64) {
	apart := int64(80_000)
	if callback == nil {
		apart = 2_000_000
	}
	for at := from + s.upTo(apart/2); ; {
		out := at
		in := out + s.upTo(60_000)
		if in >= until {
			return preempted, blocked, wakeup
		}
		row := trace.Sched{ProcessKey: busyKey, TID: tid, Kind: trace.SchedPreempted, SchedOutTimestamp: out, SchedInTimestamp: in}
		if s.seldom(2) {
			row.Kind = trace.SchedBlocked
			waking := out - 100 + s.upTo(in-out+100) // the first are before it was off
			woken := max(waking, out)
			blocked, wakeup = blocked+woken-out, wakeup+in-woken
			if !s.seldom(200) {
				row.WakingTimestamp = trace.Some(waking)
			}
		} else {
			preempted += in - out
			if other := int32(len(s.rows.Scheds) % 5); other > 0 { // else nobody was seen
				row.OtherCommand, row.OtherPID, row.OtherTID = []string{"hog", "kworker/0:1"}[other%2], trace.Some(900+other%2), trace.Some(900+other)
			}
		}
		if callback != nil && !s.seldom(10) { // else it was nested too deep
			row.Callback, row.CallbackStartTimestamp = callback.Callback, callback.CallbackStartTimestamp
		}
		s.rows.Scheds = append(s.rows.Scheds, row)
		at = in + s.upTo(apart)
	}
}

// idle lets a thread be outside of callbacks until an instant, or a while.
func (s *busySystem) idle(t *busyThread, until int64) {
	until = max(until, t.now+s.upTo(50_000))
	s.off(t.tid, t.now, until, nil)
	t.now = until
}

// run runs a callback, within which another one may run.
func (s *busySystem) run(t *busyThread, node int, row trace.Callback) *trace.Callback {
	row.ProcessKey, row.TID, row.NodeName, row.Status = busyKey, t.tid, "/"+busyNodes[node], trace.CallbackComplete
	row.CallbackStartTimestamp = trace.Some(t.now)
	until := t.now + 10_000 + s.upTo(300_000)
	preempted, blocked, wakeup := s.off(t.tid, t.now, until, &row)
	if !s.seldom(50) {
		tracetest.SetParts(&row, until-t.now-preempted-blocked-wakeup, preempted, blocked, wakeup, 1, 0)
	}
	row.CallbackEndTimestamp = trace.Some(until)
	if s.seldom(100) {
		row.CallbackEndTimestamp, row.Status, row.CPUTime = trace.Optional[int64]{}, trace.CallbackUnwound, trace.Optional[int64]{}
		row.PreemptedTime, row.BlockedTime, row.WakeupLatency = trace.Optional[int64]{}, trace.Optional[int64]{}, trace.Optional[int64]{}
	}
	if s.seldom(30) {
		nested := row
		nested.Callback, nested.Depth, nested.Kind, nested.Period = busyTimer(node), 1, trace.KindTimer, trace.Some(3*busyPeriod)
		nested.CallbackStartTimestamp = trace.Some(t.now + 1000)
		nested.SourceTimestamp, nested.RMWTakeTimestamp, nested.TopicName, nested.PublisherGID = trace.Optional[int64]{}, trace.Optional[int64]{}, "", ""
		s.rows.Callbacks = append(s.rows.Callbacks, nested)
	}
	s.rows.Callbacks = append(s.rows.Callbacks, row)
	t.now = until
	return &s.rows.Callbacks[len(s.rows.Callbacks)-1]
}

// publishes adds a publish in the callback, and returns its times.
func (s *busySystem) publishes(node int, number uint64, in *trace.Callback, until int64) (at, source int64) {
	at = in.CallbackStartTimestamp.Value + 1 + s.random.Int64N(until-in.CallbackStartTimestamp.Value)
	source = at + 500
	row := trace.Publish{
		ProcessKey: busyKey, TID: in.TID, PublishNumber: number, PublisherHandle: busyPublisher(node), TopicName: busyTopic[node], NodeName: in.NodeName,
		RclcppPublishTimestamp: trace.Some(at), RclPublishTimestamp: trace.Some(at + 100), RMWPublishTimestamp: trace.Some(at + 200), SourceTimestamp: trace.Some(source),
		Callback: in.Callback, CallbackStartTimestamp: in.CallbackStartTimestamp, Depth: 1, Status: trace.PublishComplete,
	}
	if !s.seldom(60) {
		s.rows.Publishes = append(s.rows.Publishes, row)
	}
	return at, source
}

// receives runs the callback of a message, if its thread gets there.
func (s *busySystem) receives(node int, at, source int64) *trace.Callback {
	t := &s.threads[node]
	for t.now < at || s.seldom(3) { // the thread does something else
		if !s.seldom(3) {
			s.run(t, node, trace.Callback{Callback: busyTimer(node), Kind: trace.KindTimer, Period: trace.Some(3 * busyPeriod)})
		}
		s.idle(t, min(at+1000, t.now+400_000))
	}
	if s.seldom(100) { // it has much else to do
		for range s.upTo(100) {
			s.idle(t, t.now)
			s.run(t, node, trace.Callback{Callback: busyTimer(node), Kind: trace.KindTimer, Period: trace.Some(3 * busyPeriod)})
		}
	}
	return s.run(t, node, trace.Callback{
		Callback: busyReceiver(node), Kind: trace.KindSubscription, SubscriptionHandle: busySubscription(node), TopicName: busyTopic[node-1],
		SourceTimestamp: trace.Some(source), RMWTakeTimestamp: trace.Some(t.now - 1), PublisherGID: busyGIDs[node-1],
	})
}

// BusyDataset writes what happened in that many periods of the sensor of a made-up system, which was recorded with all
// times off the CPU.
func BusyDataset(t *testing.T, periods int64) *trace.Dataset {
	t.Helper()
	s := &busySystem{random: rand.New(rand.NewPCG(7, 18))}
	for node := range s.threads {
		s.threads[node] = busyThread{tid: int32(801 + node), now: busyBegin}
	}
	for i := range periods {
		sensor := &s.threads[busySensor]
		s.idle(sensor, busyInit+(i+1)*busyPeriod+s.upTo(200_000))
		made := s.run(sensor, busySensor, trace.Callback{Callback: busyTimer(busySensor), Kind: trace.KindTimer, Period: trace.Some(busyPeriod)})
		at, source := s.publishes(busySensor, uint64(i), made, sensor.now)
		for node := busyFilter; node <= busyActuator; node++ {
			s.idle(&s.threads[node], at-s.upTo(2_000_000))
		}
		made = s.receives(busyFilter, at, source)
		at, source = s.publishes(busyFilter, uint64(i), made, s.threads[busyFilter].now)
		s.receives(busyActuator, at, source)
	}
	for i := range int64(4) {
		from := busyBegin + (i+1)*periods*busyPeriod/6
		s.rows.Losses = append(s.rows.Losses, trace.Loss{
			Kind: trace.LostSched, Reason: []trace.LossReason{trace.LossRingFull, trace.LossMissed}[i%2], Count: 1, FromTimestamp: from, ToTimestamp: from + 2*busyPeriod,
		})
	}
	slices.SortFunc(s.rows.Callbacks, func(a, b trace.Callback) int {
		return cmp.Compare(a.CallbackStartTimestamp.Value, b.CallbackStartTimestamp.Value)
	})
	slices.SortFunc(s.rows.Scheds, func(a, b trace.Sched) int { return cmp.Compare(a.SchedInTimestamp, b.SchedInTimestamp) })
	s.entities()
	dir := filepath.Join(t.TempDir(), "busy")
	w, err := writer.Create(dir, writer.Options{RowGroupRows: 2000})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{w.WriteSession(trace.NewSession()), w.Write(&s.rows), w.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return tracetest.Open(t, dir)
}

func (s *busySystem) entities() {
	s.rows.Processes = []trace.Process{{ProcessKey: busyKey}}
	for node, name := range busyNodes {
		handle := trace.Address(1 + node)
		qualified := "/" + name
		period := trace.Some(3 * busyPeriod)
		init := trace.Some(busyInit)
		switch node {
		case busySensor:
			period = trace.Some(busyPeriod)
		case busyActuator:
			init = trace.Optional[int64]{}
		}
		timer := trace.Timer{ProcessKey: busyKey, TimerHandle: 0x5000 + handle, NodeHandle: handle, NodeName: qualified, Callback: busyTimer(node), Period: period}
		timer.InitTimestamp = init
		info := trace.CallbackInfo{ProcessKey: busyKey, Callback: busyTimer(node), Kind: trace.KindTimer, OwnerHandle: timer.TimerHandle, NodeName: qualified, Period: period, Symbol: name + "::tick()"}
		info.InitTimestamp = init
		s.rows.Nodes = append(s.rows.Nodes, trace.Node{ProcessKey: busyKey, NodeHandle: handle, NodeName: name, Namespace: "/"})
		s.rows.Timers, s.rows.CallbackInfos = append(s.rows.Timers, timer), append(s.rows.CallbackInfos, info)
		if node < busyActuator {
			s.rows.Publishers = append(s.rows.Publishers, trace.Publisher{
				ProcessKey: busyKey, PublisherHandle: busyPublisher(node), NodeHandle: handle, NodeName: qualified, TopicName: busyTopic[node], GID: busyGIDs[node],
			})
		}
		if node > busySensor {
			s.rows.Subscriptions = append(s.rows.Subscriptions, trace.Subscription{
				ProcessKey: busyKey, SubscriptionHandle: busySubscription(node), NodeHandle: handle, NodeName: qualified, TopicName: busyTopic[node-1], Callback: busyReceiver(node),
			})
			s.rows.CallbackInfos = append(s.rows.CallbackInfos, trace.CallbackInfo{
				ProcessKey: busyKey, Callback: busyReceiver(node), Kind: trace.KindSubscription, OwnerHandle: busySubscription(node), NodeName: qualified, TopicName: busyTopic[node-1],
				Symbol: name + "::on_message()",
			})
		}
	}
}
