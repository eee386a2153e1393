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

// Duration shows nanoseconds with the unit that fits.
func Duration(ns int64) string {
	value := float64(ns)
	switch size := math.Abs(value); {
	case size < 1e3:
		return fmt.Sprintf("%d ns", ns)
	case size < 1e6:
		return fmt.Sprintf("%.1f µs", value/1e3)
	case size < 1e9:
		return fmt.Sprintf("%.1f ms", value/1e6)
	}
	return fmt.Sprintf("%.2f s", value/1e9)
}

// Time shows Unix nanoseconds in UTC.
func Time(ns int64) string {
	return time.Unix(0, ns).UTC().Format("2006-01-02 15:04:05.000000000 UTC")
}

// Rate shows events a second.
func Rate(perSecond float64) string {
	return strconv.FormatFloat(perSecond, 'f', 1, 64) + "/s"
}

// Percent shows a share of 100.
func Percent(share float64) string {
	return strconv.FormatFloat(share, 'f', 1, 64) + " %"
}

// Text shows a name, or that there is none.
func Text(text string) string {
	if text == "" {
		return Absent
	}
	return text
}
