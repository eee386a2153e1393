package oracle

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
)

// Dataset is a recording in memory.
type Dataset struct {
	Session *trace.Session
	trace.Batch
}

// ReadDataset reads all tables of a recording, and requires that they have what their files say.
func ReadDataset(t *testing.T, dir string) *Dataset {
	t.Helper()
	opened, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if warning := opened.Warning(); warning != "" {
		t.Error(warning)
	}
	data := &Dataset{Session: opened.Session()}
	for _, table := range trace.Registry() {
		if err := table.Read(context.Background(), opened, &data.Batch); err != nil {
			t.Errorf("table %s: %v", table.Name, err)
		}
		// In a dataset that was closed, what is read is what is there.
		read := data.Of(table).Len()
		stored, err := trace.Count(context.Background(), opened, table.Name)
		if err != nil || data.Session.Ending != trace.EndingRunning && stored != uint64(read) {
			t.Errorf("table %s: %d rows are stored, %d read, %v", table.Name, stored, read, err)
		}
	}
	return data
}

// Lost sums the losses by kind.
func (d *Dataset) Lost() map[trace.LossKind]uint64 {
	sum := map[trace.LossKind]uint64{}
	for _, loss := range d.Losses {
		sum[loss.Kind] += loss.Count
	}
	return sum
}

// StartedAt returns the recording without the rows of processes that started at other instants.
func (d *Dataset) StartedAt(start int64) *Dataset {
	return d.filtered(func(table *trace.Table, rows trace.AnyRows) func(i int) bool {
		column := table.Column("process_start")
		if column == nil {
			return nil
		}
		starts, _ := trace.Cells[int64](column, rows, nil, nil)
		return func(i int) bool { return starts[i] == start }
	})
}

// Split returns the recording of what was over at an instant on the ground truth's clock, and of what began then.
func (d *Dataset) Split(at uint64) (before, after *Dataset) {
	instant := int64(at) + d.Session.Clock.RealtimeOffset
	part := func(wanted func(first int64) bool) *Dataset {
		return d.filtered(func(table *trace.Table, rows trace.AnyRows) func(i int) bool {
			first := firstInstants(table, rows)
			if first == nil {
				return nil
			}
			return func(i int) bool { return wanted(first[i]) }
		})
	}
	return part(func(first int64) bool { return first < instant }), part(func(first int64) bool { return first >= instant })
}

// Since returns the recording without what happened before a time. It has all entities.
func (d *Dataset) Since(from int64) *Dataset {
	return d.filtered(func(table *trace.Table, rows trace.AnyRows) func(i int) bool {
		first := firstInstants(table, rows)
		if first == nil || table.HasEntities() {
			return nil
		}
		return func(i int) bool { return first[i] == 0 || first[i] >= from }
	})
}

// filtered returns the recording with the rows that are wanted. of returns what wants rows of a table; nil for all.
func (d *Dataset) filtered(of func(*trace.Table, trace.AnyRows) func(i int) bool) *Dataset {
	part := &Dataset{Session: d.Session}
	part.Append(&d.Batch)
	for _, table := range trace.Registry() {
		rows := part.Of(table)
		if wanted := of(table, rows); wanted != nil {
			rows.Retain(wanted)
		}
	}
	return part
}

// firstInstants returns when each row's first event happened, 0 where no time is known; nil for tables of anything but
// events and entities that begin.
func firstInstants(table *trace.Table, rows trace.AnyRows) []int64 {
	if table.Name == trace.TableProcess || table.Name == trace.TableLoss || table.Name == trace.TableClock {
		return nil
	}
	all := reflect.ValueOf(rows).Elem()
	fields := eventTimes(table, all.Type().Elem())
	first := make([]int64, all.Len())
	for i := range first {
		for _, field := range fields {
			at, ok := all.Index(i).Field(field).Interface().(trace.Optional[int64])
			if !ok {
				at = trace.Some(all.Index(i).Field(field).Int())
			}
			if at.Valid && (first[i] == 0 || at.Value < first[i]) {
				first[i] = at.Value
			}
		}
	}
	return first
}

// eventTimes are the fields of a row with the times of its tracepoints; of one without such, the first time.
func eventTimes(table *trace.Table, row reflect.Type) (fields []int) {
	other := -1
	for i := range row.NumField() {
		name, _, _ := strings.Cut(row.Field(i).Tag.Get("column"), ",")
		column := table.Column(name)
		switch {
		case column == nil: // embedded
		case column.Tracepoint != "":
			fields = append(fields, i)
		case other < 0 && strings.HasSuffix(name, "_timestamp"):
			other = i
		}
	}
	if fields == nil {
		fields = []int{other}
	}
	return fields
}

// firstValid returns the first of the instants that is not null.
func firstValid(instants ...trace.Optional[int64]) int64 {
	for _, at := range instants {
		if at.Valid {
			return at.Value
		}
	}
	return 0
}

// FirstRow returns the first instant of a process in the dataset, on the ground truth's clock.
func (d *Dataset) FirstRow(pid int) (uint64, bool) {
	first := int64(0)
	see := func(key trace.ProcessKey, at trace.Optional[int64]) {
		if int(key.PID) == pid && at.Valid && (first == 0 || at.Value < first) {
			first = at.Value
		}
	}
	for i := range d.Callbacks {
		row := &d.Callbacks[i]
		see(row.ProcessKey, row.CallbackStartTimestamp)
		see(row.ProcessKey, row.CallbackEndTimestamp)
		see(row.ProcessKey, row.RMWTakeTimestamp)
		see(row.ProcessKey, row.DequeueTimestamp)
	}
	for i := range d.Publishes {
		for _, at := range layersOf(&d.Publishes[i]) {
			see(d.Publishes[i].ProcessKey, at)
		}
	}
	for i := range d.Takes {
		see(d.Takes[i].ProcessKey, d.Takes[i].RMWTakeTimestamp)
	}
	return uint64(first - d.Session.Clock.RealtimeOffset), first != 0
}
