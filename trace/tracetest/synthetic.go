// Package tracetest makes rows for tests and benchmarks of the dataset.
package tracetest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	bootID     = "2b6c1f0e-6d0a-4a3e-9b57-3f1d0c9a7e11"
	start      = int64(1_760_000_000_000_000_000)
	processes  = 3
	chains     = 8 // a process
	heap       = trace.Address(0x55d0_c3a1_0000)
	arena      = trace.Address(0x7f3e_1c00_0000)
	cpus       = 8
	maxLatency = 40_000 // ns
)

// Synthetic returns rows of at least n callback executions of a small robot: in each process, timers of 10 to 100 Hz
// publish, with the jitter of a scheduler, and subscriptions of the next process take, some of them intra-process; one
// callback in ten polls. It is the same for the same n.
func Synthetic(n int) *trace.Batch {
	s := &synthesis{random: rand.New(rand.NewPCG(1, 2))}
	s.next = make([]int64, processes*chains)
	for len(s.rows.Callbacks) < n {
		s.step()
	}
	s.sort()
	return &s.rows
}

type synthesis struct {
	random  *rand.Rand
	rows    trace.Batch
	next    []int64 // the next expiry of each timer, since start
	numbers [processes * chains]uint64
	slots   [processes * chains]uint64
}

// step runs the timer that expires next and the subscription that its message goes to.
func (s *synthesis) step() {
	chain := 0
	for i := range s.next {
		if s.next[i] < s.next[chain] {
			chain = i
		}
	}
	period := int64(10_000_000 * (1 + chain%10))
	begin := start + s.next[chain] + s.jitter(maxLatency)
	s.next[chain] += period

	process, topic := chain/chains, fmt.Sprintf("/sensing/lidar_%d/points", chain)
	timer := s.callback(process, chain, begin, trace.KindTimer)
	timer.Period = trace.Some(period)
	published := begin + 2_000 + s.jitter(20_000)
	stamp := s.publish(chain, timer, published, topic)
	end := published + 10_000 + s.jitter(100_000)
	timer.CallbackEndTimestamp = trace.Some(end)
	s.rows.Callbacks = append(s.rows.Callbacks, timer)

	taken := published + 30_000 + s.jitter(maxLatency)
	if chain%4 == 0 {
		s.receiveIntraProcess(chain, timer, taken, topic)
	} else {
		s.receive(chain, taken, topic, stamp)
	}
}

func (s *synthesis) callback(process, chain int, begin int64, kind trace.CallbackKind) trace.Callback {
	return trace.Callback{
		ProcessKey: key(process), TID: int32(4200 + 100*process + chain%4), CPU: int32(s.random.IntN(cpus)),
		Callback: heap + trace.Address(0x1230*chain), CallbackStartTimestamp: trace.Some(begin), Status: trace.CallbackComplete,
		IsIntraProcess: trace.Some(kind == trace.KindIntraProcessSubscription), Kind: kind,
		NodeName: fmt.Sprintf("/sensing/node_%d", chain), Symbol: fmt.Sprintf("sensing::Node%d::on_event()", chain),
	}
}

func (s *synthesis) publish(chain int, in trace.Callback, at int64, topic string) (stamp int64) {
	stamp = at + 3_000 + s.jitter(500)
	p := trace.Publish{
		ProcessKey: in.ProcessKey, TID: in.TID, CPU: in.CPU, PublishNumber: s.numbers[chain],
		PublisherHandle: heap + trace.Address(0x2000+0x340*chain), RMWPublisherHandle: heap + trace.Address(0x8000+0x1c0*chain),
		Message: s.message(), RclcppPublishTimestamp: trace.Some(at), RclPublishTimestamp: trace.Some(at + 800 + s.jitter(200)),
		RMWPublishTimestamp: trace.Some(at + 1_800 + s.jitter(300)), SourceTimestamp: trace.Some(stamp),
		DDSBindAddrToStampTimestamp: trace.Some(stamp + 400 + s.jitter(200)), Status: trace.PublishComplete,
		Callback: in.Callback, CallbackStartTimestamp: in.CallbackStartTimestamp, Depth: 1,
		TopicName: topic, NodeName: in.NodeName,
	}
	if chain%4 == 0 {
		p.RclcppIntraPublishTimestamp = trace.Some(at - 1_000 - s.jitter(200))
		p.IntraMessage = s.message()
		p.EnqueueCount = 1
		s.rows.Enqueues = append(s.rows.Enqueues, trace.Enqueue{
			ProcessKey: in.ProcessKey, TID: in.TID, CPU: in.CPU, Buffer: heap + trace.Address(0x10000+0x80*chain),
			Index: trace.Some(s.slots[chain] % 10), Size: 1, EnqueueTimestamp: at - 500, PublishNumber: trace.Some(s.numbers[chain]),
			Callback: in.Callback, CallbackStartTimestamp: in.CallbackStartTimestamp, PublisherHandle: p.PublisherHandle, TopicName: topic,
		})
	}
	s.numbers[chain]++
	s.rows.Publishes = append(s.rows.Publishes, p)
	s.rows.Events = append(s.rows.Events, trace.Event{
		ProcessKey: in.ProcessKey, TID: in.TID, CPU: in.CPU, Event: "rclcpp_publish", EventTimestamp: at,
		Argument1: trace.Some(uint64(p.PublisherHandle)), Argument2: trace.Some(uint64(p.Message)),
	})
	return stamp
}

