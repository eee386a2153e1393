package analyze_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
)

// hostOfTest is a computer whose clock is known to differ from true time.
type hostOfTest struct {
	*recording
	name string
	// ahead is by how much real time was off in the beginning, and parts per million how fast its clock goes.
	ahead, ppm int64
	// steps are when real time was set, and by how much.
	steps [][2]int64
	// slews are by how much its clock is made faster meanwhile.
	slews []slewOfTest
	// unread: it was not recorded whether it is.
	unread bool
	// sync fills what the kernel knows of the synchronization.
	sync func(*trace.Clock)
	node testNode
}

// slewOfTest makes a clock faster by parts per million, from a time until another one.
type slewOfTest struct {
	from, to, ppm int64
}

const (
	testBegin  = int64(1_760_000_000_000_000_000)
	testUptime = int64(5_000_000_000_000)
	second     = int64(time.Second)
)

// monotonic is the host's monotonic clock at a true time.
func (h *hostOfTest) monotonic(at int64) int64 {
	at -= testBegin
	time := testUptime + at + at*h.ppm/1_000_000
	for _, slew := range h.slews {
		time += max(0, min(at, slew.to)-slew.from) * slew.ppm / 1_000_000
	}
	return time
}

// slew is by how much the kernel makes it faster: by a frequency as far as that goes, and by ticks.
func (h *hostOfTest) slew(at int64, c *trace.Clock) {
	c.Frequency, c.Tick, c.RemainingAdjustment = trace.Some(int64(0)), trace.Some(int64(10_000)), trace.Some(int64(0))
	at -= testBegin
	for _, slew := range h.slews {
		if at >= slew.from && at <= slew.to {
			ticks := slew.ppm / 1000 * 10
			c.Tick.Value += ticks
			c.Frequency.Value += (slew.ppm - ticks*100) << 16
		}
	}
}

// offset is that of real time to it.
func (h *hostOfTest) offset(at int64) int64 {
	offset := testBegin + h.ahead - testUptime
	for _, step := range h.steps {
		if at >= testBegin+step[0] {
			offset += step[1]
		}
	}
	return offset
}

// stamp is a true time as the dataset has it.
func (h *hostOfTest) stamp(at int64) int64 { return h.monotonic(at) + h.offset(testBegin) }

func (h *hostOfTest) measure(at int64) trace.Clock {
	c := trace.Clock{MonotonicTimestamp: h.monotonic(at), RealtimeOffset: h.offset(at), Uncertainty: 40}
	c.RealtimeTimestamp = c.MonotonicTimestamp + c.RealtimeOffset
	if !h.unread {
		h.slew(at, &c)
	}
	if h.sync != nil {
		h.sync(&c)
	}
	return c
}

// synchronized says that real time is off by so much at most.
func synchronized(within int64) func(*trace.Clock) {
	return func(c *trace.Clock) { c.Synchronized, c.MaxError = trace.Some(true), trace.Some(within) }
}

func unsynchronized(c *trace.Clock) {
	c.Synchronized, c.MaxError = trace.Some(false), trace.Some(16*second)
}

// driveOfTest is what several computers exchanged.
type driveOfTest struct {
	t       *testing.T
	hosts   []*hostOfTest
	lasts   int64
	random  *rand.Rand
	latency map[int64]int64 // the true one, by source timestamp
	sources int64
}

func newDrive(t *testing.T, lasts time.Duration, hosts ...*hostOfTest) *driveOfTest {
	t.Helper()
	d := &driveOfTest{t: t, hosts: hosts, lasts: int64(lasts), random: rand.New(rand.NewPCG(1, 2)), latency: make(map[int64]int64)}
	for i, h := range hosts {
		h.recording = newRecording(t)
		h.key = trace.ProcessKey{BootID: fmt.Sprintf("boot %d", i), PID: int32(100 + i), ProcessStart: 1}
		h.rows.Processes = []trace.Process{{ProcessKey: h.key}}
		h.session.Host.BootID, h.session.Host.Name = h.key.BootID, h.name
		h.session.Clock = h.measure(testBegin)
		for at := testBegin; at <= testBegin+d.lasts; at += second {
			h.rows.Clocks = append(h.rows.Clocks, h.measure(at))
		}
		h.node = h.recording.node("/node_" + h.name)
	}
	return d
}

// send has one host send messages to another one, so many a second, each of which takes at least so long.
func (d *driveOfTest) send(from, to *hostOfTest, rate int64, least time.Duration) {
	d.sendWhile(from, to, rate, least, 0, d.lasts)
}

