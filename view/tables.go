package view

import (
	"context"
	"errors"
	"time"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/report"
)

// worstFirst is the order of latencies in the commands' answers.
var worstFirst = report.Order{Column: "p99"}

// longestFirst is the order of their answers to where the time went, mostFirst that of what kept threads off the CPU.
var (
	longestFirst = report.Order{Column: "longest"}
	mostFirst    = report.Order{Column: "total"}
)

// loadInterval is the commands' for the peak of a load.
const loadInterval = int64(time.Second)

// callbackTable has for each row of callbacks the number of the callback; null for one that no table of entities has.
type callbackTable struct {
	*report.JSONRows
	IDs   []*int32 `json:"ids"`
	Parts *idTable `json:"parts"`
}

// idTable is a table whose rows are of callbacks.
type idTable struct {
	*report.JSONRows
	IDs []*int32 `json:"ids"`
}

// topicTable is a table whose rows are of topics.
type topicTable struct {
	*report.JSONRows
	// Topics are the numbers of the topics of the rows.
	Topics []int `json:"topics"`
}

// ofCallback returns the number of the callback of a row.
func (v *View) ofCallback(l analyze.CallbackLabel) *int32 {
	return v.callbackNamed(l.PID, l.Node, l.Callback)
}

func (v *View) callbackNamed(pid int32, node, callback string) *int32 {
	id, known := v.entities.namedCallbacks[callbackName{nodeName{pid, node}, callback}]
	if !known {
		return nil
	}
	return &id
}

// callbackLatencies are the rows of `latency callback`.
func (v *View) callbackLatencies(ctx context.Context) ([]analyze.CallbackLatency, error) {
	return v.callbackRows.get(ctx, func(ctx context.Context) (rows []analyze.CallbackLatency, err error) {
		err = v.plain.all(ctx, func(q *analyze.Query) error {
			rows, err = q.CallbackLatency(ctx, nil)
			return err
		})
		if err == nil {
			err = report.Sort(rows, worstFirst, nil)
		}
		report.PutLast(rows, func(l *analyze.CallbackLatency) bool { return l.OfEveryNode })
		return rows, err
	})
}

// communicationLatencies are the rows of `latency communication`.
func (v *View) communicationLatencies(ctx context.Context) ([]analyze.CommunicationLatency, error) {
	return v.communications.get(ctx, func(ctx context.Context) (rows []analyze.CommunicationLatency, err error) {
		err = v.plain.all(ctx, func(q *analyze.Query) error {
			rows, err = q.CommunicationLatency(ctx, nil)
			return err
		})
		if err == nil {
			err = report.Sort(rows, worstFirst, nil)
		}
		report.PutLast(rows, func(l *analyze.CommunicationLatency) bool { return l.OfEveryNode })
		return rows, err
	})
}

// periods are the rows of `period`, of callbacks or of topics.
func (v *View) periods(ctx context.Context, subject analyze.Subject) ([]analyze.Period, error) {
	kept := v.callbackPeriod
	if subject == analyze.Topics {
		kept = v.topicPeriods
	}
	return kept.get(ctx, func(ctx context.Context) (rows []analyze.Period, err error) {
		err = v.plain.all(ctx, func(q *analyze.Query) error {
			rows, err = q.Periods(ctx, subject, false, nil)
			return err
		})
		return rows, err
	})
}

func (v *View) callbackTable(ctx context.Context) (*callbackTable, error) {
	rows, err := v.callbackLatencies(ctx)
	if err != nil {
		return nil, err
	}
	t := new(callbackTable)
	if t.JSONRows, err = report.NewJSONRows(rows); err != nil {
		return nil, err
	}
	t.IDs = idsOf(rows, func(l *analyze.CallbackLatency) *int32 { return v.ofCallback(l.CallbackLabel) })
	var parts []analyze.CallbackParts
	err = v.plain.all(ctx, func(q *analyze.Query) error {
		parts, err = q.CallbackParts(ctx, nil)
		return err
	})
	if errors.Is(err, analyze.ErrNoScheduling) {
		return t, nil
	}
	if err == nil {
		err = report.Sort(parts, longestFirst, nil)
	}
	if err != nil {
		return nil, err
	}
	t.Parts = &idTable{IDs: idsOf(parts, func(p *analyze.CallbackParts) *int32 { return v.ofCallback(p.CallbackLabel) })}
	t.Parts.JSONRows, err = report.NewJSONRows(parts)
	return t, err
}

