package trace

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unsafe"
)

// EncodeRow returns a row as a JSON object, by the names of the columns and in their order. What is null is left out.
func EncodeRow(table *Table, rows AnyRows, i int) json.RawMessage {
	row := rows.memory().at(i)
	var text bytes.Buffer
	text.WriteByte('{')
	for c := range table.Columns {
		column := &table.Columns[c]
		value := column.encode(row)
		if column.isOffset || value == nil {
			continue
		}
		if text.Len() > 1 {
			text.WriteByte(',')
		}
		text.WriteString(strconv.Quote(column.Name)) // names of columns are plain
		text.WriteByte(':')
		text.Write(value)
	}
	text.WriteByte('}')
	return text.Bytes()
}

// encode returns a row's value as JSON, nil if it is null.
func (c *Column) encode(row unsafe.Pointer) []byte {
	at := unsafe.Add(row, c.place)
	if c.present != 0 && !*(*bool)(unsafe.Add(at, c.present)) {
		return nil
	}
	nullIfZero := c.Nullable && c.present == 0
	switch c.Type {
	case TypeBool:
		return strconv.AppendBool(nil, *(*bool)(at))
	case TypeInt32:
		if v := *(*int32)(at); v != 0 || !nullIfZero {
			return strconv.AppendInt(nil, int64(v), 10)
		}
	case TypeInt64:
		if v := *(*int64)(at); v != 0 || !nullIfZero {
			return strconv.AppendInt(nil, v, 10)
		}
	case TypeString:
		if v := *(*string)(at); v != "" || !nullIfZero {
			encoded, _ := json.Marshal(v) // of a text, which cannot fail
			return encoded
		}
	}
	return nil
}
