package duckdb

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/test/answers"
)

// The views of times off the CPU have the rows of the Go commands, and their means.
func TestDelayViewsEqualGo(t *testing.T) {
	d := answers.BusyDataset(t, 2000)
	db := openViews(t, d)
	for _, answer := range answers.OfBusy(t, d) {
		t.Run(answer.View, func(t *testing.T) { equalLines(t, answer.Want, lines(t, db, answer.Query)) })
	}
}