// sendWhile does so from a time until another one.
func (d *driveOfTest) sendWhile(from, to *hostOfTest, rate int64, least time.Duration, begin, end int64) {
	topic := "/" + from.name + "_to_" + to.name
	pub := from.publisher(from.node, topic, "gid"+topic)
	sub := to.subscription(to.node, topic)
	for at := testBegin + begin + d.random.Int64N(second/rate); at < testBegin+end; at += second / rate {
		d.sources++
		source := testBegin + d.sources
		latency := int64(least) + d.random.Int64N(int64(2*time.Millisecond))
		d.latency[source] = latency
		from.publishes(pub, from.stamp(at), source, 0, 0)
		to.receives(sub, pub.gid, source, to.stamp(at+latency), to.stamp(at+latency+1000))
	}
}

// query asks about the datasets.
func (d *driveOfTest) query(options analyze.ClockOptions) *analyze.Query {
	d.t.Helper()
	var datasets []*trace.Dataset
	for _, h := range d.hosts {
		datasets = append(datasets, h.write())
	}
	q := newQuery(d.t, analyze.Filter{}, datasets...)
	if err := q.AlignClocks(d.t.Context(), options); err != nil {
		d.t.Fatal(err)
	}
	return q
}

// requireBounded compares every latency with the true one, and returns the greatest bound: null if some had none.
func (d *driveOfTest) requireBounded(q *analyze.Query, source analyze.ClockSource) (worst trace.Optional[int64]) {
	d.t.Helper()
	compared := 0
	worst.Valid = true
	results, err := q.CommunicationLatency(d.t.Context(), func(instances []analyze.CommunicationInstance) error {
		for _, i := range instances {
			if !i.Latency.Valid {
				continue
			}
			compared++
			if i.ClockSource != source {
				d.t.Fatalf("the clocks are %q, want %q", i.ClockSource, source)
			}
			if !i.ClockUncertainty.Valid {
				worst.Valid = false
				continue
			}
			worst.Value = max(worst.Value, i.ClockUncertainty.Value)
			if off := i.Latency.Value - d.latency[i.SourceTimestamp.Value]; off > i.ClockUncertainty.Value || -off > i.ClockUncertainty.Value {
				d.t.Fatalf("a latency of %d is %d, which is not within %d", d.latency[i.SourceTimestamp.Value], i.Latency.Value, i.ClockUncertainty.Value)
			}
		}
		return nil
	})
	if err != nil {
		d.t.Fatal(err)
	}
	if compared != len(d.latency) {
		d.t.Errorf("%d of %d messages have a latency", compared, len(d.latency))
	}
	for _, r := range results {
		if r.ClockSource != source || r.ClockUncertainty.Valid != worst.Valid || r.ClockUncertainty.Value > worst.Value {
			d.t.Errorf("%s is within %v by %q, and its messages within %v by %q", r.Topic, r.ClockUncertainty, r.ClockSource, worst, source)
		}
	}
	return worst
}

func warned(q *analyze.Query, texts ...string) bool {
	return slices.ContainsFunc(q.Warnings, func(w string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(w, text) })
	})
}

