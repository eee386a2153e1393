package probes

import (
	"fmt"
	"time"

	"github.com/caret-bpf/caret-bpf/elffile"
)

// Cost is what a hit of a site takes from the traced thread, programs aside.
type Cost struct {
	// BareMetal and Virtual were measured on one machine each: they tell the classes apart, and are no promise.
	BareMetal, Virtual time.Duration
}

// expectedCosts are those of the classes: 0.32 and 0.91 µs are published figures for bare metal, the others were measured on a virtual
// machine with Linux 6.18.
var expectedCosts = map[elffile.Class]Cost{
	elffile.ClassEmulated:      {300 * time.Nanosecond, 600 * time.Nanosecond},
	elffile.ClassSingleStepped: {900 * time.Nanosecond, 14 * time.Microsecond},
}

// ExpectedCost is what a hit of the site is expected to cost.
func (s Site) ExpectedCost() Cost { return expectedCosts[s.Class] }

// String is such as "0.3-0.6 µs".
func (c Cost) String() string {
	return fmt.Sprintf("%g-%g µs", microseconds(c.BareMetal), microseconds(c.Virtual))
}

func microseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
