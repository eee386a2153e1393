package analyze_test

import (
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// Messages go from a host to another one, whose node makes others of them, which go back. All takes as long each time.
func TestPathsAcrossHostsAreWithinTheirBounds(t *testing.T) {
	const (
		there   = 300_000 // how long a message is on its way
		inNode  = 700_000
		back    = 150_000
		through = there + inNode + back
	)
	near, far := &hostOfTest{name: "here", sync: unsynchronized}, &hostOfTest{name: "there", ahead: 3 * second, ppm: 40, sync: unsynchronized}
	d := newDrive(t, 20*time.Second, near, far)
	setOut, returned := near.publisher(near.node, "/out", "aa"), far.publisher(far.node, "/back", "bb")
	arrive, end := far.subscription(far.node, "/out"), near.subscription(near.node, "/back")
	for i := range int64(190) {
		at := testBegin + i*second/10
		near.publishes(setOut, near.stamp(at), testBegin+i, 0, 0)
		far.receives(arrive, "aa", testBegin+i, far.stamp(at+there), far.stamp(at+there+inNode+1000))
		far.publishes(returned, far.stamp(at+there+inNode), testBegin+i, arrive.callback, far.stamp(at+there))
		near.receives(end, "bb", testBegin+i, near.stamp(at+through), near.stamp(at+through+1000))
	}
	pathsOf := func(q *analyze.Query, text string) []*system.Path {
		if err := q.LoadActivity(t.Context()); err != nil {
			t.Fatal(err)
		}
		paths, err := q.Architecture.FindPaths(text)
		if err != nil {
			t.Fatal(err)
		}
		return paths
	}
	// A duration and its bound: 0 for those on one clock, which are exact but for the drift.
	within := func(what string, got, want int64, of analyze.ClockAgreement, crosses bool, source analyze.ClockSource) {
		t.Helper()
		bound := of.ClockUncertainty.Value
		if !crosses {
			bound = inNode*40/1_000_000 + 2 // the second clock is faster
			source = ""
		}
		if of.ClockSource != source || of.ClockUncertainty.Valid != (source == analyze.ClockMessages) {
			t.Errorf("%s is within %+v, want by %q", what, of, source)
		}
		if source != analyze.ClockUnknown && (got < want-bound || got > want+bound) {
			t.Errorf("%s took %d, and is %d, which is not within %d", what, want, got, bound)
		}
	}
	for source, options := range map[analyze.ClockSource]analyze.ClockOptions{analyze.ClockUnknown: {}, analyze.ClockMessages: {ByMessages: true}} {
		t.Run(string(source), func(t *testing.T) {
			q := d.query(options)
			round := pathsOf(q, "[/node_here]-[/out]-[/node_there]-[/back]-[/node_here]")
			want := []int64{through, there, inNode, back}
			crosses := []bool{false, true, false, true}
			instances := 0
			rows, err := q.PathLatency(t.Context(), round, analyze.PathOptions{}, func(hops []analyze.PathHopInstance) error {
				for _, hop := range hops {
					instances++
					within(hop.Name, hop.Latency.Value, want[hop.Hop], hop.ClockAgreement, crosses[hop.Hop], source)
				}
				return nil
			})
			if err != nil || instances != 4*190 || len(rows) != 4 {
				t.Fatalf("%d instances, %d rows, %v", instances, len(rows), err)
			}
			for i, row := range rows {
				within(row.Name, row.Min.Value, want[i], row.ClockAgreement, crosses[i], source)
				within(row.Name, row.Max.Value, want[i], row.ClockAgreement, crosses[i], source)
			}
			q = d.query(options)
			half := pathsOf(q, "[/node_here]-[/out]-[/node_there]")
			flows, inputs := 0, 0
			cases, err := q.ResponseTime(t.Context(), half, analyze.PathOptions{LastCallback: true}, func(list []analyze.ResponseTimeInstance) error {
				for _, flow := range list {
					flows++
					within("best", flow.Best, there+inNode+1000, flow.ClockAgreement, true, source)
				}
				return nil
			}, func(list []analyze.ResponseTimeInputInstance) error {
				for _, input := range list {
					inputs++
					within("an input", input.ResponseTime, there+inNode+1000, input.ClockAgreement, true, source)
				}
				return nil
			})
			if err != nil || flows != 189 || inputs != flows {
				t.Fatalf("%d flows, %d inputs, %v", flows, inputs, err)
			}
			for _, row := range cases {
				longest := int64(there + inNode + 1000)
				if row.Case == analyze.ResponseWorstWithExternalLatency {
					longest += second10th
				}
				within(string(row.Case), row.Max.Value, longest, row.ClockAgreement, true, source)
			}
			if !warned(q, "here", "there") != (source == analyze.ClockMessages) {
				t.Errorf("it warns of %q", q.Warnings)
			}
		})
	}
}

const second10th = int64(time.Second / 10)

// The parts of a call that go from host to host have bounds, and those on one host have none.
func TestCallsAcrossHostsAreWithinTheirBounds(t *testing.T) {
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
	q := d.query(analyze.ClockOptions{ByMessages: true})
	rows, err := q.ServiceLatency(t.Context(), nil)
	if err != nil || len(rows) != 4 {
		t.Fatalf("got %v, %v", rows, err)
	}
	want := map[analyze.ServicePart]int64{analyze.PartCall: 1_000_000, analyze.PartRequest: 200_000, analyze.PartServer: 700_000, analyze.PartResponse: 100_000}
	for _, row := range rows {
		crosses := row.Part == analyze.PartRequest || row.Part == analyze.PartResponse
		if row.ClockUncertainty.Valid != crosses || (row.ClockSource == analyze.ClockMessages) != crosses || abs(row.Max.Value-want[row.Part]) > row.ClockUncertainty.Value {
			t.Errorf("%s took %d, and is %d within %+v", row.Part, want[row.Part], row.Max.Value, row.ClockAgreement)
		}
	}
}
