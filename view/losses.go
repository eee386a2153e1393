package view

import (
	"context"
	"fmt"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
)

// shownLosses is the number of losses that are listed at most.
const shownLosses = 10_000

// lossTable is what is missing, and when.
type lossTable struct {
	Rows []lossRow `json:"rows"`
	// Omitted is how many more there are.
	Omitted int `json:"omitted"`
}

// lossRow is something that is missing from the recording in a time.
type lossRow struct {
	Begin  int64            `json:"begin"`
	End    int64            `json:"end"`
	Reason trace.LossReason `json:"reason"`
	// Count is null where it is not known how much.
	Count   *uint64 `json:"count"`
	Process *int    `json:"process"`
	// OffCPU says that it is of times off the CPU alone: callbacks and messages are not missing.
	OffCPU bool   `json:"offCpu"`
	Text   string `json:"text"`
}

func (v *View) losses(ctx context.Context) (*lossTable, error) {
	t := &lossTable{Rows: []lossRow{}}
	err := v.plain.all(ctx, func(q *analyze.Query) error {
		losses, err := lossesOf(ctx, q)
		for i := range losses {
			if i == shownLosses {
				t.Omitted = len(losses) - i
				break
			}
			t.Rows = append(t.Rows, v.lossRow(&losses[i]))
		}
		return err
	})
	return t, err
}

func lossesOf(ctx context.Context, q *analyze.Query) (losses []trace.Loss, err error) {
	err = q.Losses(ctx, func(rows []trace.Loss) error {
		losses = append(losses, rows...)
		return nil
	})
	return losses, err
}

func (v *View) lossRow(l *trace.Loss) lossRow {
	row := lossRow{Begin: v.since(l.FromTimestamp), End: v.since(l.ToTimestamp), Reason: l.Reason, OffCPU: l.Kind == trace.LostSched}
	if id, known := v.entities.started[processStart{l.PID, l.ProcessStart}]; known && l.PID != 0 {
		row.Process = &id
	}
	if l.Reason == trace.LossUnarmed {
		file := l.File
		if file == "" {
			file = "all its files"
		}
		row.Text = fmt.Sprintf("what was done in %s was not seen (%s)", file, l.Events)
		return row
	}
	row.Count = &l.Count
	row.Text = fmt.Sprintf("%s of kind %s: %s", plural(l.Count, "row was lost", "rows were lost"), l.Kind, l.Reason)
	return row
}
