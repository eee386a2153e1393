package analyze_test

import (
	"cmp"
	"errors"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
)

// What messages tell of the clocks has the truth within it, at any time.
func TestClocksByMessages(t *testing.T) {
	there := func(d *driveOfTest) { d.send(d.hosts[0], d.hosts[1], 50, 100*time.Microsecond) }
	back := func(d *driveOfTest) { d.send(d.hosts[1], d.hosts[0], 50, 100*time.Microsecond) }
	both := func(d *driveOfTest) { there(d); back(d) }
	for _, test := range []struct {
		name              string
		hosts             [2]*hostOfTest
		lasts             time.Duration // 0: 20 s
		send              func(*driveOfTest)
		want              analyze.ClockVerdict
		uncertainty       time.Duration // 0: none
		atLeast, atMost   bool
		drift             time.Duration
		recordedIsBounded bool
	}{
		{
			name: "as recorded", hosts: [2]*hostOfTest{{sync: synchronized(300_001)}, {ahead: 900_000, ppm: 20, sync: synchronized(1_000_001)}},
			send: both, want: analyze.ClocksAgree, uncertainty: 650 * time.Microsecond, atLeast: true, atMost: true, drift: 20 * time.Microsecond, recordedIsBounded: true,
		},
		{
			name: "farther than recorded", hosts: [2]*hostOfTest{{sync: synchronized(300_001)}, {ahead: 90_000_000, sync: synchronized(1_000_001)}},
			send: both, want: analyze.ClocksDisagree, uncertainty: 400 * time.Microsecond, atLeast: true, atMost: true, recordedIsBounded: true,
		},
		{
			name: "one way, and as recorded", hosts: [2]*hostOfTest{{sync: synchronized(300_001)}, {ahead: 900_000, sync: synchronized(1_000_001)}},
			send: there, want: analyze.ClocksAgree, atMost: true, recordedIsBounded: true,
		},
		{
			name: "one way, and behind what is recorded", hosts: [2]*hostOfTest{{sync: synchronized(300_001)}, {ahead: -90_000_000, sync: synchronized(1_000_001)}},
			send: there, want: analyze.ClocksDisagree, atMost: true, recordedIsBounded: true,
		},
		{
			name: "back, and ahead of what is recorded", hosts: [2]*hostOfTest{{sync: synchronized(300_001)}, {ahead: 90_000_000, sync: synchronized(1_000_001)}},
			send: back, want: analyze.ClocksDisagree, atLeast: true, recordedIsBounded: true,
		},
		{
			name: "not synchronized", hosts: [2]*hostOfTest{{sync: synchronized(300_001)}, {ahead: 90_000_000, ppm: -50, sync: unsynchronized}},
			send: both, want: analyze.ClocksUnjudged, uncertainty: 950 * time.Microsecond, atLeast: true, atMost: true, drift: -50 * time.Microsecond,
		},
		{
			name: "drifting for long", hosts: [2]*hostOfTest{{sync: synchronized(300_001)}, {ppm: 50, sync: unsynchronized}}, lasts: 400 * time.Second,
			send: both, want: analyze.ClocksUnjudged, uncertainty: 11 * time.Millisecond, atLeast: true, atMost: true, drift: 50 * time.Microsecond,
		},
		{
			name: "set meanwhile", hosts: [2]*hostOfTest{{}, {ahead: 90_000_000, steps: [][2]int64{{10 * second, -50_000_000}}}},
			send: both, want: analyze.ClocksUnjudged, uncertainty: 52 * time.Millisecond, atLeast: true, atMost: true,
		},
		{
			name: "no messages", hosts: [2]*hostOfTest{{sync: synchronized(300_001)}, {sync: synchronized(1_000_001)}},
			send: func(*driveOfTest) {}, want: analyze.ClocksUnjudged,
		},
		{
			name: "too fast", hosts: [2]*hostOfTest{{sync: synchronized(300_001)}, {ppm: 3000, sync: synchronized(1_000_001)}},
			send: both, want: analyze.ClocksContradictory, atLeast: true, atMost: true, recordedIsBounded: true,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			first, second := test.hosts[0], test.hosts[1]
			first.name, second.name = "here", "there"
			d := newDrive(t, cmp.Or(test.lasts, 20*time.Second), first, second)
			test.send(d)
			var truths, middles []int64
			results, err := d.query(analyze.ClockOptions{}).Clocks(t.Context(), func(list []analyze.ClockBounds) error {
				for _, at := range list {
					if at.Offset.Valid {
						middles = append(middles, at.Offset.Value)
					}
					at0 := at.Timestamp - first.ahead
					offset := second.monotonic(at0) + second.offset(at0) - (first.monotonic(at0) + first.offset(at0))
					truths = append(truths, offset)
					if test.want != analyze.ClocksContradictory &&
						(at.AtLeast.Valid && at.AtLeast.Value > offset || at.AtMost.Valid && at.AtMost.Value < offset || at.AtLeast.Valid != test.atLeast || at.AtMost.Valid != test.atMost) {
						t.Errorf("%d is not within %+v", offset, at)
					}
				}
				return nil
			})
			if err != nil || len(results) != 1 {
				t.Fatalf("got %v, %v", results, err)
			}
			got := results[0]
			if got.Host != "here" || got.OtherHost != "there" || got.Verdict != test.want || got.There+got.Back != uint64(len(d.latency)) {
				t.Errorf("got %+v, want %s of %d messages", got, test.want, len(d.latency))
			}
			if got.Offset.Valid != (test.uncertainty > 0) || got.OffsetUncertainty.Value > int64(test.uncertainty) || got.AtLeast.Valid != test.atLeast || got.AtMost.Valid != test.atMost {
				t.Errorf("got %+v, want it within %v", got, test.uncertainty)
			}
			requireMean(t, got, truths, middles)
			if off := got.Drift.Value - int64(test.drift); got.Drift.Valid != got.Offset.Valid || got.DriftUncertainty.Valid != got.Drift.Valid ||
				abs(off) > got.DriftUncertainty.Value || got.DriftUncertainty.Value > 60_000 {
				t.Errorf("a drift of %v a second is %d ns within %d", test.drift, got.Drift.Value, got.DriftUncertainty.Value)
			}
			if got.RecordedUncertainty.Valid != test.recordedIsBounded {
				t.Errorf("by what was recorded it is within %v", got.RecordedUncertainty)
			}
		})
	}
}