func TestLatenciesAcrossHostsAreWithinTheirBounds(t *testing.T) {
	const (
		here  = "here"
		there = "there"
	)
	both := func(d *driveOfTest) {
		d.send(d.hosts[0], d.hosts[1], 50, 100*time.Microsecond)
		d.send(d.hosts[1], d.hosts[0], 20, 150*time.Microsecond)
	}
	oneWay := func(d *driveOfTest) { d.send(d.hosts[1], d.hosts[0], 20, 150*time.Microsecond) }
	for _, test := range []struct {
		name  string
		hosts []*hostOfTest
		lasts time.Duration
		send  func(*driveOfTest)
		// options are how the clocks are brought together.
		options analyze.ClockOptions
		source  analyze.ClockSource
		// within bounds what the bounds may be; 0: there are none.
		within time.Duration
		warns  []string
	}{
		{
			name:  "synchronized", // the second one by less than it says, at any time
			hosts: []*hostOfTest{{name: here, sync: synchronized(300_000)}, {name: there, ahead: -1_900_000, sync: synchronized(2_000_001)}},
			send:  both, source: analyze.ClockRecorded, within: 4301 * time.Microsecond,
		},
		{
			name:  "stepped while recording",
			hosts: []*hostOfTest{{name: here, sync: synchronized(300_000)}, {name: there, ahead: 1_000_000, steps: [][2]int64{{14 * second, -1_700_000}}, sync: synchronized(1_000_001)}},
			send:  both, source: analyze.ClockRecorded, within: 5001 * time.Microsecond,
		},
		{
			name:  "stepped back by a minute",
			hosts: []*hostOfTest{{name: here, sync: synchronized(300_000)}, {name: there, ahead: 60 * second, steps: [][2]int64{{14 * second, -60 * second}}, sync: synchronized(60*second + 1)}},
			send:  both, source: analyze.ClockRecorded, within: 125 * time.Second,
		},
		{
			name:  "not synchronized",
			hosts: []*hostOfTest{{name: here, sync: synchronized(300_000)}, {name: there, ahead: 5_000_000, sync: unsynchronized}},
			send:  both, source: analyze.ClockUnknown, warns: []string{here, there, "not synchronized", "--clock-offset messages"},
		},
		{
			name:  "synchronized by who tells no bound",
			hosts: []*hostOfTest{{name: here, sync: synchronized(1_500_000)}, {name: there, ahead: 5_000_000, sync: synchronized(300_001)}},
			send:  both, source: analyze.ClockUnknown, warns: []string{"here: what synchronizes it tells the kernel no bound"},
		},
		{
			name:  "recorded by an older recorder",
			hosts: []*hostOfTest{{name: here}, {name: there, ahead: 5_000_000, sync: synchronized(300_001)}},
			send:  both, source: analyze.ClockUnknown, warns: []string{"here: nothing was recorded of how well"},
		},
		{
			name:  "off by more than they say",
			hosts: []*hostOfTest{{name: here, sync: synchronized(300_000)}, {name: there, ahead: -80_000_000, sync: synchronized(300_001)}},
			send:  func(d *driveOfTest) { d.send(d.hosts[0], d.hosts[1], 50, 100*time.Microsecond); clear(d.latency) },
			warns: []string{"farther apart than clock_uncertainty says"}, source: analyze.ClockRecorded,
		},
		{
			name:  "by messages",
			hosts: []*hostOfTest{{name: here, sync: unsynchronized}, {name: there, ahead: 3_141_592_653, ppm: 40, sync: unsynchronized}},
			send:  both, options: analyze.ClockOptions{ByMessages: true}, source: analyze.ClockMessages, within: 600 * time.Microsecond,
		},
		{
			name:  "by messages for long", // clocks that drift have drifted by 0.18 s
			hosts: []*hostOfTest{{name: here}, {name: there, ahead: -7_000_000, ppm: -90}},
			lasts: 2000 * time.Second, options: analyze.ClockOptions{ByMessages: true}, source: analyze.ClockMessages, within: 1200 * time.Microsecond,
			send: func(d *driveOfTest) {
				d.send(d.hosts[0], d.hosts[1], 5, 100*time.Microsecond)
				d.send(d.hosts[1], d.hosts[0], 5, 150*time.Microsecond)
			},
		},
		{
			name:  "by messages, a clock that was never set",
			hosts: []*hostOfTest{{name: here}, {name: there, ahead: -testBegin, ppm: -25}},
			send:  both, options: analyze.ClockOptions{ByMessages: true}, source: analyze.ClockMessages, within: 600 * time.Microsecond,
		},
		{
			name:  "by messages, and real time is set meanwhile",
			hosts: []*hostOfTest{{name: here, steps: [][2]int64{{7 * second, 9 * second}}}, {name: there, ahead: second, ppm: 25, steps: [][2]int64{{14 * second, -90 * second}}}},
			send:  both, options: analyze.ClockOptions{ByMessages: true}, source: analyze.ClockMessages, within: 600 * time.Microsecond,
		},
		{
			name:  "by messages in one direction",
			hosts: []*hostOfTest{{name: here}, {name: there, ahead: 1_000_000, ppm: 25}},
			send:  oneWay, options: analyze.ClockOptions{ByMessages: true}, source: analyze.ClockUnknown, warns: []string{"they went from there to here only"},
		},
		{
			name:  "by messages, a clock that drifts too fast",
			hosts: []*hostOfTest{{name: here}, {name: there, ahead: 1_000_000, ppm: 2500}},
			send:  both, options: analyze.ClockOptions{ByMessages: true}, source: analyze.ClockUnknown, warns: []string{"contradict each other"},
		},
		{
			name:    "by messages over another host",
			hosts:   []*hostOfTest{{name: here}, {name: there, ahead: 5 * second, ppm: 25}, {name: "beyond", ahead: -5 * second, ppm: -25}},
			options: analyze.ClockOptions{ByMessages: true}, source: analyze.ClockMessages, within: 1700 * time.Microsecond,
			send: func(d *driveOfTest) {
				both(d)
				d.send(d.hosts[1], d.hosts[2], 50, 100*time.Microsecond)
				d.send(d.hosts[2], d.hosts[1], 50, 100*time.Microsecond)
			},
		},
		{
			name:  "given",
			hosts: []*hostOfTest{{name: here, sync: unsynchronized}, {name: there, ahead: 5*second + 3000, sync: unsynchronized}},
			send:  both, source: analyze.ClockGiven, within: 5100 * time.Nanosecond,
			options: analyze.ClockOptions{Offsets: map[string]analyze.ClockOffset{there: {Ahead: 5 * second, Within: trace.Some(int64(5000))}}},
		},
		{
			name:  "given without a bound",
			hosts: []*hostOfTest{{name: here, sync: synchronized(300_001)}, {name: there, ahead: 5*second + 3000, sync: synchronized(300_001)}},
			send:  both, source: analyze.ClockUnknown, warns: []string{"what is given of there has no bound"},
			options: analyze.ClockOptions{Offsets: map[string]analyze.ClockOffset{there: {Ahead: 5 * second}}},
		},
		{
			name: "one given, one recorded",
			hosts: []*hostOfTest{{name: here, sync: synchronized(300_001)}, {name: there, ahead: 5*second + 3000, sync: unsynchronized},
				{name: "beyond", ahead: 90_000, sync: synchronized(100_001)}},
			source: analyze.ClockGiven, within: 2402 * time.Microsecond,
			options: analyze.ClockOptions{Offsets: map[string]analyze.ClockOffset{there: {Ahead: 5 * second, Within: trace.Some(int64(5000))}}},
			send:    func(d *driveOfTest) { d.send(d.hosts[1], d.hosts[2], 50, 100*time.Microsecond) },
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.lasts == 0 {
				test.lasts = 25 * time.Second
			}
			d := newDrive(t, test.lasts, test.hosts...)
			test.send(d)
			q := d.query(test.options)
			if len(d.latency) > 0 {
				worst := d.requireBounded(q, test.source)
				if worst.Valid != (test.within > 0) || worst.Value > int64(test.within) || worst.Valid && worst.Value == 0 {
					t.Errorf("latencies are within %v, want within %v", worst, test.within)
				}
			} else if _, err := q.CommunicationLatency(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			if len(test.warns) > 0 != (len(q.Warnings) > 0) || len(test.warns) > 0 && !warned(q, test.warns...) {
				t.Errorf("it warns of %q, want %q", q.Warnings, test.warns)
			}
		})
	}
}

