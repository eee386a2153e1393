package session

import (
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/trace"
)

func TestReached(t *testing.T) {
	for name, test := range map[string]struct {
		limits Configuration
		now    extent
		want   trace.Ending
	}{
		"no limit":                     {Configuration{}, extent{rows: 1 << 40, bytes: 1 << 50}, ""},
		"few rows":                     {Configuration{MaxRows: 100}, extent{rows: 99}, ""},
		"as many rows":                 {Configuration{MaxRows: 100}, extent{rows: 100}, trace.EndingRows},
		"small":                        {Configuration{MaxBytes: 100}, extent{bytes: 99}, ""},
		"large":                        {Configuration{MaxBytes: 100}, extent{bytes: 100}, trace.EndingSize},
		"enough is left":               {Configuration{MinFreeBytes: 100}, extent{free: 100}, ""},
		"little is left":               {Configuration{MinFreeBytes: 100}, extent{free: 99}, trace.EndingFreeSpace},
		"little is left beside memory": {Configuration{MinFreeBytes: 100, RingAge: time.Second}, extent{free: 99}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, why := test.limits.reached(test.now)
			if got != test.want || (why == "") != (got == "") {
				t.Errorf("it ends by %q (%s), want %q", got, why, test.want)
			}
		})
	}
}
