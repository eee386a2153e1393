package report

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Absent is what a table shows where there is no value.
const Absent = "-"

// Count groups digits: 1,234,567.
func Count[N ~int | ~int32 | ~int64 | ~uint32 | ~uint64](n N) string {
	text, sign := strconv.FormatUint(uint64(n), 10), ""
	if n < 0 {
		text, sign = strconv.FormatUint(-uint64(n), 10), "-"
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return sign + text
}

// Duration shows nanoseconds with the unit that fits and three to four significant digits: two decimals below 100, one
// from there on. What would be rounded to 1000 has the next unit. Nanoseconds, and seconds from 1000 on, are whole.
func Duration(ns int64) string {
	value, size := float64(ns), math.Abs(float64(ns))
	if size < 1e3 {
		return fmt.Sprintf("%d ns", ns)
	}
	for _, unit := range timeUnits {
		switch in := size / unit.size; {
		case in < 99.995:
			return fmt.Sprintf("%.2f %s", value/unit.size, unit.name)
		case in < 999.95:
			return fmt.Sprintf("%.1f %s", value/unit.size, unit.name)
		}
	}
	return Count(int64(math.Round(value/1e9))) + " s"
}

// timeUnits are those above the nanosecond.
var timeUnits = []struct {
	size float64
	name string
}{{1e3, "µs"}, {1e6, "ms"}, {1e9, "s"}}

// shortDuration shows nanoseconds with the unit that fits and three significant digits at most, in six cells. Seconds
// from 1000 on are whole.
func shortDuration(ns int64) string {
	value, size := float64(ns), math.Abs(float64(ns))
	if size < 1e3 {
		return fmt.Sprintf("%dns", ns)
	}
	for _, unit := range timeUnits {
		switch in := size / unit.size; {
		case in < 9.995:
			return fmt.Sprintf("%.2f%s", value/unit.size, unit.name)
		case in < 99.95:
			return fmt.Sprintf("%.1f%s", value/unit.size, unit.name)
		case in < 999.5:
			return fmt.Sprintf("%.0f%s", value/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%.0fs", value/1e9)
}

// Time shows Unix nanoseconds in UTC.
func Time(ns int64) string {
	return time.Unix(0, ns).UTC().Format("2006-01-02 15:04:05.000000000 UTC")
}

// Rate shows events a second.
func Rate(perSecond float64) string {
	return strconv.FormatFloat(perSecond, 'f', 1, 64) + "/s"
}

// Percent shows a share of 100 with two decimals below 10, one below 100, and none from there on.
func Percent(share float64) string {
	decimals := 0
	switch size := math.Abs(share); {
	case size < 9.995:
		decimals = 2
	case size < 99.95:
		decimals = 1
	}
	return strconv.FormatFloat(share, 'f', decimals, 64) + " %"
}

// Text shows a name, or that there is none.
func Text(text string) string {
	if text == "" {
		return Absent
	}
	return text
}
