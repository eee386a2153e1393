package trace_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// TestColumnsThatAreOne has a segment of which all columns, in all row groups, are one page with a hole.
func TestColumnsThatAreOne(t *testing.T) {
	checkColumnsAreRefused(t, "several columns", func(int) int64 { return 0 })
}

// TestColumnsReadAtOnceAreLimited has columns with holes, each within the limit of one.
func TestColumnsReadAtOnceAreLimited(t *testing.T) {
	checkColumnsAreRefused(t, "columns of row group 0 have", func(column int) int64 { return int64(column) })
}

// checkColumnsAreRefused reads a table with a segment of 24 MiB a column, at a place by the column. It takes little on
// the disk, and must take little in memory.
func checkColumnsAreRefused(t *testing.T, says string, place func(column int) int64) {
	t.Helper()
	const content = 24 << 20
	segment := tracetest.EncodeSegment(t, tracetest.Random[trace.Callback](4, 1), 1)
	footer := segment[len(segment)-8-int(binary.LittleEndian.Uint32(segment[len(segment)-8:])) : len(segment)-8]
	var metadata format.FileMetaData
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), footer, &metadata); err != nil {
		t.Fatal(err)
	}
	header := encoded(t, &format.PageHeader{
		Type: format.DataPage, UncompressedPageSize: 1 << 20, CompressedPageSize: content, DataPageHeader: thrift.New(
			format.DataPageHeader{NumValues: 1, Encoding: format.Plain, DefinitionLevelEncoding: format.RLE})})
	path := filepath.Join(t.TempDir(), trace.TableCallback, "0.parquet")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	length := int64(len(header)) + content
	end := int64(4)
	for i := range metadata.RowGroups {
		columns := metadata.RowGroups[i].Columns
		for j := range columns {
			meta := &columns[j].MetaData
			meta.DataPageOffset, meta.DictionaryPageOffset = 4+length*place(j+i*len(columns)), 0
			meta.TotalCompressedSize, meta.TotalUncompressedSize = length, length
			end = max(end, meta.DataPageOffset+length)
			if _, err := f.WriteAt(header, meta.DataPageOffset); err != nil {
				t.Fatal(err)
			}
		}
	}
	footer = encoded(t, &metadata)
	tail := append(binary.LittleEndian.AppendUint32(bytes.Clone(footer), uint32(len(footer))), "PAR1"...)
	_, headError := f.WriteAt([]byte("PAR1"), 0)
	_, tailError := f.WriteAt(tail, end)
	if err := errors.Join(headError, tailError); err != nil {
		t.Fatal(err)
	}
	d := open(t, filepath.Dir(filepath.Dir(path)))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = collect[trace.Callback](t.Context(), d, trace.TableCallback)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, trace.ErrCorruptSegment) || !strings.Contains(err.Error(), says) {
		t.Errorf("error %v, want %q", err, says)
	}
	if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; allocated > 48 {
		t.Errorf("%d MiB were allocated", allocated)
	}
}
