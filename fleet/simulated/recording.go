package simulated

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/export/lake"
	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	// stops is the number of nodes of a chain; a topic leads from each to the next.
	stops = 4
	// longerStop is the node that a regression makes slower, driftingStop the one that drifts.
	longerStop   = 2
	driftingStop = 1
	// period is that of the first node's timer.
	period = 100 * time.Millisecond
	// lostShare is the share of messages that get lost, and busyLosses how many times that more it is at full load.
	lostShare, busyLosses = 0.0005, 4
	preemptedShare        = 0.02
	// batchRows is how many rows are passed on at once.
	batchRows = 1 << 14
)

func nodeName(chain, stop int) string  { return fmt.Sprintf("/chain_%02d/node_%d", chain, stop) }
func topicName(chain, stop int) string { return fmt.Sprintf("/chain_%02d/topic_%d", chain, stop) }
func pathName(chain int) string        { return fmt.Sprintf("path_%02d", chain) }

// recording is one that is made up.
type recording struct {
	fleet                  *Fleet
	id                     string
	vehicle, release, week int
	begin                  int64
	random                 *rand.Rand
	chains                 []chain

	callbacks []lake.CallbackFact
	messages  []lake.MessageFact
	paths     []lake.PathFact
	hops      []lake.HopFact
	end       int64
}

type chain struct {
	path   string
	nodes  [stops]string
	topics [stops]string // the last one is none
	work   [stops]float64
	travel [stops]float64 // to each node, but to the first
	ways   int64
}

// chain draws what a chain takes.
func (r *recording) chain(index int, common float64) chain {
	f := r.fleet
	c := chain{path: pathName(index)}
	of := f.random(4, uint64(index), 0)
	total := 0.0
	for stop := range stops {
		c.nodes[stop], c.topics[stop] = nodeName(index, stop), topicName(index, stop)
		c.work[stop] = 1e6 * (0.5 + 1.5*of.Float64())
		if stop > 0 {
			c.travel[stop] = 1e5 * (1 + 2*of.Float64())
			total += c.work[stop] + c.travel[stop]
		}
	}
	if index == 0 && r.release == f.Releases-1 {
		c.work[longerStop] += f.Regression * total
	}
	if index == f.Chains-1 {
		c.work[driftingStop] *= math.Pow(1+f.Drift, float64(r.week))
	}
	for stop := range stops {
		c.work[stop] *= common * r.own(index, 2*stop)
		c.travel[stop] *= common * r.own(index, 2*stop+1)
	}
	return c
}

// own is what one latency differs by on its own, in this vehicle, its release and this recording.
func (r *recording) own(chain, part int) float64 {
	f := r.fleet
	what := uint64(chain)<<8 | uint64(part)
	vehicle := f.random(5, uint64(r.vehicle), what).NormFloat64()
	release := f.random(6, uint64(r.vehicle)<<8|uint64(r.release), what).NormFloat64()
	return math.Exp(f.VehicleNoise/2*vehicle + f.ReleaseNoise*release + f.RecordingNoise/2*r.random.NormFloat64())
}

func (r *recording) vehicleName() string { return fmt.Sprintf("v%03d", r.vehicle) }
func (r *recording) host() string        { return r.vehicleName() + "-main" }

func (r *recording) keys() []lake.Key {
	return []lake.Key{{Name: lake.KeyDate, Value: time.Unix(0, r.begin).UTC().Format(time.DateOnly)}, {Name: "vehicle", Value: r.vehicleName()}}
}

// fill writes the recording.
func (r *recording) fill(m *lake.Made) (lake.RecordingRow, error) {
	ticks := max((r.fleet.Callbacks+stops*len(r.chains)-1)/(stops*len(r.chains)), 1)
	for tick := range ticks {
		r.tick(r.begin + int64(tick)*int64(period))
		if len(r.callbacks) >= batchRows || tick == ticks-1 {
			if err := r.flush(m); err != nil {
				return lake.RecordingRow{}, err
			}
		}
	}
	if err := m.Infos.Write(r.infos()); err != nil {
		return lake.RecordingRow{}, err
	}
	err := m.Attributes.Write([]lake.RecordingAttribute{
		{Key: "release", Value: r.fleet.Release(r.release)},
		{Key: "route", Value: []string{"city", "highway"}[r.week%2]},
		{Key: "vehicle", Value: r.vehicleName()},
	})
	return lake.RecordingRow{
		Host: r.host(), Kernel: "6.8.0", Architecture: "x86_64", RecorderVersion: "simulated", Distribution: "jazzy", RMW: "rmw_fastrtps_cpp",
		Begin: trace.Some(r.begin), End: trace.Some(r.end), Ending: trace.EndingDuration,
		Processes: int64(len(r.chains)), Nodes: int64(stops * len(r.chains)), ClockOffsetBound: trace.Some(int64(100)),
	}, err
}

// flush writes rows in the order of their times.
func (r *recording) flush(m *lake.Made) error {
	slices.SortStableFunc(r.callbacks, func(a, b lake.CallbackFact) int { return cmp.Compare(a.Begin.Value, b.Begin.Value) })
	slices.SortStableFunc(r.messages, func(a, b lake.MessageFact) int { return cmp.Compare(a.Publish, b.Publish) })
	for _, write := range []func() error{
		func() error { return m.Callbacks.Write(r.callbacks) }, func() error { return m.Messages.Write(r.messages) },
		func() error { return m.Paths.Write(r.paths) }, func() error { return m.Hops.Write(r.hops) },
	} {
		if err := write(); err != nil {
			return err
		}
	}
	r.callbacks, r.messages, r.paths, r.hops = r.callbacks[:0], r.messages[:0], r.paths[:0], r.hops[:0]
	return nil
}

