package analyze

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// Calls of which only one side was recorded are kept in a bounded number, and none of them is counted wrong for it.
func TestFewServiceCallsAreKept(t *testing.T) {
	const kept, calls = 8, 1000
	for name, steps := range map[string][2]trace.ServiceStep{
		"client alone": {trace.RequestSent, trace.ResponseTaken},
		"server alone": {trace.RequestTaken, trace.ResponseSent},
	} {
		t.Run(name, func(t *testing.T) {
			c := newServiceCalls(&Query{unknown: system.NewUnknowns(system.NewUnknownLimit())}, kept, nil)
			for i := range int64(calls) {
				// An answer comes when a few more calls have begun.
				c.add(&serviceStep{serviceColumns{Step: steps[0], ClientGID: "aa", SequenceNumber: i, ServiceName: "/add"}, 100 * i, 0})
				if i >= kept/2 {
					c.add(&serviceStep{serviceColumns{Step: steps[1], ClientGID: "aa", SequenceNumber: i - kept/2, ServiceName: "/add"}, 100*i + 7, 0})
				}
				if len(c.open) > kept || c.order.Len() != len(c.open) {
					t.Fatalf("%d calls are kept, %d in order", len(c.open), c.order.Len())
				}
			}
			c.end()
			answered := false
			for _, r := range c.results() {
				if r.Part == PartCall && name == "client alone" || r.Part == PartServer && name == "server alone" {
					answered = true
					if r.Count != calls-kept/2 || r.Unanswered != kept/2 || r.Min.Value != 100*kept/2+7 || r.Max != r.Min {
						t.Errorf("%+v", r)
					}
				}
			}
			if !answered || len(c.query.Warnings) > 0 {
				t.Errorf("answered: %v, warnings %q", answered, c.query.Warnings)
			}
		})
	}
}

// An answer that comes after the call was given up is a call of its own, and there is a warning.
func TestLateAnswersAreWarnedOf(t *testing.T) {
	const kept = 8
	c := newServiceCalls(&Query{unknown: system.NewUnknowns(system.NewUnknownLimit())}, kept, nil)
	for i := range int64(kept + 1) {
		c.add(&serviceStep{serviceColumns{Step: trace.RequestSent, ClientGID: "aa", SequenceNumber: i, ServiceName: "/add"}, 100 * i, 0})
	}
	c.add(&serviceStep{serviceColumns{Step: trace.ResponseTaken, ClientGID: "aa", SequenceNumber: 0, ServiceName: "/add"}, 10_000, 0})
	c.end()
	for _, r := range c.results() {
		if r.Part == PartCall && (r.Count != 0 || r.Unanswered != kept+1) {
			t.Errorf("%+v", r)
		}
	}
	// The first was given up for the last request, the second for the answer.
	if want := "2 calls had no answer when 8 later ones had begun: one that came still later counts as a call of its own"; len(c.query.Warnings) != 1 || c.query.Warnings[0] != want {
		t.Errorf("warnings %q, want %q", c.query.Warnings, want)
	}
}
