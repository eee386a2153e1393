package tracetest

import (
	"fmt"
	"math/rand/v2"
	"reflect"

	"github.com/caret-bpf/caret-bpf/trace"
)

// Random returns n rows of any table, with nulls and zeros in all fields that allow them, no two of one entity. It is
// the same for the same arguments.
func Random[T trace.Row](n int, seed uint64) []T {
	random := rand.New(rand.NewPCG(seed, uint64(n)))
	rows := make([]T, n)
	for i := range rows {
		fill(reflect.ValueOf(&rows[i]).Elem(), random)
		if process, ok := any(&rows[i]).(*trace.Process); ok {
			process.ProcessStart = int64(random.Uint64()) // never null: it tells processes apart
		}
	}
	return rows
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
