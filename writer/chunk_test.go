package writer

import (
	"math/rand/v2"
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
	read := readCallbacks(t, dir)
	if !slices.Equal(read, rows) {
		t.Errorf("the %d rows that are read are not the %d that were written", len(read), len(rows))
	}
}

// TestNullsAmongValues writes columns of every encoding with nulls in several patterns: all reads as it was, and nulls that follow a pattern take
// next to nothing.
func TestNullsAmongValues(t *testing.T) {
	for name, test := range map[string]struct {
		null func(row int, random *rand.Rand) bool
		// bits is how many a row may take of a column that is the same in all rows that have it.
		bits float64
	}{
		"none":        {func(int, *rand.Rand) bool { return false }, 0.02},
		"all":         {func(int, *rand.Rand) bool { return true }, 0.02},
		"first half":  {func(row int, _ *rand.Rand) bool { return row < pageRows }, 0.02},
		"alternating": {func(row int, _ *rand.Rand) bool { return row%2 == 0 }, 0.1},
		"one of five": {func(row int, _ *rand.Rand) bool { return row%5 == 3 }, 0.1},
		"at random":   {func(_ int, random *rand.Rand) bool { return random.IntN(2) == 0 }, 1.1},
		"page by page": {func(row int, random *rand.Rand) bool {
			return row >= 2*pageRows || row < pageRows && random.IntN(2) == 0
		}, 0.5},
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			w, dir := create(t, Options{})
			rows := make([]trace.Callback, 2*pageRows+100)
			for i := range rows {
				rows[i] = trace.Callback{
					ProcessKey: trace.ProcessKey{BootID: "boot", PID: 1}, Callback: 1, Status: trace.CallbackComplete,
					CallbackStartTimestamp: trace.Some(int64(i) * 1000),
				}
				if test.null(i, random) {
					continue
				}
				rows[i].TopicName = "/topic"
				rows[i].Message = trace.Address(random.Uint64() | 1)
				rows[i].SourceTimestamp = trace.Some(int64(i)*1e6 + random.Int64N(1e5))
				rows[i].RMWTakeTimestamp = trace.Some(int64(i)*1000 - random.Int64N(1e5))
			}
			appendRows(t, w, rows...)
			closeWriter(t, w)

			segment := openParquet(t, filepath.Join(dir, trace.TableCallback, segmentNames(t, dir, trace.TableCallback)[0]))
			topic := slices.IndexFunc(trace.TableOf[trace.Callback]().Columns, func(c trace.Column) bool { return c.Name == "topic_name" })
			size := int64(0)
			for _, group := range segment.Metadata().RowGroups {
				size += group.Columns[topic].MetaData.TotalCompressedSize
			}
			const headers = 200 // of the pages, and the dictionary
			if bits := float64(8*(size-headers)) / float64(len(rows)); bits > test.bits {
				t.Errorf("a topic that is the same in all rows takes %.3f bits of each", bits)
			}
			if read := readCallbacks(t, dir); !slices.Equal(read, rows) {
				t.Error("the rows that are read are not those that were written")
			}
		})
	}
}

func readCallbacks(t *testing.T, dir string) (rows []trace.Callback) {
	t.Helper()
	d, err := trace.Open(dir)
	if err == nil {
		err = trace.Scan(t.Context(), d, trace.TableCallback, func(batch []trace.Callback) error {
			rows = append(rows, batch...)
			return nil
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
