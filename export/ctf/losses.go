package ctf

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

// losses are those of a recording that the trace is to tell of, in the order of time.
type losses struct {
	rows []loss
	told int
}

type loss struct {
	to    int64
	count uint64
}

// losses reads what the trace lacks since it was lost, in the time that it is about.
func (c *collector) losses(ctx context.Context, d *trace.Dataset) (*losses, error) {
	l := new(losses)
	err := scan(ctx, c, d, trace.TableLoss, func(row *trace.Loss) error {
		if hasEvents(row.Kind) && c.options.covers(row.FromTimestamp, row.ToTimestamp) {
			l.rows = append(l.rows, loss{to: row.ToTimestamp, count: row.Count})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(l.rows, func(a, b loss) int { return cmp.Compare(a.to, b.to) })
	return l, nil
}

// hasEvents reports whether what was lost would have been events of a trace.
func hasEvents(of trace.LossKind) bool {
	switch of {
	case trace.LostService, trace.LostSched, trace.LostThread, trace.LostRaw:
		return false
	}
	return true
}

// total is how much was lost.
func (l *losses) total() (count uint64) {
	for _, of := range l.rows {
		count = saturatingAdd(count, of.count)
	}
	return count
}

// until returns how much was lost until then that was not told before.
func (l *losses) until(at int64) (count uint64) {
	for ; l.told < len(l.rows) && l.rows[l.told].to <= at; l.told++ {
		count = saturatingAdd(count, l.rows[l.told].count)
	}
	return count
}

// rest returns how much was lost that was not told before.
func (l *losses) rest() (count uint64) {
	for ; l.told < len(l.rows); l.told++ {
		count = saturatingAdd(count, l.rows[l.told].count)
	}
	return count
}

// saturatingAdd adds counts: what a dataset says may be anything, and a trace's count must not go back.
func saturatingAdd(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}