func (s *synthesis) receive(chain int, at int64, topic string, stamp int64) {
	c := s.callback((chain/chains+1)%processes, chain+1, at+1_500+s.jitter(400), trace.KindSubscription)
	c.Callback += 0x800
	c.Message = s.message()
	c.SourceTimestamp = trace.Some(stamp)
	c.RMWSubscriptionHandle = heap + trace.Address(0x20000+0x140*chain)
	c.RMWTakeTimestamp = trace.Some(at)
	c.SubscriptionHandle = heap + trace.Address(0x30000+0x140*chain)
	c.TopicName = topic
	if s.random.IntN(10) == 0 {
		s.rows.Takes = append(s.rows.Takes, trace.Take{
			ProcessKey: c.ProcessKey, TID: c.TID, CPU: c.CPU, Kind: trace.TakeRMW, RMWSubscriptionHandle: c.RMWSubscriptionHandle + 0x40,
			Message: s.message(), SourceTimestamp: trace.Some(stamp - 100_000), RMWTakeTimestamp: trace.Some(at + 5_000),
			Callback: c.Callback, CallbackStartTimestamp: c.CallbackStartTimestamp, TopicName: topic, NodeName: c.NodeName,
		})
	}
	c.CallbackEndTimestamp = trace.Some(at + 20_000 + s.jitter(300_000))
	s.rows.Callbacks = append(s.rows.Callbacks, c)
}

func (s *synthesis) receiveIntraProcess(chain int, from trace.Callback, at int64, topic string) {
	c := s.callback(chain/chains, chain+1, at+1_500+s.jitter(400), trace.KindIntraProcessSubscription)
	c.Callback += 0x900
	c.TID = from.TID
	c.Buffer = heap + trace.Address(0x10000+0x80*chain)
	c.DequeueIndex = trace.Some(s.slots[chain] % 10)
	c.DequeueSize = trace.Some(uint64(0))
	c.DequeueTimestamp = trace.Some(at)
	c.TopicName = topic
	c.CallbackEndTimestamp = trace.Some(at + 20_000 + s.jitter(300_000))
	s.slots[chain]++
	s.rows.Callbacks = append(s.rows.Callbacks, c)
}

// sort brings the rows into the order in which records complete.
func (s *synthesis) sort() {
	slices.SortStableFunc(s.rows.Callbacks, func(a, b trace.Callback) int {
		return cmp.Compare(a.CallbackEndTimestamp.Value, b.CallbackEndTimestamp.Value)
	})
	slices.SortStableFunc(s.rows.Publishes, func(a, b trace.Publish) int {
		return cmp.Compare(a.RclcppPublishTimestamp.Value, b.RclcppPublishTimestamp.Value)
	})
}

func (s *synthesis) jitter(limit int) int64 { return int64(s.random.IntN(limit)) }

// message is an address as an allocator gives it: one of a few that are reused, on 16 bytes.
func (s *synthesis) message() trace.Address {
	return arena + trace.Address(s.random.IntN(512)*0x150)
}

func key(process int) trace.ProcessKey {
	return trace.ProcessKey{BootID: bootID, PID: int32(4100 + 100*process), ProcessStart: 86_400_000_000_000 + int64(process)*1_250_000_000}
}
