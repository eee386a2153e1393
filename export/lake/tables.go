package lake

import (
	"reflect"

	"github.com/caret-bpf/caret-bpf/trace"
)

// leadingID is the first column of all tables.
const leadingID = "recording_id"

// Table is a table of the lake, without the columns that all of them begin with.
type Table struct {
	Name    string
	Columns []Column
}

// Column is a column of a table.
type Column struct {
	trace.Column
	// Meaning is for people; "" where the dataset's table of that name says it.
	Meaning string
}

// Tables are those of the lake, in the order in which they are documented.
func Tables() []Table {
	return []Table{
		tableOf[RecordingRow](TableRecording), tableOf[CallbackFact](TableCallbackFact), tableOf[MessageFact](TableMessageFact),
		tableOf[PathFact](TablePathFact), tableOf[HopFact](TableHopFact), tableOf[ResponseFact](TableResponseFact),
		tableOf[NodeFact](TableNodeFact), tableOf[ServiceFact](TableServiceFact), tableOf[CallbackInfo](TableCallbackInfo),
		tableOf[Loss](TableLoss), tableOf[RecordingAttribute](TableRecordingAttribute),
	}
}

func tableOf[T any](name string) Table {
	columns := trace.ColumnsOf[T]()
	t := Table{Name: name, Columns: make([]Column, len(columns))}
	meanings := make([]string, 0, len(columns))
	for _, field := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		if !field.Anonymous {
			meanings = append(meanings, field.Tag.Get("doc"))
		}
	}
	for i := range columns {
		t.Columns[i] = Column{columns[i], meanings[i]}
	}
	return t
}
