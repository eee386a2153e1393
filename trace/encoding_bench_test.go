package trace_test

import (
	"io"
	"reflect"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// BenchmarkEncoding measures each column of the tables that grow with time in each encoding that its type allows, alone
// in a file: bytes and nanoseconds a row. encoding.go states what it decided.
func BenchmarkEncoding(b *testing.B) {
	rows := tracetest.Synthetic(100_000)
	for _, name := range []string{trace.TableCallback, trace.TablePublish, trace.TableEvent} {
		table := trace.TableByName(name)
		b.Run(name, func(b *testing.B) { benchmarkTable(b, table, rows.Of(table)) })
	}
}

func benchmarkTable(b *testing.B, table *trace.Table, rows trace.AnyRows) {
	for i := range table.Columns {
		c := &table.Columns[i]
		encodings := []trace.Encoding{trace.EncodingPlain, trace.EncodingDictionary, trace.EncodingDelta}
		if c.Type == trace.TypeBool {
			encodings = encodings[:1]
		}
		values := tracetest.Values(c, rows)
		for _, encoding := range encodings {
			b.Run(c.Name+"/"+string(encoding), func(b *testing.B) { benchmarkColumn(b, c, encoding, values) })
		}
	}
}

func benchmarkColumn(b *testing.B, c *trace.Column, encoding trace.Encoding, values []parquet.Value) {
	types := map[trace.ColumnType]reflect.Type{
		trace.TypeBool: reflect.TypeFor[bool](), trace.TypeInt32: reflect.TypeFor[int32](), trace.TypeInt64: reflect.TypeFor[int64](),
		trace.TypeString: reflect.TypeFor[string](),
	}
	tag := c.Name + "," + string(encoding)
	if c.Nullable {
		tag += ",optional"
	}
	row := reflect.StructOf([]reflect.StructField{{Name: "V", Type: types[c.Type], Tag: reflect.StructTag(`parquet:"` + tag + `"`)}})
	w := parquet.NewGenericWriter[any](io.Discard, parquet.SchemaOf(reflect.New(row).Interface()),
		parquet.Compression(compress.Codec(&zstd.Codec{Level: zstd.SpeedFastest})), parquet.PageBufferSize(64<<10), parquet.DictionaryMaxBytes(256<<10))
	var size int64
	for b.Loop() {
		out := new(counting)
		w.Reset(out)
		column := w.ColumnWriters()[0]
		for batch := values; len(batch) > 0; {
			n := min(len(batch), 1024)
			if _, err := column.WriteRowValues(batch[:n]); err != nil {
				b.Fatal(err)
			}
			batch = batch[n:]
		}
		if err := w.Flush(); err != nil {
			b.Fatal(err)
		}
		size = w.Size()
	}
	b.ReportMetric(float64(size)/float64(len(values)), "B/row")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(values)), "ns/row")
	b.ReportMetric(0, "ns/op")
}

type counting struct{ bytes int64 }

func (c *counting) Write(p []byte) (int, error) {
	c.bytes += int64(len(p))
	return len(p), nil
}
