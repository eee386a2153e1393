package writer

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go/format"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// TestSegmentsHaveOnlyWhatEveryReaderReads holds what docs/dataset.md promises of types and encodings, in the footers
// of every table. test/readers shows that readers do read them.
func TestSegmentsHaveOnlyWhatEveryReaderReads(t *testing.T) {
	w, dir := create(t, Options{})
	const rows = 20_000 // so many that dictionaries end in plain pages
	if err := w.Write(tracetest.RandomBatch(rows, 1)); err != nil {
		t.Fatal(err)
	}
	closeWriter(t, w)

	types := []format.Type{format.Boolean, format.Int32, format.Int64, format.ByteArray}
	encodings := []format.Encoding{format.Plain, format.RLE, format.RLEDictionary, format.DeltaBinaryPacked}
	for _, table := range trace.Registry() {
		for _, name := range segmentNames(t, dir, table.Name) {
			footer := openParquet(t, filepath.Join(dir, table.Name, name)).Metadata()
			for _, element := range footer.Schema[1:] {
				if !element.Type.Valid || !slices.Contains(types, element.Type.V) {
					t.Errorf("%s.%s has type %v", table.Name, element.Name, element.Type)
				}
				if integer, ok := element.LogicalType.Value.(*format.IntType); ok && !integer.IsSigned {
					t.Errorf("%s.%s is unsigned", table.Name, element.Name)
				}
			}
			for _, group := range footer.RowGroups {
				for _, column := range group.Columns {
					meta := &column.MetaData
					for _, encoding := range meta.Encoding {
						if !slices.Contains(encodings, encoding) {
							t.Errorf("%s.%s has encoding %v", table.Name, meta.PathInSchema, encoding)
						}
					}
					if meta.Codec != format.Zstd {
						t.Errorf("%s.%s is compressed by %v", table.Name, meta.PathInSchema, meta.Codec)
					}
				}
			}
		}
		if len(segmentNames(t, dir, table.Name)) == 0 {
			t.Errorf("table %s was not written", table.Name)
		}
	}
}

// TestAddressesAboveTheMiddle: user space of amd64 and arm64 ends far below 2⁶³, but arguments of events are registers,
// which hold anything. Such a number is negative in the file, package trace reads the very bits, and its statistics,
// which are signed, rule it out nowhere that it is.
func TestAddressesAboveTheMiddle(t *testing.T) {
	const high, low = trace.Address(1<<63 | 0x1234), trace.Address(0x7ffc_0000_1234)
	w, dir := create(t, Options{})
	rows := []trace.Event{
		{Event: "low", Argument1: trace.Some(uint64(low)), Argument2: trace.Some(uint64(1<<63 - 1))},
		{Event: "high", Argument1: trace.Some(uint64(high)), Argument2: trace.Some(uint64(1 << 63))},
		{Event: "highest", Argument1: trace.Some(^uint64(0)), Argument2: trace.Some(^uint64(0))},
	}
	appendRows(t, w, rows...)
	closeWriter(t, w)
	if read := readAll[trace.Event](t, dir); !slices.Equal(read, rows) {
		t.Errorf("read %+v, want %+v", read, rows)
	}

	d, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	groups, err := trace.Groups(t.Context(), d, trace.TableEvent)
	if err != nil || len(groups) != 1 {
		t.Fatal(groups, err)
	}
	if span, ok := groups[0].Span("argument1"); !ok || span.First != int64(-1<<63+0x1234) || span.Last != int64(low) {
		t.Errorf("argument1 has bounds %+v", span)
	}
	for address, wanted := range map[trace.Address]string{low: "low", high: "high", ^trace.Address(0): "highest"} {
		var found []string
		selection := trace.Selection{{Column: "argument1", Addresses: trace.Addresses{address: true}}}
		err := trace.ScanGroup(t.Context(), trace.TableEvent, groups[0], selection, func(rows []trace.Event) error {
			for _, row := range rows {
				found = append(found, row.Event)
			}
			return nil
		})
		if err != nil || !slices.Equal(found, []string{wanted}) {
			t.Errorf("%v selects %q, %v; want %q", address, found, err, wanted)
		}
	}
	for _, absent := range []trace.Address{low + 1, high - 1} {
		if groups[0].MayHold(trace.Selection{{Column: "argument1", Addresses: trace.Addresses{absent: true}}}) {
			t.Errorf("the bounds do not rule out %v", absent)
		}
	}
}
