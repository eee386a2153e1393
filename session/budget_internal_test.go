package session

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
)

// What bodies cost beside their callers is no reason to give up anything: they are left soon.
func TestBudgetDoesNotJudgeBodiesThatAreLeftSoon(t *testing.T) {
	for name, test := range map[string]struct {
		bodies   bodies
		settling bool
		judged   bool
	}{
		"none":                    {judged: true},
		"probed for some seconds": {bodies: bodies{leavableSites: leavableSites{attachments: make([]unitAttachment, 1)}}},
		"probed for ever":         {bodies: bodies{leavableSites: leavableSites{attachments: make([]unitAttachment, 1)}, stay: true}, judged: true},
		"left just before":        {settling: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Session{
				configuration: &compiled{Configuration: Configuration{MaxOverhead: 0.02}},
				processes:     map[int32]*process{1: {bodies: test.bodies}},
				report:        trace.NewSession(),
				budget:        budget{settling: test.settling},
			}
			s.keepBudget([]threadWindow{{pid: 1, tid: 2, share: 0.5}})
			if s.budget.told != test.judged {
				t.Errorf("judged: %v, want %v", s.budget.told, test.judged)
			}
			if s.budget.settling {
				t.Error("the next window is not judged either")
			}
		})
	}
}
