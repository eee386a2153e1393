package trace_test

import (
	"reflect"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

func TestBatchesHaveTheRowsOfEveryTable(t *testing.T) {
	first, second := tracetest.RandomBatch(3, 1), tracetest.RandomBatch(2, 2)
	both := new(trace.Batch)
	both.Append(first)
	both.Append(second)
	for _, table := range trace.Registry() {
		rows := both.Of(table)
		if rows.Len() != 5 {
			t.Errorf("table %s has %d rows", table.Name, rows.Len())
		}
		later := table.NewRows(1 << 20)
		if taken := later.Take(rows, 3); taken != 2 || !reflect.DeepEqual(later, second.Of(table)) {
			t.Errorf("%d of the last rows of table %s were taken: %+v", taken, table.Name, later)
		}
		rows.Retain(func(i int) bool { return i < 3 })
		if !reflect.DeepEqual(rows, first.Of(table)) {
			t.Errorf("the first rows of table %s are %+v", table.Name, rows)
		}
	}
	both.Reset()
	for _, table := range trace.Registry() {
		if left := both.Of(table).Len(); left > 0 {
			t.Errorf("%d rows are left in table %s", left, table.Name)
		}
	}
}

func TestRowsAreTakenAsFarAsThereIsRoom(t *testing.T) {
	from := trace.Rows[trace.Clock]{{RealtimeOffset: 1}, {RealtimeOffset: 2}, {RealtimeOffset: 3}}
	room := make(trace.Rows[trace.Clock], 0, 2)
	if taken := room.Take(&from, 0); taken != 2 || !room.IsFull() || room[1] != from[1] {
		t.Errorf("%d were taken: %+v", taken, room)
	}
	if taken := room.Take(&from, 2); taken != 0 {
		t.Errorf("%d were taken without room", taken)
	}
	whole := room[:2]
	if room.Clear(); len(room) != 0 || whole[0] != (trace.Clock{}) || room.IsFull() {
		t.Errorf("%+v remain", whole)
	}
	if taken := room.Take(&from, 2); taken != 1 || room[0] != from[2] {
		t.Errorf("%d were taken: %+v", taken, room)
	}
}

func TestASegmentTakesNoRowsOfAnotherTable(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a clock was added to losses")
		}
	}()
	w := trace.NewSegmentWriter(trace.TableOf[trace.Loss](), nil)
	_ = w.Add(&trace.Rows[trace.Clock]{{}})
}
