package trace

import (
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	"github.com/parquet-go/parquet-go"
)

// ColumnType is the type of a column's values.
type ColumnType string

// The column types. Unsigned ones carry Parquet's unsigned logical type.
const (
	TypeBool   ColumnType = "BOOLEAN"
	TypeInt32  ColumnType = "INT32"
	TypeInt64  ColumnType = "INT64"
	TypeUint32 ColumnType = "UINT32"
	TypeUint64 ColumnType = "UINT64"
	TypeString ColumnType = "STRING"
)

var parquetTypes = map[ColumnType]reflect.Type{
	TypeBool:   reflect.TypeFor[bool](),
	TypeInt32:  reflect.TypeFor[int32](),
	TypeInt64:  reflect.TypeFor[int64](),
	TypeUint32: reflect.TypeFor[uint32](),
	TypeUint64: reflect.TypeFor[uint64](),
	TypeString: reflect.TypeFor[string](),
}

var columnTypes = map[reflect.Kind]ColumnType{
	reflect.Bool:   TypeBool,
	reflect.Int32:  TypeInt32,
	reflect.Int64:  TypeInt64,
	reflect.Uint32: TypeUint32,
	reflect.Uint64: TypeUint64,
	reflect.String: TypeString,
}

// Column is one column of a table.
type Column struct {
	Name     string
	Type     ColumnType
	Nullable bool
	Encoding Encoding

	index  int
	offset uintptr // of the value in the row
	// present is the offset of Optional.Valid from the value. It is 0 where the zero value is null.
	present uintptr
}

// newColumn reads the tag and the type of a row type's field.
func newColumn(field reflect.StructField) (Column, error) {
	name, options, _ := strings.Cut(field.Tag.Get("column"), ",")
	if name == "" {
		return Column{}, fmt.Errorf("field %s has no column tag", field.Name)
	}
	c := Column{Name: name, offset: field.Offset}
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
			c.Encoding = Encoding(option)
		}
	}
	if c.Encoding == "" {
		c.Encoding = defaultEncoding(c.Type)
	}
	return c, nil
}

// optionalLayout tells whether t is an Optional, and where its Valid lies behind its Value.
func optionalLayout(t reflect.Type) (valid uintptr, ok bool) {
	if t.Kind() != reflect.Struct || t.PkgPath() != reflect.TypeFor[ProcessKey]().PkgPath() || !strings.HasPrefix(t.Name(), "Optional[") {
		return 0, false
	}
	return t.Field(1).Offset, true
}

// null is the Parquet value of an absent value of the column.
func (c *Column) null() parquet.Value {
	return parquet.NullValue().Level(0, 0, c.index)
}

// load converts the column's value of the row at row.
func (c *Column) load(row unsafe.Pointer) parquet.Value {
	p := unsafe.Add(row, c.offset)
	if c.present != 0 && !*(*bool)(unsafe.Add(p, c.present)) {
		return c.null()
	}
	var value parquet.Value
	zero := false
	switch c.Type {
	case TypeBool:
		value = parquet.BooleanValue(*(*bool)(p))
	case TypeInt32, TypeUint32:
		v := *(*int32)(p)
		value, zero = parquet.Int32Value(v), v == 0
	case TypeInt64, TypeUint64:
		v := *(*int64)(p)
		value, zero = parquet.Int64Value(v), v == 0
	case TypeString:
		s := *(*string)(p)
		value, zero = parquet.ByteArrayValue(unsafe.Slice(unsafe.StringData(s), len(s))), s == ""
	}
	if !c.Nullable {
		return value.Level(0, 0, c.index)
	}
	if zero && c.present == 0 {
		return c.null()
	}
	return value.Level(0, 1, c.index)
}

// store sets the column's value of the row at row, which holds the zero value before.
func (c *Column) store(row unsafe.Pointer, value parquet.Value, strings *interner) {
	if value.IsNull() {
		return
	}
	p := unsafe.Add(row, c.offset)
	switch c.Type {
	case TypeBool:
		*(*bool)(p) = value.Boolean()
	case TypeInt32, TypeUint32:
		*(*int32)(p) = value.Int32()
	case TypeInt64, TypeUint64:
		*(*int64)(p) = value.Int64()
	case TypeString:
		*(*string)(p) = strings.intern(value.ByteArray())
	}
	if c.present != 0 {
		*(*bool)(unsafe.Add(p, c.present)) = true
	}
}

// Values appends the column's values of the rows to values, for a parquet.ColumnWriter. The values refer to the rows' strings.
func Values[T Row](c *Column, rows []T, values []parquet.Value) []parquet.Value {
	for i := range rows {
		values = append(values, c.load(unsafe.Pointer(&rows[i])))
	}
	return values
}
