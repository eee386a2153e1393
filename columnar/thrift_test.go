package columnar

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

func TestThriftIsChecked(t *testing.T) {
	const (
		end     = "\x00"
		unknown = "\x09\xc8\x01" // a list in field 100
		billion = "\xff\xff\xff\xff\x07"
	)
	structs := func(deep int) string { return strings.Repeat("\x1c", deep-1) + strings.Repeat(end, deep) }
	lists := func(deep int) string { return "\x19" + strings.Repeat("\x19", deep-2) + "\x03" + end }
	maps := func(deep int) string { return "\x1b" + strings.Repeat("\x01\x3b\x00", deep-2) + "\x01\x33ab" + end }
	cases := []struct {
		name, text string
		size       int // 0 if it is refused
	}{
		{"nothing in it", end + "more", 1},
		{"numbers", "\x13\x7f" + "\x14\x80\x01" + "\x15\x01" + "\x16\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" + "\x1712345678" + "\x1d0123456789abcdef" + end, 45},
		{"bools in fields have no byte", "\x11\x12" + end, 3},
		{"bools in a list have one each", "\x19\x31\x01\x02\x01" + "\x19\x22\x01\x02" + end, 10},
		{"text", "\x18\x03abc" + end, 6},
		{"a number of a field beside it", "\x05\xc8\x01\x02" + end, 5},
		{"a list of structs", "\x19\x2c" + "\x15\x02\x00" + "\x00" + end, 7},
		{"a list of fifteen", "\x19\xf3\x0f" + "123456789abcdef" + end, 19},
		{"a set", "\x1a\x23ab" + end, 5},
		{"a map", "\x1b\x02\x83" + "\x01a\x01" + "\x01b\x02" + end, 10},
		{"a map of nothing does not say of what", "\x1b\x00" + end, 3},
		{"structs as deep as may be", structs(thriftDepth), 2*thriftDepth - 1},
		{"lists as deep as may be", lists(thriftDepth), thriftDepth + 1},
		{"maps as deep as may be", maps(thriftDepth), 3 * thriftDepth},

		{"nothing", "", 0},
		{"no end", "\x15\x02", 0},
		{"a number without an end", "\x15\x80", 0},
		{"a number that is too long", "\x16" + strings.Repeat("\xff", 10) + "\x01" + end, 0},
		{"a field whose number is missing", "\x05", 0},
		{"a type that does not exist", "\x1f" + end, 0},
		{"no type", "\x10" + end, 0},
		{"half a floating-point number", "\x171234", 0},
		{"text that ends early", "\x18\x04abc", 0},
		{"text that claims a billion bytes", "\x18" + billion + end, 0},
		{"a list without a size", "\x19", 0},
		{"a list of a billion structs", "\x19\xfc" + billion + end, 0},
		{"a list of a billion bools", unknown + "\xf1" + billion + end, 0},
		{"a list of what does not exist", "\x19\x1e\x00" + end, 0},
		{"a set of a billion", "\x1a\xfc" + billion + end, 0},
		{"a map of a billion", "\x1b" + billion + "\xcc" + end, 0},
		{"a map without types", "\x1b\x01", 0},
		{"a map without its value", "\x1b\x01\x33\x01", 0},
		{"a list that claims more elements than there are", "\x19\xf3\x10" + "123456789abcdef" + end + "x", 0},
		{"elements that are one too few", "\x19\x3c" + end + end, 0},
		{"structs that are too deep", structs(thriftDepth + 1), 0},
		{"lists that are too deep", lists(thriftDepth + 1), 0},
		{"maps that are too deep", maps(thriftDepth + 1), 0},
		{"lists as deep as a million bytes", lists(1 << 20), 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			size, err := checkThrift([]byte(c.text), nil)
			if size != c.size || (err == nil) != (c.size > 0) || err != nil && !errors.Is(err, ErrCorrupt) {
				t.Errorf("size %d, want %d; error %v", size, c.size, err)
			}
		})
	}
}

// FuzzThrift: what has passed is decoded without a fatal error, in bounded memory and to the end that was found, and
// what the Parquet library writes passes.
func FuzzThrift(f *testing.F) {
	f.Add(page(f, dataPage(10, 30, 80), 3))
	f.Add(page(f, dictionaryPage(5, 20, 40), 0))
	f.Add(footerOf(encode(f, Column{Name: "c", Type: TypeInt64, Nullable: true, Encoding: EncodingDelta}, cells[int64]{values: make([]int64, 30), levels: make([]byte, 30)}, 10)))
	f.Add([]byte("\x15\x02\x19\xfc\xff\xff\xff\xff\x07\x00\x00"))
	f.Add([]byte("\x15\x02\x09\xc8\x01" + strings.Repeat("\x19", 1<<10)))
	f.Fuzz(func(t *testing.T, text []byte) {
		size, err := checkThrift(text, nil)
		if err != nil {
			return
		}
		decodeChecked(t, text[:size], new(format.PageHeader))
		if checkFooter(text) == nil {
			decodeChecked(t, text[:size], new(format.FileMetaData))
		}
	})
}

// decodeChecked decodes a struct that has passed, and encodes it.
func decodeChecked(t *testing.T, text []byte, into any) {
	t.Helper()
	var protocol thrift.CompactProtocol
	reader := protocol.NewReaderFromBytes(text)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := thrift.NewDecoder(reader).Decode(into)
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 1<<20+2*footerGrowth*uint64(len(text)) {
		t.Errorf("%d bytes were allocated for %d", allocated, len(text))
	}
	if err != nil {
		return // a number is too large, or a field is missing
	}
	if read := reader.BytesRead(); read != len(text) {
		t.Errorf("%d bytes were decoded, %d were checked", read, len(text))
	}
	written, err := thrift.Marshal(&protocol, into)
	if err != nil {
		t.Fatal(err)
	}
	if size, err := checkThrift(written, nil); err != nil || size != len(written) {
		t.Errorf("of what was written, %d of %d bytes pass: %v", size, len(written), err)
	}
}
