package report

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/caret-bpf/caret-bpf/trace"
)

// kind is what the values of a column mean.
type kind string

const (
	kindDuration kind = "duration"
	kindTime     kind = "time"
	kindRate     kind = "rate"
	kindCount    kind = "count"
	kindPercent  kind = "percent"
	kindText     kind = "text"
	// kindIdentifier are numbers that only tell things apart.
	kindIdentifier kind = "identifier"
)

// kindsOf are the kinds that the values of a Go type can have, its default first.
var kindsOf = map[reflect.Kind][]kind{
	reflect.Bool:    {kindText},
	reflect.String:  {kindText},
	reflect.Int:     {kindCount, kindIdentifier},
	reflect.Int32:   {kindCount, kindIdentifier},
	reflect.Int64:   {kindCount, kindDuration, kindTime},
	reflect.Uint32:  {kindCount},
	reflect.Uint64:  {kindCount, kindText},
	reflect.Float64: {kindRate, kindPercent},
}

// column is one column of a row type.
type column struct {
	name   string
	kind   kind
	detail bool // left out of the aligned table
	// heading stands above the rows that have it, in place of a column of the aligned table.
	heading bool
	// sparse leaves it out of an aligned table whose first rows have no value of it.
	sparse bool
	// prose is broken into lines where an aligned table has no room for it.
	prose bool
	// short is its title in an aligned table without room for all columns, which then also rounds durations; "" if it has
	// none.
	short string
	// below is what its values are called below the rows, where an aligned table has no room for the column; "" if they
	// are not shown there.
	below string
	// drop is when an aligned table without room leaves the column out, the lower the earlier; 0 is after all others.
	drop  int
	index []int
	value reflect.Type // without its trace.Optional
	// optional says that the field is a trace.Optional.
	optional bool
}

// These precede a number, a title and a name in a tag.
const (
	dropOption  = "drop="
	shortOption = "short="
	belowOption = "below="
)

var addressType = reflect.TypeFor[trace.Address]()

// inline is the tag of a field whose columns are the row's.
const inline = ",inline"

// columnsOf reads the tags of a row type.
func columnsOf(row reflect.Type) ([]column, error) {
	if row.Kind() != reflect.Struct {
		return nil, fmt.Errorf("report: %v is no struct", row)
	}
	var columns []column
	for _, field := range reflect.VisibleFields(row) {
		tag, tagged := field.Tag.Lookup("report")
		if !tagged {
			continue
		}
		if tag == inline {
			within, err := columnsOf(field.Type)
			if err != nil {
				return nil, err
			}
			for _, c := range within {
				c.index = append(slices.Clone(field.Index), c.index...)
				columns = append(columns, c)
			}
			continue
		}
		c, err := newColumn(field, tag)
		if err != nil {
			return nil, fmt.Errorf("report: %v: field %s: %w", row, field.Name, err)
		}
		columns = append(columns, c)
	}
	if len(columns) == 0 {
		return nil, fmt.Errorf("report: %v has no columns", row)
	}
	return columns, nil
}

func newColumn(field reflect.StructField, tag string) (column, error) {
	name, options, _ := strings.Cut(tag, ",")
	c := column{name: name, index: field.Index, value: field.Type}
	if trace.IsOptional(field.Type) {
		c.optional, c.value = true, field.Type.Field(0).Type
	}
	kinds := kindsOf[c.value.Kind()]
	if name == "" || len(kinds) == 0 {
		return c, fmt.Errorf("type %v and tag %q make no column", field.Type, tag)
	}
	c.kind = kinds[0]
	if c.value == addressType {
		c.kind = kindText
	}
	for option := range strings.SplitSeq(options, ",") {
		switch {
		case option == "":
		case option == "detail":
			c.detail = true
		case option == "sparse":
			c.sparse = true
		case strings.HasPrefix(option, belowOption) && len(option) > len(belowOption):
			c.below = option[len(belowOption):]
		case strings.HasPrefix(option, shortOption) && len(option) > len(shortOption):
			c.short = option[len(shortOption):]
		case option == "heading" && c.kind == kindText:
			c.heading = true
		case option == "prose" && c.kind == kindText:
			c.prose = true
		case strings.HasPrefix(option, dropOption):
			var err error
			if c.drop, err = strconv.Atoi(option[len(dropOption):]); err != nil || c.drop < 1 {
				return c, fmt.Errorf("tag %q has no order of what is left out", tag)
			}
		case slices.Contains(kinds, kind(option)):
			c.kind = kind(option)
		default:
			return c, fmt.Errorf("tag %q does not fit type %v", tag, field.Type)
		}
	}
	return c, nil
}

// of returns the column's value in a row; ok is false where it is absent.
func (c *column) of(row reflect.Value) (value reflect.Value, ok bool) {
	value = row.FieldByIndex(c.index)
	if c.optional {
		return value.Field(0), value.Field(1).Bool()
	}
	return value, value.Kind() != reflect.String || value.Len() > 0
}

// title is the column's name in an aligned table.
func (c *column) title() string {
	title := strings.ToUpper(strings.ReplaceAll(c.name, "_", " "))
	return strings.ReplaceAll(title, "99 9", "99.9")
}

// shortCell is the column's value in an aligned table that has no room for all columns.
func (c *column) shortCell(row reflect.Value) string {
	if value, ok := c.of(row); ok && c.short != "" && c.kind == kindDuration {
		return shortDuration(value.Int())
	}
	return c.cell(row)
}

// cell is the column's value in an aligned table.
func (c *column) cell(row reflect.Value) string {
	value, ok := c.of(row)
	if !ok {
		return Absent
	}
	switch c.kind {
	case kindDuration:
		return Duration(value.Int())
	case kindTime:
		return Time(value.Int())
	case kindRate:
		return Rate(value.Float())
	case kindPercent:
		return Percent(value.Float())
	case kindIdentifier:
		return strconv.FormatInt(value.Int(), 10)
	case kindCount:
		if value.CanUint() {
			return Count(value.Uint())
		}
		return Count(value.Int())
	}
	switch {
	case c.value == addressType:
		return trace.Address(value.Uint()).String()
	case value.Kind() == reflect.Bool && value.Bool():
		return "yes"
	case value.Kind() == reflect.Bool:
		return "no"
	}
	return value.String()
}
