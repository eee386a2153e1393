package writer

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go/format"

	"github.com/caret-bpf/caret-bpf/trace"
)

// TestDictionaryThatOutgrowsItsBoundEndsInPlainPages writes more distinct addresses than a dictionary takes, and then few again: what does not
// fit is stored plain, the next row group begins anew, and all reads as it was.
func TestDictionaryThatOutgrowsItsBoundEndsInPlainPages(t *testing.T) {
	const perGroup = 4 * pageRows
	w, dir := create(t, Options{RowGroupRows: perGroup})
	var rows []trace.Callback
	for i := range 2 * perGroup {
		row := trace.Callback{ProcessKey: trace.ProcessKey{BootID: "boot", PID: 1}, Callback: 1, Message: trace.Address(1 + i), Status: trace.CallbackComplete}
		if i >= perGroup {
			row.Message = trace.Address(1 + i%3)
		}
		rows = append(rows, row)
	}
	appendRows(t, w, rows...)
	closeWriter(t, w)

	segment := openParquet(t, filepath.Join(dir, trace.TableCallback, segmentNames(t, dir, trace.TableCallback)[0]))
	message := slices.IndexFunc(trace.TableOf[trace.Callback]().Columns, func(c trace.Column) bool { return c.Name == "message" })
	for i, wanted := range []bool{true, false} {
		meta := &segment.Metadata().RowGroups[i].Columns[message].MetaData
		data := 0
		for _, encoding := range meta.Encoding {
			if encoding == format.Plain { // once for the dictionary itself
				data++
			}
		}
		if !slices.Contains(meta.Encoding, format.RLEDictionary) || data != 1 {
			t.Errorf("row group %d: encodings %v", i, meta.Encoding)
		}
		if large := meta.TotalCompressedSize > dictionaryBytes/4; large != wanted {
			t.Errorf("row group %d: %d bytes of addresses", i, meta.TotalCompressedSize)
		}
	}
	d, err := trace.Open(dir)
	if err == nil {
		read := 0
		err = trace.Scan(t.Context(), d, trace.TableCallback, func(batch []trace.Callback) error {
			for i := range batch {
				if batch[i] != rows[read] {
					t.Fatalf("row %d is %+v, want %+v", read, batch[i], rows[read])
				}
				read++
			}
			return nil
		})
		if read != len(rows) {
			t.Errorf("%d rows of %d", read, len(rows))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}