// tick makes up one way along each chain.
func (r *recording) tick(at int64) {
	busy := load(at)
	for i := range r.chains {
		// Each chain begins somewhat later than the one before it.
		r.way(i, at+int64(i)*int64(period)/int64(2*len(r.chains)), busy)
	}
}

// way is one execution of the timer, and what follows from it.
func (r *recording) way(index int, at int64, busy float64) {
	c := &r.chains[index]
	slower := 1 + r.fleet.Swing*busy
	_, published := r.execute(index, 0, at, slower*c.work[0], busy)
	begin := published
	firstHop := len(r.hops)
	for stop := 1; stop < stops; stop++ {
		message := lake.MessageFact{
			Host: r.host(), Topic: c.topics[stop-1], PublisherHost: r.host(), PublisherNode: c.nodes[stop-1], PublisherPID: pid(index),
			PublisherID: int32(index*stops + stop - 1), SubscriptionNode: c.nodes[stop], SubscriptionPID: pid(index), SubscriptionID: int32(index*stops + stop),
			JoinedBy: analyze.JoinedByGID, Fate: analyze.Lost, Publish: published, RclcppPublish: trace.Some(published),
			RclPublish: trace.Some(published + 1000), RMWPublish: trace.Some(published + 2000), Source: trace.Some(published + 3000),
		}
		if r.random.Float64() < lostShare*(1+busyLosses*max(busy, 0)) {
			r.messages, r.hops = append(r.messages, message), r.hops[:firstHop]
			r.hops = append(r.hops, lake.HopFact{
				Path: c.path, Hop: int32(2*stop - 1), Kind: analyze.HopCommunication, Name: message.Topic, Fate: analyze.Lost,
				PathBegin: trace.Some(begin), Begin: published,
			})
			return
		}
		travel := int64(slower * c.travel[stop] * r.spread())
		started := published + travel
		duration, ended := r.execute(index, stop, started, slower*c.work[stop], busy)
		message.Fate, message.CallbackID, message.Polled = analyze.Received, trace.Some(int32(index*stops+stop)), trace.Some(false)
		message.Take, message.CallbackStart, message.CallbackEnd = trace.Some(started-2000), trace.Some(started), trace.Some(ended)
		message.Latency = trace.Some(travel)
		r.messages = append(r.messages, message)
		way := trace.Some(c.ways + 1)
		r.hops = append(r.hops,
			lake.HopFact{
				Path: c.path, Instance: way, Hop: int32(2*stop - 1), Kind: analyze.HopCommunication, Name: message.Topic, Fate: analyze.Received,
				PathBegin: trace.Some(begin), Begin: published, End: trace.Some(started), Latency: trace.Some(travel),
			},
			lake.HopFact{
				Path: c.path, Instance: way, Hop: int32(2 * stop), Kind: analyze.HopNode, Name: c.nodes[stop], Fate: analyze.Received,
				PathBegin: trace.Some(begin), Begin: started, End: trace.Some(ended), Latency: trace.Some(duration),
			})
		published = ended
	}
	c.ways++
	r.paths = append(r.paths, lake.PathFact{
		Path: c.path, Instance: trace.Some(c.ways), Fate: analyze.Received, Begin: begin, End: trace.Some(published), Latency: trace.Some(published - begin),
	})
}

func (r *recording) spread() float64 { return max(1+r.fleet.Spread*r.random.NormFloat64(), 0.01) }

// execute is one execution. What is published is published at its end.
func (r *recording) execute(index, stop int, at int64, typical, busy float64) (duration, ended int64) {
	c := &r.chains[index]
	work := int64(typical * r.spread())
	preempted, preemptions := int64(0), int32(0)
	if r.random.Float64() < preemptedShare*(1+busy) {
		preempted, preemptions = int64(typical*0.3*r.random.ExpFloat64())+1, 1
	}
	duration = work + preempted
	ended = at + duration
	row := lake.CallbackFact{
		Host: r.host(), PID: pid(index), ProcessStart: 1e9, TID: pid(index), CallbackID: int32(index*stops + stop), Node: c.nodes[stop],
		Status: trace.CallbackComplete, Begin: trace.Some(at), End: trace.Some(ended), Latency: trace.Some(duration),
		CPUTime: trace.Some(work), PreemptedTime: trace.Some(preempted), BlockedTime: trace.Some(int64(0)), WakeupLatency: trace.Some(int64(0)),
		Preemptions: trace.Some(preemptions), Migrations: trace.Some(int32(0)), Overhead: trace.Some(int64(2000)),
	}
	row.Kind, row.Topic, row.Period, row.Symbol = r.kind(index, stop)
	r.callbacks = append(r.callbacks, row)
	r.end = max(r.end, ended)
	return duration, ended
}

func pid(chain int) int32 { return int32(1000 + chain) }

// kind tells what a node's only callback is.
func (r *recording) kind(index, stop int) (kind trace.CallbackKind, topic string, every trace.Optional[int64], symbol string) {
	if stop == 0 {
		return trace.KindTimer, "", trace.Some(int64(period)), "Node::on_timer()"
	}
	return trace.KindSubscription, r.chains[index].topics[stop-1], trace.Optional[int64]{}, "Node::on_message()"
}

func (r *recording) infos() (rows []lake.CallbackInfo) {
	for index := range r.chains {
		for stop := range stops {
			row := lake.CallbackInfo{
				CallbackID: int32(index*stops + stop), Host: r.host(), PID: pid(index), ProcessStart: 1e9, Node: r.chains[index].nodes[stop], Callback: "callback_0",
			}
			row.Kind, row.Topic, row.Period, row.Symbol = r.kind(index, stop)
			rows = append(rows, row)
		}
	}
	return rows
}
