package attaching

import (
	"testing"
)

// What bodies cost beside their callers is no reason to give up anything: they are detached soon.
func TestBudgetDoesNotJudgeWhatSettlesSoon(t *testing.T) {
	for name, test := range map[string]struct {
		attached bool
		stay     bool
		settling bool
		judged   bool
	}{
		"none":                    {judged: true},
		"probed for some seconds": {attached: true},
		"probed for ever":         {attached: true, stay: true, judged: true},
		"detached just before":    {settling: true},
	} {
		t.Run(name, func(t *testing.T) {
			a, told := newTestAttacher(Options{MaxOverhead: 0.02})
			p := processNumber(1)
			if test.attached {
				p.bodies.attachments = []unitAttachment{{attachment: &fakeAttachment{}}}
			}
			p.bodies.stay = test.stay
			a.processes = []*Process{p}
			a.budget.settling = test.settling
			if a.KeepBudget([]ThreadShare{{PID: 1, TID: 2, Share: 0.5}}) {
				t.Error("nothing could be retired")
			}
			if judged := len(told.warnings) > 0; judged != test.judged {
				t.Errorf("judged: %v, want %v", judged, test.judged)
			}
			if a.budget.settling {
				t.Error("the next window is not judged either")
			}
		})
	}
}
