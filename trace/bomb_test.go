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

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// Footers, or page headers: a list that claims 2^31-1 structs, and lists of lists of lists in field 100.
var (
	endlessList    = "\x15\x02\x19\xfc\xff\xff\xff\xff\x07\x00\x00"
	endlessNesting = "\x15\x02\x09\xc8\x01" + strings.Repeat("\x19", 6<<20)
)

// TestBombs reads segments of few bytes that claim to hold, or hold, much more: pages, their headers, the footer.
func TestBombs(t *testing.T) {
	const rows = 100
	zeros := bytes.Repeat(compressed(t, make([]byte, 64<<20)), 4) // frames behind each other are one
	var streamed bytes.Buffer
	stream, err := zstd.NewWriter(&streamed) // does not know the size when it begins
	if err != nil {
		t.Fatal(err)
	}
	for range 16 {
		if _, err := stream.Write(make([]byte, 16<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.Close(); err != nil {
		t.Fatal(err)
	}
	const billion = "\xfe\xff\xff\xff\x0f" // a run of 2^31 - 1
	deltas := append([]byte{0x80, 0x01, 4}, binary.AppendUvarint(nil, 1<<30)...)
	plain := func(encoding format.Encoding) format.PageHeader {
		return format.PageHeader{Type: format.DataPageV2, UncompressedPageSize: 8 * rows, DataPageHeaderV2: thrift.New(
			format.DataPageHeaderV2{NumValues: rows, NumRows: rows, Encoding: encoding, IsCompressed: thrift.New(false)})}
	}
	old := format.PageHeader{Type: format.DataPage, UncompressedPageSize: 8 * rows, DataPageHeader: thrift.New(
		format.DataPageHeader{NumValues: rows, Encoding: format.Plain, DefinitionLevelEncoding: format.RLE})}
	packed := plain(format.Plain)
	packed.DataPageHeaderV2.V.IsCompressed = thrift.New(true)
	dictionary := format.PageHeader{Type: format.DictionaryPage, UncompressedPageSize: 8, DictionaryPageHeader: thrift.New(
		format.DictionaryPageHeader{NumValues: 1, Encoding: format.Plain})}
	leveled := plain(format.Plain)
	leveled.DataPageHeaderV2.V.DefinitionLevelsByteLength = int32(len(billion) + 1)
	large := dictionary
	large.UncompressedPageSize = 32 << 20
	page := func(header format.PageHeader, content []byte) []byte { return forgedPage(t, header, content) }
	of := func(column string, codec format.CompressionCodec, pages ...[]byte) []byte {
		return forge(t, tracetest.EncodeSegment(t, tracetest.Random[trace.Callback](rows, 1), rows), column, codec, bytes.Join(pages, nil))
	}
	for name, test := range map[string]struct {
		segment []byte
		says    string
	}{
		"zstd":                         {of("callback", format.Zstd, page(old, zeros)), "ZSTD"},
		"zstd in a later page":         {of("callback", format.Zstd, page(packed, zeros)), "ZSTD"},
		"zstd of unknown size":         {of("callback", format.Zstd, page(old, streamed.Bytes())), "ZSTD"},
		"zstd in a dictionary":         {of("callback", format.Zstd, page(dictionary, zeros), page(plain(format.RLEDictionary), []byte("\x01\xc8\x01\x00"))), "ZSTD"},
		"snappy":                       {of("callback", format.Snappy, page(old, []byte("\xff\xff\xff\xff\x0f\x00"))), "SNAPPY"},
		"a codec that is not read":     {of("callback", format.Gzip, page(old, []byte("x"))), "GZIP"},
		"levels":                       {of("callback_end_timestamp", format.Uncompressed, page(leveled, []byte(billion+"\x01"))), "run"},
		"indexes":                      {of("callback", format.Uncompressed, page(dictionary, make([]byte, 8)), page(plain(format.RLEDictionary), []byte("\x01"+billion+"\x00"))), "run"},
		"deltas":                       {of("callback_start_timestamp", format.Uncompressed, page(plain(format.DeltaBinaryPacked), append(deltas, 0, 0))), "deltas"},
		"lengths":                      {of("boot_id", format.Uncompressed, page(plain(format.DeltaLengthByteArray), append(deltas, 0, 0))), "deltas"},
		"an encoding that is not read": {of("boot_id", format.Uncompressed, page(plain(format.DeltaByteArray), []byte{1})), "DELTA_BYTE_ARRAY"},
		"a second dictionary":          {of("callback", format.Uncompressed, page(dictionary, make([]byte, 8)), page(large, nil)), "DICTIONARY_PAGE"},
		"many large pages":             {of("callback", format.Uncompressed, manyLargePages(t, plain(format.Plain))), "page of"},
		"a list in a page header":      {of("callback", format.Uncompressed, []byte(endlessList)), "claims"},
		"nesting in a page header":     {of("callback", format.Uncompressed, []byte(endlessNesting)), "nested"},
		"a list in the footer":         {footerOnly(endlessList), "claims 2147483647 elements"},
		"nesting in the footer":        {footerOnly(endlessNesting), "nested"},
		"columns in each other":        {footerOf(outerOfOne, 20_000, innermost, 1, 0), "columns"},
		"few columns in each other":    {footerOf(outerOfOne, 100, innermost, 1, 0), "nested"},
		"row groups without columns":   {footerOf(outerOfMany, 1, innermost, 1000, 500_000), "0 chunks"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, trace.TableCallback, "0.parquet")
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, test.segment, 0o644); err != nil {
				t.Fatal(err)
			}
			d := open(t, dir)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := collect[trace.Callback](t.Context(), d, trace.TableCallback)
			runtime.ReadMemStats(&after)
			if !errors.Is(err, trace.ErrCorruptSegment) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("error %v", err)
			}
			if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; allocated > 48 {
				t.Errorf("%d MiB were allocated for a segment of %d bytes", allocated, len(test.segment))
			}
		})
	}
}