// Whatever slews a clock slews CLOCK_MONOTONIC. What messages tell of it holds then. Where the slew was not recorded it
// is said what is supposed.
func TestLatenciesWhileClocksAreSlewed(t *testing.T) {
	const least = 2 * time.Millisecond // what every message takes: a slew by less contradicts none
	for _, ppm := range []int64{500, -500, 3000, 80_000, -80_000} {
		slews := []slewOfTest{{15*second + 300_000_000, 20*second + 300_000_000, ppm}}
		for _, test := range []struct {
			name   string
			slewed int // which of the hosts is
			unread bool
		}{
			{name: "the other host", slewed: 1},
			{name: "the first host"},
			{name: "not recorded", slewed: 1, unread: true},
		} {
			t.Run(fmt.Sprintf("%d ppm, %s", ppm, test.name), func(t *testing.T) {
				hosts := []*hostOfTest{{name: "here", ppm: 40}, {name: "there", ahead: -3 * second, ppm: -40}}
				hosts[test.slewed].slews, hosts[test.slewed].unread = slews, test.unread
				d := newDrive(t, 40*time.Second, hosts...)
				// One way, and then back: the offset has to be followed from one to the other.
				d.sendWhile(hosts[0], hosts[1], 20, least, 0, 16*second)
				d.sendWhile(hosts[1], hosts[0], 20, least, 17*second, 40*second)
				q := d.query(analyze.ClockOptions{ByMessages: true})
				if test.unread && abs(ppm) > 500 { // more than is supposed
					if _, err := q.CommunicationLatency(t.Context(), nil); err != nil || !warned(q, "there", "supposes that nothing slewed it") && !warned(q, "there", "contradict") {
						t.Errorf("it warns of %q, %v", q.Warnings, err)
					}
					return
				}
				if warned(q, "there", "supposes that nothing slewed it by more than 500 ppm") != test.unread {
					t.Errorf("it warns of %q", q.Warnings)
				}
				if worst := d.requireBounded(q, analyze.ClockMessages); !worst.Valid {
					t.Error("nothing bounds some latencies")
				}
			})
		}
	}
}

// What a host is said to be ahead has to be of a host, and not of the first one.
func TestOffsetOfUnknownHost(t *testing.T) {
	d := newDrive(t, time.Second, &hostOfTest{name: "here"}, &hostOfTest{name: "there"})
	q := d.query(analyze.ClockOptions{})
	for _, name := range []string{"elsewhere", "here"} {
		err := q.AlignClocks(t.Context(), analyze.ClockOptions{Offsets: map[string]analyze.ClockOffset{name: {}}})
		if !errors.Is(err, analyze.ErrUnknownHost) || !strings.Contains(err.Error(), "here, there") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
