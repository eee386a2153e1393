package main

import (
	"fmt"

	"github.com/caret-bpf/caret-bpf/analyze/summary"
	"github.com/caret-bpf/caret-bpf/report"
)

// realTimeText says how well real time was synchronized.
func realTimeText(r summary.RealTime) string {
	switch {
	case r.Asked == 0:
		return "real time: how well it was synchronized is not known"
	case r.Synchronized == 0:
		return "real time: not synchronized"
	}
	text := "real time: synchronized"
	if r.Synchronized < r.Asked {
		text += fmt.Sprintf(" in %d of %d measurements", r.Synchronized, r.Asked)
	}
	if r.MaxError.Valid {
		return text + fmt.Sprintf(", off by at most %s by what the kernel was told", report.Duration(r.MaxError.Value))
	}
	return text + "; the kernel was not told how far it may be off"
}
