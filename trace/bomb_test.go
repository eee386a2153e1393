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

// TestBombs reads pages of a few bytes that claim to hold, or hold, much more than their header says.
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
	for name, test := range map[string]struct {
		column string
		codec  format.CompressionCodec
		pages  []forgedPage
		says   string
	}{
		"zstd":                         {"callback", format.Zstd, []forgedPage{{old, zeros}}, "ZSTD"},
		"zstd in a later page":         {"callback", format.Zstd, []forgedPage{{packed, zeros}}, "ZSTD"},
		"zstd of unknown size":         {"callback", format.Zstd, []forgedPage{{old, streamed.Bytes()}}, "ZSTD"},
		"zstd in a dictionary":         {"callback", format.Zstd, []forgedPage{{dictionary, zeros}, {plain(format.RLEDictionary), []byte("\x01\xc8\x01\x00")}}, "ZSTD"},
		"snappy":                       {"callback", format.Snappy, []forgedPage{{old, []byte("\xff\xff\xff\xff\x0f\x00")}}, "SNAPPY"},
		"a codec that is not read":     {"callback", format.Gzip, []forgedPage{{old, []byte("x")}}, "GZIP"},
		"levels":                       {"callback_end_timestamp", format.Uncompressed, []forgedPage{{leveled, []byte(billion + "\x01")}}, "run"},
		"indexes":                      {"callback", format.Uncompressed, []forgedPage{{dictionary, make([]byte, 8)}, {plain(format.RLEDictionary), []byte("\x01" + billion + "\x00")}}, "run"},
		"deltas":                       {"callback_start_timestamp", format.Uncompressed, []forgedPage{{plain(format.DeltaBinaryPacked), append(deltas, 0, 0)}}, "deltas"},
		"lengths":                      {"boot_id", format.Uncompressed, []forgedPage{{plain(format.DeltaLengthByteArray), append(deltas, 0, 0)}}, "deltas"},
		"an encoding that is not read": {"boot_id", format.Uncompressed, []forgedPage{{plain(format.DeltaByteArray), []byte{1}}}, "DELTA_BYTE_ARRAY"},
		"a second dictionary":          {"callback", format.Uncompressed, []forgedPage{{dictionary, make([]byte, 8)}, {large, nil}}, "DICTIONARY_PAGE"},
		"many large pages":             {"callback", format.Uncompressed, manyLargePages(plain(format.Plain)), "page of"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, trace.TableCallback, "0.parquet")
			segment := forge(t, tracetest.EncodeSegment(t, tracetest.Random[trace.Callback](rows, 1), rows), test.column, test.codec, test.pages)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, segment, 0o644); err != nil {
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
				t.Errorf("%d MiB were allocated for a segment of %d bytes", allocated, len(segment))
			}
		})
	}
}

// manyLargePages are pages within the limit of each, all of them beyond that of a column in a row group.
func manyLargePages(page format.PageHeader) (pages []forgedPage) {
	page.UncompressedPageSize = 32 << 20
	for range 100 {
		page.DataPageHeaderV2 = thrift.New(format.DataPageHeaderV2{NumValues: 1, NumRows: 1})
		pages = append(pages, forgedPage{page, nil})
	}
	return pages
}

type forgedPage struct {
	header  format.PageHeader
	content []byte
}

// forge gives a column in the only row group of a segment other pages.
func forge(t *testing.T, segment []byte, column string, codec format.CompressionCodec, pages []forgedPage) []byte {
	t.Helper()
	size := int(binary.LittleEndian.Uint32(segment[len(segment)-8:]))
	body, footer := segment[:len(segment)-8-size], segment[len(segment)-8-size:len(segment)-8]
	var protocol thrift.CompactProtocol
	var metadata format.FileMetaData
	if err := thrift.Unmarshal(&protocol, footer, &metadata); err != nil {
		t.Fatal(err)
	}
	begin := len(body)
	for _, page := range pages {
		page.header.CompressedPageSize = int32(len(page.content))
		body = append(append(body, encoded(t, &page.header)...), page.content...)
	}
	columns := metadata.RowGroups[0].Columns
	for i := range columns {
		meta := &columns[i].MetaData
		if meta.PathInSchema[0] == column {
			meta.Codec, meta.DataPageOffset, meta.DictionaryPageOffset = codec, int64(begin), 0
			meta.TotalCompressedSize = int64(len(body) - begin)
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
