package report

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Order is an order of rows by one of their columns: numbers from the greatest down, texts, times and identifiers from
// the least up. What is absent comes last.
type Order struct {
	Column string
	// Reversed turns the order around, but for what is absent.
	Reversed bool
}

// Columns returns the names of a row type's columns, as JSON and CSV have them. It fails for a type that has none.
func Columns[T any]() ([]string, error) {
	columns, err := columnsOf(reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	return names, nil
}

// Sort orders rows; equal ones stay as they are. Rows that follow each other and are together stay so, in their order:
// the first of them decides where they are. A nil together takes each row for itself. It fails if there is no such
// column.
func Sort[T any](rows []T, by Order, together func(a, b *T) bool) error {
	columns, err := columnsOf(reflect.TypeFor[T]())
	if err != nil {
		return err
	}
	i := slices.IndexFunc(columns, func(c column) bool { return c.name == by.Column })
	if i < 0 {
		return fmt.Errorf("report: %v has no column %q", reflect.TypeFor[T](), by.Column)
	}
	var blocks [][]T
	for start, end := 0, 0; start < len(rows); start = end {
		for end = start + 1; end < len(rows) && together != nil && together(&rows[end-1], &rows[end]); {
			end++
		}
		blocks = append(blocks, rows[start:end:end])
	}
	slices.SortStableFunc(blocks, func(a, b []T) int {
		return columns[i].compare(reflect.ValueOf(&a[0]).Elem(), reflect.ValueOf(&b[0]).Elem(), by.Reversed)
	})
	copy(rows, slices.Concat(blocks...))
	return nil
}

// PutLast puts some rows behind all others; both stay in their order.
func PutLast[T any](rows []T, isLast func(*T) bool) {
	var others, last []T
	for i := range rows {
		if isLast(&rows[i]) {
			last = append(last, rows[i])
		} else {
			others = append(others, rows[i])
		}
	}
	copy(rows, append(others, last...))
}

// compare orders two rows by the column.
func (c *column) compare(a, b reflect.Value, reversed bool) int {
	x, hasX := c.of(a)
	y, hasY := c.of(b)
	switch {
	case !hasX && !hasY:
		return 0
	case !hasX:
		return 1
	case !hasY:
		return -1
	}
	order := compareValues(x, y)
	if isSize := c.kind != kindText && c.kind != kindTime && c.kind != kindIdentifier; isSize != reversed {
		return -order
	}
	return order
}

// compareValues orders two values of the same type, of those that columns can have.
func compareValues(x, y reflect.Value) int {
	switch {
	case x.CanInt():
		return cmp.Compare(x.Int(), y.Int())
	case x.CanUint():
		return cmp.Compare(x.Uint(), y.Uint())
	case x.CanFloat():
		return cmp.Compare(x.Float(), y.Float())
	case x.Kind() == reflect.Bool:
		return strings.Compare(fmt.Sprint(x.Bool()), fmt.Sprint(y.Bool()))
	}
	return strings.Compare(x.String(), y.String())
}
