package tracetest

import (
	"github.com/parquet-go/parquet-go"

	"github.com/caret-bpf/caret-bpf/columnar"
	"github.com/caret-bpf/caret-bpf/trace"
)

// Values returns what is stored of the rows in a column, as the Parquet library has it.
func Values(c *trace.Column, rows trace.AnyRows) []parquet.Value {
	switch c.Type {
	case trace.TypeBool:
		return valuesOf(c, rows, parquet.BooleanValue)
	case trace.TypeInt32:
		return valuesOf(c, rows, parquet.Int32Value)
	case trace.TypeInt64:
		return valuesOf(c, rows, parquet.Int64Value)
	}
	return valuesOf(c, rows, func(text string) parquet.Value { return parquet.ByteArrayValue([]byte(text)) })
}

func valuesOf[V columnar.Value](c *trace.Column, rows trace.AnyRows, convert func(V) parquet.Value) []parquet.Value {
	values := make([]parquet.Value, rows.Len())
	cells, levels := trace.Cells[V](c, rows, nil, nil)
	for i := range values {
		switch {
		case !c.Nullable:
			values[i] = convert(cells[i])
		case levels[i] == 0:
			values[i] = parquet.NullValue().Level(0, 0, 0)
		default:
			values[i] = convert(cells[0]).Level(0, 1, 0)
			cells = cells[1:]
		}
	}
	return values
}
