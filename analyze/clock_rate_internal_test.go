package analyze

import (
	"math"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
)

// slewed is a measurement of a clock that is slewed so.
func slewed(at, frequency, tick, remaining int64) trace.Clock {
	return trace.Clock{MonotonicTimestamp: at, Frequency: trace.Some(frequency), Tick: trace.Some(tick), RemainingAdjustment: trace.Some(remaining)}
}

// A clock goes as wrong as its crystal and all that slews it do together, at either of the measurements beside a time.
func TestClockRate(t *testing.T) {
	const second, still, supposed = 1_000_000_000, 50e-6, 550e-6
	for _, test := range []struct {
		name     string
		measured []trace.Clock
		from, to int64
		want     float64
		read     bool
	}{
		{"not slewed", []trace.Clock{slewed(0, 0, 10_000, 0), slewed(second, 0, 10_000, 0)}, 1, 2, still, true},
		{"a frequency", []trace.Clock{slewed(0, -500<<16, 10_000, 0), slewed(second, 0, 10_000, 0)}, 1, 2, still + 500e-6, true},
		{"ticks", []trace.Clock{slewed(0, 0, 10_000, 0), slewed(second, 0, 9_200, 0)}, 1, 2, still + 80_000e-6, true},
		{"what remains", []trace.Clock{slewed(0, 0, 10_000, -1_000_000), slewed(second, 0, 10_000, 0)}, 1, 2, still + 500e-6, true},
		{"at another time", []trace.Clock{slewed(0, 0, 10_000, 0), slewed(second, 0, 10_000, 0), slewed(2*second, 0, 11_000, 0)}, 1, 2, still, true},
		{"until another time", []trace.Clock{slewed(0, 0, 10_000, 0), slewed(second, 0, 10_000, 0), slewed(2*second, 0, 11_000, 0)}, 1, second + 1, still + 0.1, true},
		{"never measured", nil, 1, 2, supposed, false},
		{"measured once", []trace.Clock{slewed(0, 0, 10_000, 0)}, 1, 2, supposed, false},
		{"not read", []trace.Clock{{}, {MonotonicTimestamp: second}}, 1, 2, supposed, false},
		{"not read in the end", []trace.Clock{slewed(0, 0, 11_000, 0), {MonotonicTimestamp: second}}, 1, 2, supposed, false},
		{"not measured for long", []trace.Clock{slewed(0, 0, 10_000, 0), slewed(60*second, 0, 11_000, 0)}, second, 2 * second, still + 0.1, false},
		{"long after", []trace.Clock{slewed(0, 0, 10_000, 0), slewed(second, 0, 10_000, 0)}, 60 * second, 61 * second, supposed, false},
		{"as no kernel does", []trace.Clock{slewed(0, math.MinInt64, math.MaxInt64, 0), slewed(second, 0, 10_000, 0)}, 1, 2, utmostSlew + still, true},
	} {
		r := newClockRate(&clockHost{measured: test.measured})
		most, read := r.mostBetween(test.from, test.to)
		if most < test.want || most > test.want*1.01+5e-6 && most > test.want+still || read != test.read {
			t.Errorf("%s: %v (%t), want %v (%t)", test.name, most, read, test.want, test.read)
		}
		if r.anyTime < most {
			t.Errorf("%s: it was %v, and is %v at most at any time", test.name, most, r.anyTime)
		}
	}
}
