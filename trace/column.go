package trace

import (
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	"github.com/caret-bpf/caret-bpf/columnar"
)

// ColumnType is the type of a column's values.
type ColumnType = columnar.Type

// The column types. A row's unsigned field (an address, a counter) is stored as the signed number of the same bits.
const (
	TypeBool   = columnar.TypeBool
	TypeInt32  = columnar.TypeInt32
	TypeInt64  = columnar.TypeInt64
	TypeString = columnar.TypeString
)

var columnTypes = map[reflect.Kind]ColumnType{
	reflect.Bool:   TypeBool,
	reflect.Int32:  TypeInt32,
	reflect.Int64:  TypeInt64,
	reflect.Uint32: TypeInt32,
	reflect.Uint64: TypeInt64,
	reflect.String: TypeString,
}

// Column is one column of a table.
type Column struct {
	Name     string
	Type     ColumnType
	Nullable bool
	Encoding Encoding
	// Tracepoint is whose hit a value shows, by CARET's name; "" for columns that show none.
	Tracepoint string

	place uintptr // of the value in the row, in bytes
	// present is how far behind the value Optional.Valid is. It is 0 where the zero value is null.
	present uintptr

	// After names the time column that this one comes shortly after or before, "" for most. Where that has a value, this
	// one's is not stored, but its offset from it, in the column OffsetName.
	After string
	// base is where the value of After lies in the row, of a column that has one and of a column of offsets. Its
	// Optional.Valid follows as this column's own does.
	base     uintptr
	isOffset bool
}

const (
	timeSuffix   = "_timestamp"
	offsetSuffix = "_offset"
)

// OffsetName is the name of the column with the offsets from After.
func (c *Column) OffsetName() string { return strings.TrimSuffix(c.Name, timeSuffix) + offsetSuffix }

// IsOffset tells whether the column holds offsets of a time from another one, in nanoseconds. Rows have no field of
// its own for it.
func (c *Column) IsOffset() bool { return c.isOffset }

// withOffsets gives each column that is stored as an offset where it can be the column of offsets behind it.
func withOffsets(columns []Column) ([]Column, error) {
	var all []Column
	for _, c := range columns {
		if c.After == "" {
			all = append(all, c)
			continue
		}
		offsets, err := c.offsets(columns)
		if err != nil {
			return nil, err
		}
		c.base = offsets.base
		all = append(all, c, offsets)
	}
	return all, nil
}

// offsets returns the column of offsets of a column, whose After is among the columns.
func (c *Column) offsets(columns []Column) (Column, error) {
	for i := range columns {
		base := &columns[i]
		if base.Name != c.After {
			continue
		}
		if base.Type != TypeInt64 || c.Type != TypeInt64 || base.present == 0 || base.present != c.present || !strings.HasSuffix(c.Name, timeSuffix) {
			return Column{}, fmt.Errorf("column %s cannot be stored as an offset from %s", c.Name, c.After)
		}
		return Column{
			Name: c.OffsetName(), Type: TypeInt64, Nullable: true, Encoding: EncodingSmaller,
			place: c.place, present: c.present, base: base.place, isOffset: true,
		}, nil
	}
	return Column{}, fmt.Errorf("column %s is stored as an offset from %s, which is not there", c.Name, c.After)
}

// newColumn reads the tag and the type of a row type's field.
func newColumn(field reflect.StructField) (Column, error) {
	name, options, _ := strings.Cut(field.Tag.Get("column"), ",")
	if name == "" {
		return Column{}, fmt.Errorf("field %s has no column tag", field.Name)
	}
	c := Column{Name: name, place: field.Offset}
	valueType := field.Type
	if valid, ok := optionalLayout(valueType); ok {
		c.Nullable = true
		c.present = valid
		valueType = valueType.Field(0).Type
	}
	c.Type = columnTypes[valueType.Kind()]
	if c.Type == "" {
		return Column{}, fmt.Errorf("column %s has type %v", name, field.Type)
	}
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "":
		case "null":
			c.Nullable = true
		default:
			if after, ok := strings.CutPrefix(option, "after="); ok {
				c.After = after
			} else if tracepoint, ok := strings.CutPrefix(option, "hit="); ok {
				c.Tracepoint = tracepoint
			} else {
				c.Encoding = Encoding(option)
			}
		}
	}
	if c.Encoding == "" {
		c.Encoding = defaultEncoding(valueType.Kind())
	}
	return c, nil
}

// IsOptional tells whether t is an Optional: a Value and a Valid.
func IsOptional(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.PkgPath() == reflect.TypeFor[ProcessKey]().PkgPath() && strings.HasPrefix(t.Name(), "Optional[")
}

// optionalLayout tells whether t is an Optional, and where its Valid lies behind its Value.
func optionalLayout(t reflect.Type) (valid uintptr, ok bool) {
	if !IsOptional(t) {
		return 0, false
	}
	return t.Field(1).Offset, true
}

// Cells appends the column's values of the rows to values, nulls left out, and for a nullable column a level for each
// row to levels: 1 where it has a value, else 0. The column must be of the rows' table and V of its type; unsigned
// fields are seen as signed ones of their size.
func Cells[V columnar.Value](c *Column, rows AnyRows, values []V, levels []byte) ([]V, []byte) {
	var zero V
	in := rows.memory()
	switch {
	case c.storesOffset():
		offsets, ok := any(values).([]int64)
		if !ok {
			panic("trace: offsets are of type int64")
		}
		for i := range in.count {
			level := byte(0)
			if value, ok := storedTime(c, in.at(i)); ok {
				offsets, level = append(offsets, value), 1
			}
			levels = append(levels, level)
		}
		values = any(offsets).([]V)
	case !c.Nullable:
		for i := range in.count {
			values = append(values, *(*V)(unsafe.Add(in.at(i), c.place)))
		}
	case c.present == 0:
		for i := range in.count {
			level := byte(0)
			if v := *(*V)(unsafe.Add(in.at(i), c.place)); v != zero {
				values, level = append(values, v), 1
			}
			levels = append(levels, level)
		}
	default:
		for i := range in.count {
			p := unsafe.Add(in.at(i), c.place)
			level := *(*byte)(unsafe.Add(p, c.present)) // a bool is 0 or 1
			if level != 0 {
				values = append(values, *(*V)(p))
			}
			levels = append(levels, level)
		}
	}
	return values, levels
}

// storesOffset tells whether what is stored of the column depends on another one.
func (c *Column) storesOffset() bool { return c.isOffset || c.After != "" }

// storedTime returns what a row's time has to store in the column: in the one of offsets that from the other time, in
// its own the time where there is no other.
func storedTime(c *Column, row unsafe.Pointer) (value int64, ok bool) {
	at, base := unsafe.Add(row, c.place), unsafe.Add(row, c.base)
	if !*(*bool)(unsafe.Add(at, c.present)) || *(*bool)(unsafe.Add(base, c.present)) != c.isOffset {
		return 0, false
	}
	value = *(*int64)(at)
	if c.isOffset {
		value -= *(*int64)(base)
	}
	return value, true
}