// delayTable are the rows of `latency callback --before`; nil where that was not recorded.
func (v *View) delayTable(ctx context.Context) (*idTable, error) {
	return newSchedulingTable(ctx, v, longestFirst, func(q *analyze.Query) ([]analyze.CallbackDelay, error) {
		return q.CallbackDelays(ctx, nil)
	}, func(d *analyze.CallbackDelay) analyze.CallbackLabel { return d.CallbackLabel })
}

// offCPUTable are the rows of `latency callback --off-cpu`; nil where that was not recorded.
func (v *View) offCPUTable(ctx context.Context) (*idTable, error) {
	return newSchedulingTable(ctx, v, mostFirst, func(q *analyze.Query) ([]analyze.CallbackOffCPU, error) {
		return q.CallbackOffCPU(ctx, nil)
	}, func(o *analyze.CallbackOffCPU) analyze.CallbackLabel { return o.CallbackLabel })
}

func newSchedulingTable[T any](ctx context.Context, v *View, order report.Order, ask func(*analyze.Query) ([]T, error), label func(*T) analyze.CallbackLabel) (*idTable, error) {
	var rows []T
	err := v.plain.all(ctx, func(q *analyze.Query) (err error) {
		rows, err = ask(q)
		return err
	})
	if errors.Is(err, analyze.ErrNoTimesOffCPU) {
		return nil, nil
	}
	if err == nil {
		err = report.Sort(rows, order, nil)
	}
	if err != nil {
		return nil, err
	}
	t := &idTable{IDs: idsOf(rows, func(row *T) *int32 { return v.ofCallback(label(row)) })}
	t.JSONRows, err = report.NewJSONRows(rows)
	return t, err
}

func idsOf[T any](rows []T, id func(*T) *int32) []*int32 {
	ids := make([]*int32, len(rows))
	for i := range rows {
		ids[i] = id(&rows[i])
	}
	return ids
}

func (v *View) communicationTable(ctx context.Context) (*topicTable, error) {
	rows, err := v.communicationLatencies(ctx)
	if err != nil {
		return nil, err
	}
	return newTopicTable(rows, func(l *analyze.CommunicationLatency) int { return v.entities.topic(l.Topic) })
}

func newTopicTable[T any](rows []T, topic func(*T) int) (t *topicTable, err error) {
	t = &topicTable{Topics: make([]int, len(rows))}
	for i := range rows {
		t.Topics[i] = topic(&rows[i])
	}
	t.JSONRows, err = report.NewJSONRows(rows)
	return t, err
}

func (v *View) timerTable(ctx context.Context) (*idTable, error) {
	rows, err := v.periods(ctx, analyze.Callbacks)
	if err != nil {
		return nil, err
	}
	t := &idTable{IDs: idsOf(rows, func(p *analyze.Period) *int32 { return v.callbackNamed(p.PID, p.Node, p.Callback) })}
	t.JSONRows, err = report.NewJSONRows(rows)
	return t, err
}

func (v *View) topicTable(ctx context.Context) (*topicTable, error) {
	rows, err := v.periods(ctx, analyze.Topics)
	if err != nil {
		return nil, err
	}
	return newTopicTable(rows, func(p *analyze.Period) int { return v.entities.topic(p.Topic) })
}

// loadTable has the thread of each row, null for one that rows of other tables do not name.
type loadTable struct {
	*report.JSONRows
	IDs     []*int32 `json:"ids"`
	Threads []*int   `json:"threads"`
}

func (v *View) loadTable(ctx context.Context) (*loadTable, error) {
	var rows []analyze.Load
	err := v.plain.take(ctx, v.asked, func(q *analyze.Query) (err error) {
		rows, err = q.Loads(ctx, loadInterval, nil)
		return err
	})
	if err != nil {
		return nil, err
	}
	t := &loadTable{IDs: idsOf(rows, func(l *analyze.Load) *int32 { return v.ofCallback(l.CallbackLabel) })}
	for i := range rows {
		var id *int
		if number, known := v.entities.ofTID[[2]int32{rows[i].PID, rows[i].TID}]; known && number != unknown {
			id = &number
		}
		t.Threads = append(t.Threads, id)
	}
	t.JSONRows, err = report.NewJSONRows(rows)
	return t, err
}
