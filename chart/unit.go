package chart

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Times and values beyond these limits come of wrong clocks or of damage. They are drawn at the limits: differences of
// them do not overflow.
const (
	latestTime    = 1 << 62 // in the year 2116
	greatestValue = 1 << 61 // 73 years
)

func limitTime(at int64) int64 { return min(max(at, 0), latestTime) }

func limitValue(value int64) int64 { return min(max(value, -greatestValue), greatestValue) }

// Unit is what the values of an axis are counted in.
type Unit int

const (
	// Nanoseconds are shown as ns, µs, ms or s, whichever fits the axis.
	Nanoseconds Unit = iota
	// MicroHertz are millionths of an event a second, shown as events a second.
	MicroHertz
)

// scale is how the values of one axis are shown.
type scale struct {
	symbol string
	size   float64 // values in one of it
}

// scaleFor returns the scale for an axis up to that magnitude.
func (u Unit) scaleFor(extent int64) scale {
	if u == MicroHertz {
		return scale{"1/s", 1e6}
	}
	switch size := math.Abs(float64(extent)); {
	case size < 1e3:
		return scale{"ns", 1}
	case size < 1e6:
		return scale{"µs", 1e3}
	case size < 1e9:
		return scale{"ms", 1e6}
	}
	return scale{"s", 1e9}
}

// show shows one value with its unit, and with four digits unless it has less.
func (u Unit) show(value int64) string {
	s := u.scaleFor(value)
	number := float64(value) / s.size
	decimals := 3
	for limit := 10.0; decimals > 0 && (math.Abs(number) >= limit || s.size == 1); limit *= 10 {
		decimals--
	}
	return strconv.FormatFloat(number, 'f', decimals, 64) + " " + s.symbol
}

// number shows a value of an axis with as many decimals as values of that step need, without its unit.
func (s scale) number(value, step int64) string {
	decimals := max(0, int(math.Ceil(-math.Log10(float64(max(step, 1))/s.size)-1e-9)))
	return strconv.FormatFloat(float64(value)/s.size, 'f', decimals, 64)
}

// niceStep returns the least of 1, 2, 5, 10, 20, 50 … that covers a length in that many steps at most.
func niceStep(length int64, steps int) int64 {
	const greatest = 1_000_000_000_000_000_000
	wanted := length / int64(steps)
	if length%int64(steps) > 0 {
		wanted++
	}
	for power := int64(1); ; power *= 10 {
		for _, digit := range []int64{1, 2, 5} {
			if digit*power >= wanted || digit*power == 5*greatest {
				return digit * power
			}
		}
	}
}

// ticksBetween returns the multiples of a nice step in an interval, about as many as wanted, and the step.
func ticksBetween(first, last int64, wanted int) (ticks []int64, step int64) {
	step = niceStep(max(last-first, 1), wanted)
	for at := ceilTo(first, step); at <= last; at += step {
		ticks = append(ticks, at)
	}
	return ticks, step
}

// floorTo returns the greatest multiple of step that is not greater than the value.
func floorTo(value, step int64) int64 {
	rest := value % step
	if rest < 0 {
		rest += step
	}
	return value - rest
}

func ceilTo(value, step int64) int64 {
	if floor := floorTo(value, step); floor != value {
		return floor + step
	}
	return value
}

// groupDigits shows a count: 1,234,567.
func groupDigits(n uint64) string {
	text := strconv.FormatUint(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// counted is a count with the noun that it counts, which is given for more than one: "executions".
func counted(n uint64, plural string) string {
	if n == 1 {
		plural = strings.TrimSuffix(plural, "s")
	}
	return groupDigits(n) + " " + plural
}

// timeTitle names an axis of time that counts from a time on.
func timeTitle(begin int64, s scale) string {
	return "time since " + time.Unix(0, begin).UTC().Format("2006-01-02 15:04:05.000000 UTC") + " [" + s.symbol + "]"
}
