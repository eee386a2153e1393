package report

import "reflect"

// Field is a column of rows of type T, whose values can be asked for one by one.
type Field[T any] struct {
	// Name is as JSON and CSV have it.
	Name   string
	column column
}

// Fields returns the columns of a row type. It fails for a type that has none.
func Fields[T any]() ([]Field[T], error) {
	columns, err := columnsOf(reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	fields := make([]Field[T], len(columns))
	for i, c := range columns {
		fields[i] = Field[T]{c.name, c}
	}
	return fields, nil
}

// IsNumber reports whether the values are numbers that can be compared: counts, durations, rates and shares.
func (f *Field[T]) IsNumber() bool {
	switch f.column.kind {
	case kindDuration, kindRate, kindCount, kindPercent:
		return true
	}
	return false
}

// IsDuration reports whether the numbers are nanoseconds.
func (f *Field[T]) IsDuration() bool { return f.column.kind == kindDuration }

// Number returns a row's number; ok is false where it is absent, or none.
func (f *Field[T]) Number(row *T) (number float64, ok bool) {
	value, ok := f.column.of(reflect.ValueOf(row).Elem())
	switch {
	case !ok || !f.IsNumber():
		return 0, false
	case value.CanInt():
		return float64(value.Int()), true
	case value.CanUint():
		return float64(value.Uint()), true
	}
	return value.Float(), true
}

// Text returns a row's value as it is shown in a table; ok is false where it is absent.
func (f *Field[T]) Text(row *T) (text string, ok bool) {
	of := reflect.ValueOf(row).Elem()
	if _, ok = f.column.of(of); !ok {
		return "", false
	}
	return f.column.cell(of), true
}