// requireMean holds the offset of a recording: the mean of the middles, and as far from what was true at any time as it
// says at most.
func requireMean(t *testing.T, got analyze.ClockComparison, truths, middles []int64) {
	t.Helper()
	if !got.Offset.Valid {
		return
	}
	sum := int64(0)
	for i, middle := range middles {
		sum += middle - middles[0]
		if abs(truths[i]-got.Offset.Value) > got.OffsetUncertainty.Value {
			t.Errorf("an offset of %d is not within %d of %d", truths[i], got.OffsetUncertainty.Value, got.Offset.Value)
		}
	}
	if mean := middles[0] + sum/int64(len(middles)); abs(mean-got.Offset.Value) > 1 {
		t.Errorf("the mean is %d, got %d", mean, got.Offset.Value)
	}
}

func abs(n int64) int64 { return max(n, -n) }

// Requests and responses tell of clocks, too.
func TestClocksByCalls(t *testing.T) {
	here, there := &hostOfTest{name: "here"}, &hostOfTest{name: "there", ahead: 7 * second}
	d := newDrive(t, 10*time.Second, here, there)
	step := func(h *hostOfTest, at int64, step trace.ServiceStep, number int64) {
		h.rows.Services = append(h.rows.Services, trace.Service{
			ProcessKey: h.key, Step: step, StepTimestamp: h.stamp(at), ClientGID: "aa", SequenceNumber: number, ServiceName: "/reset", Provenance: trace.FromTracepoint,
		})
	}
	for i := range int64(10) {
		at := testBegin + i*second
		step(here, at, trace.RequestSent, i)
		step(there, at+200_000, trace.RequestTaken, i)
		step(there, at+900_000, trace.ResponseSent, i)
		step(here, at+1_000_000, trace.ResponseTaken, i)
	}
	results, err := d.query(analyze.ClockOptions{}).Clocks(t.Context(), nil)
	if err != nil || len(results) != 1 {
		t.Fatalf("got %v, %v", results, err)
	}
	if got := results[0]; got.There != 10 || got.Back != 10 || abs(got.Offset.Value-7*second) > got.OffsetUncertainty.Value || got.OffsetUncertainty.Value > 300_000 {
		t.Errorf("got %+v", got)
	}
}

// Recordings of one boot have one clock.
func TestClocksOfOneHost(t *testing.T) {
	here, beside := newRecording(t), newRecording(t)
	here.session.Host.BootID, beside.session.Host.BootID = "boot", "boot"
	_, err := newQuery(t, analyze.Filter{}, here.write(), beside.write()).Clocks(t.Context(), nil)
	if !errors.Is(err, analyze.ErrNothingSelected) {
		t.Errorf("error %v", err)
	}
}

// Two recorders of one host are one clock, beside that of another host: what they measured is of both.
func TestClocksOfTwoRecordersAndAnotherHost(t *testing.T) {
	d := newDrive(t, 20*time.Second, &hostOfTest{name: "here", sync: synchronized(300_001)}, &hostOfTest{name: "there", ahead: 400_000, sync: synchronized(500_001)})
	d.send(d.hosts[0], d.hosts[1], 50, 100*time.Microsecond)
	d.send(d.hosts[1], d.hosts[0], 50, 100*time.Microsecond)
	// It began when real time was ahead by a second, and has the callbacks of the first host's subscription.
	beside := newRecording(t)
	beside.session.Host = d.hosts[0].session.Host
	beside.session.Clock = d.hosts[0].measure(testBegin)
	beside.session.Clock.RealtimeOffset += second
	beside.session.Clock.RealtimeTimestamp += second
	beside.session.Clock.MonotonicTimestamp -= 100 * second
	beside.rows.Callbacks, d.hosts[0].rows.Callbacks = d.hosts[0].rows.Callbacks, nil
	beside.rows.Processes = d.hosts[0].rows.Processes
	for i := range beside.rows.Callbacks {
		c := &beside.rows.Callbacks[i]
		c.CallbackStartTimestamp.Value += second
		c.CallbackEndTimestamp.Value += second
		c.RMWTakeTimestamp.Value += second
	}
	var datasets []*trace.Dataset
	for _, r := range []*recording{beside, d.hosts[0].recording, d.hosts[1].recording} {
		datasets = append(datasets, r.write())
	}
	q := newQuery(t, analyze.Filter{}, datasets...)
	worst := d.requireBounded(q, analyze.ClockRecorded)
	if !worst.Valid || worst.Value > 3_000_000 {
		t.Errorf("latencies are within %v", worst)
	}
}