// manyLargePages are pages within the limit of each, all of them beyond that of a column in a row group.
func manyLargePages(t *testing.T, header format.PageHeader) []byte {
	header.UncompressedPageSize = 32 << 20
	header.DataPageHeaderV2 = thrift.New(format.DataPageHeaderV2{NumValues: 1, NumRows: 1})
	return bytes.Repeat(forgedPage(t, header, nil), 100)
}

// Columns as a footer lists them: one that holds a thousand others, one that holds the next, one that has values.
const (
	outerOfMany = "\x48\x04rows\x15\xd0\x0f\x00"
	outerOfOne  = "\x48\x06column\x15\x02\x00"
	innermost   = "\x15\x02\x38\x06column\x00"
)

// footerOf is a segment of nothing but a footer, which has columns and row groups without any.
func footerOf(outer string, outers int, inner string, inners, groups int) []byte {
	list := func(count int) string { return "\x19\xfc" + string(binary.AppendUvarint(nil, uint64(count))) }
	return footerOnly("\x15\x02" + list(outers+inners) + strings.Repeat(outer, outers) + strings.Repeat(inner, inners) +
		"\x16\x00" + list(groups) + strings.Repeat("\x19\x0c\x16\x00\x16\x00\x00", groups) + "\x00")
}

// footerOnly is a segment of nothing but a footer.
func footerOnly(footer string) []byte {
	return append(binary.LittleEndian.AppendUint32([]byte("PAR1"+footer), uint32(len(footer))), "PAR1"...)
}

func forgedPage(t *testing.T, header format.PageHeader, content []byte) []byte {
	header.CompressedPageSize = int32(len(content))
	return append(encoded(t, &header), content...)
}

// forge gives a column in the only row group of a segment other pages.
func forge(t *testing.T, segment []byte, column string, codec format.CompressionCodec, pages []byte) []byte {
	t.Helper()
	size := int(binary.LittleEndian.Uint32(segment[len(segment)-8:]))
	body, footer := segment[:len(segment)-8-size], segment[len(segment)-8-size:len(segment)-8]
	var protocol thrift.CompactProtocol
	var metadata format.FileMetaData
	if err := thrift.Unmarshal(&protocol, footer, &metadata); err != nil {
		t.Fatal(err)
	}
	begin := len(body)
	body = append(body, pages...)
	columns := metadata.RowGroups[0].Columns
	for i := range columns {
		meta := &columns[i].MetaData
		if meta.PathInSchema[0] == column {
			meta.Codec, meta.DataPageOffset, meta.DictionaryPageOffset = codec, int64(begin), 0
			meta.TotalCompressedSize, meta.TotalUncompressedSize = int64(len(body)-begin), 1<<30
		}
	}
	footer = encoded(t, &metadata)
	return append(binary.LittleEndian.AppendUint32(append(body, footer...), uint32(len(footer))), "PAR1"...)
}

func encoded(t *testing.T, value any) []byte {
	t.Helper()
	var protocol thrift.CompactProtocol
	text, err := thrift.Marshal(&protocol, value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func compressed(t *testing.T, plain []byte) []byte {
	t.Helper()
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return encoder.EncodeAll(plain, nil)
}
