package tracetest

import (
	"fmt"
	"math/rand/v2"
	"reflect"

	"github.com/caret-bpf/caret-bpf/trace"
)

// Random returns n rows of any table, with nulls and zeros in all fields that allow them, no two of one entity. It is
// the same for the same arguments.
func Random[T any](n int, seed uint64) []T {
	rows := make([]T, n)
	fillRows(reflect.ValueOf(rows), seed)
	return rows
}

// BatchOf returns a batch of rows of one table.
func BatchOf[T any](rows []T) *trace.Batch {
	b := new(trace.Batch)
	*b.Of(trace.TableOf[T]()).(*trace.Rows[T]) = rows
	return b
}

// RandomBatch returns n random rows of every table. It is the same for the same arguments.
func RandomBatch(n int, seed uint64) *trace.Batch {
	b := new(trace.Batch)
	tables := reflect.ValueOf(b).Elem()
	for place := range tables.NumField() {
		rows := tables.Field(place)
		rows.Set(reflect.MakeSlice(rows.Type(), n, n))
		fillRows(rows, seed+uint64(place))
	}
	return b
}

func fillRows(rows reflect.Value, seed uint64) {
	random := rand.New(rand.NewPCG(seed, uint64(rows.Len())))
	for i := range rows.Len() {
		fill(rows.Index(i), random)
		if process, ok := rows.Index(i).Addr().Interface().(*trace.Process); ok {
			process.ProcessStart = int64(random.Uint64()) // never null: it tells processes apart
		}
	}
}

func fill(v reflect.Value, random *rand.Rand) {
	if random.IntN(3) == 0 && v.Kind() != reflect.Struct {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(random.IntN(2) == 0)
	case reflect.Int32:
		v.SetInt(int64(int32(random.Uint32())))
	case reflect.Int64:
		v.SetInt(int64(random.Uint64()))
	case reflect.Uint32:
		v.SetUint(uint64(random.Uint32()))
	case reflect.Uint64:
		v.SetUint(random.Uint64())
	case reflect.String:
		v.SetString(fmt.Sprintf("/name_%d", random.IntN(50)))
	case reflect.Struct:
		fillStruct(v, random)
	}
}

func fillStruct(v reflect.Value, random *rand.Rand) {
	valid := v.FieldByName("Valid")
	if !valid.IsValid() {
		for i := range v.NumField() {
			fill(v.Field(i), random)
		}
		return
	}
	if random.IntN(3) > 0 {
		valid.SetBool(true)
		fill(v.FieldByName("Value"), random)
	}
}
