package writer

import (
	"fmt"
	"path/filepath"
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// A program may be called anything; text in a segment is UTF-8 all the same, as readers such as DuckDB demand.
func TestTextIsUTF8(t *testing.T) {
	t.Run(trace.TableProcess, writeInvalidText[trace.Process])
	t.Run(trace.TableCallback, writeInvalidText[trace.Callback])
	t.Run(trace.TablePublish, writeInvalidText[trace.Publish])
	t.Run(trace.TableTake, writeInvalidText[trace.Take])
	t.Run(trace.TableEvent, writeInvalidText[trace.Event])
	t.Run(trace.TableNode, writeInvalidText[trace.Node])
	t.Run(trace.TableSubscription, writeInvalidText[trace.Subscription])
	t.Run(trace.TableCallbackInfo, writeInvalidText[trace.CallbackInfo])
	t.Run(trace.TableLoss, writeInvalidText[trace.Loss])
}

// writeInvalidText writes so many different texts that dictionaries outgrow their bound.
func writeInvalidText[T any](t *testing.T) {
	w, dir := create(t, Options{})
	rows := tracetest.Random[T](20_000, 7)
	for i := range rows {
		spoil(reflect.ValueOf(&rows[i]).Elem(), fmt.Sprintf("/name_%d\xff\xfe\x80ü", i))
	}
	appendRows(t, w, rows...)
	closeWriter(t, w)
	texts := 0
	for _, name := range segmentNames(t, dir, trace.TableOf[T]().Name) {
		f := openParquet(t, filepath.Join(dir, trace.TableOf[T]().Name, name))
		for _, group := range f.Metadata().RowGroups {
			for _, column := range group.Columns {
				bounds := column.MetaData.Statistics
				if column.MetaData.Type == format.ByteArray && (!utf8.Valid(bounds.MinValue) || !utf8.Valid(bounds.MaxValue)) {
					t.Errorf("the bounds of %v are %q and %q", column.MetaData.PathInSchema, bounds.MinValue, bounds.MaxValue)
				}
			}
		}
		texts += checkText(t, f)
	}
	if texts < len(rows) {
		t.Errorf("%d texts in %d rows", texts, len(rows))
	}
}

// spoil sets all texts of a row.
func spoil(row reflect.Value, text string) {
	for i := range row.NumField() {
		switch field := row.Field(i); field.Kind() {
		case reflect.String:
			field.SetString(text)
		case reflect.Struct:
			spoil(field, text)
		}
	}
}

// checkText returns how many texts there are in a file.
func checkText(t *testing.T, f *parquet.File) (texts int) {
	t.Helper()
	reader := parquet.NewReader(f)
	defer func() { _ = reader.Close() }()
	rows := make([]parquet.Row, 1000)
	for {
		n, err := reader.ReadRows(rows)
		for _, row := range rows[:n] {
			for _, value := range row {
				if value.IsNull() || value.Kind() != parquet.ByteArray {
					continue
				}
				texts++
				if !utf8.Valid(value.ByteArray()) {
					t.Fatalf("a text is %q", value.ByteArray())
				}
			}
		}
		if err != nil {
			return texts
		}
	}
}
