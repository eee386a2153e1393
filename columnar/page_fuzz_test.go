package columnar

import (
	"errors"
	"runtime"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// FuzzPage decodes arbitrary content of a page: as many values as its header says or an error, in memory that its
// header bounds.
func FuzzPage(f *testing.F) {
	zeros := make([]byte, 4<<20)
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(encoder.EncodeAll(zeros, nil), int8(format.Zstd), int8(format.Plain), int8(parquet.Int64), uint16(100), uint16(800), int16(-1))
	f.Add(snappy.Encode(nil, zeros), int8(format.Snappy), int8(format.Plain), int8(parquet.Int64), uint16(100), uint16(800), int16(0))
	f.Add([]byte("\xfe\xff\xff\xff\x0f\x01"), int8(0), int8(format.Plain), int8(parquet.Int64), uint16(100), uint16(800), int16(6))
	f.Add([]byte("\x01\xfe\xff\xff\xff\x0f\x00"), int8(0), int8(format.RLEDictionary), int8(parquet.Int32), uint16(100), uint16(100), int16(0))
	f.Add([]byte("\x80\x01\x04\x80\x80\x80\x80\x04\x00"), int8(0), int8(format.DeltaBinaryPacked), int8(parquet.Int64), uint16(100), uint16(800), int16(0))
	f.Add([]byte("\x80\x01\x04\x80\x80\x80\x80\x04\x00"), int8(0), int8(format.DeltaLengthByteArray), int8(parquet.ByteArray), uint16(100), uint16(800), int16(0))
	f.Add([]byte("\x02\x00\x00\x00\x05\x01\x01"), int8(0), int8(format.RLE), int8(parquet.Boolean), uint16(5), uint16(7), int16(0))
	// The size of levels makes the page one of version 2, if it is not negative.
	f.Fuzz(func(t *testing.T, content []byte, codec, encoding, kind int8, values, plain uint16, levels int16) {
		header := format.PageHeader{
			Type: format.DataPage, CompressedPageSize: int32(len(content)), UncompressedPageSize: int32(plain),
			DataPageHeader: thrift.New(format.DataPageHeader{
				NumValues: int32(values), Encoding: format.Encoding(encoding), DefinitionLevelEncoding: format.RLE,
			}),
		}
		if levels >= 0 {
			header.Type = format.DataPageV2
			header.DataPageHeaderV2 = thrift.New(format.DataPageHeaderV2{
				NumValues: int32(values), Encoding: format.Encoding(encoding), DefinitionLevelsByteLength: int32(levels),
			})
		}
		r := ColumnReader{
			buffers: new(chunkBuffers), pages: append(page(t, header, 0), content...), strings: new(Interner),
			codec: format.CompressionCodec(codec), kind: parquet.Kind(kind), nullable: levels != 0,
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := r.nextPageContained()
		runtime.ReadMemStats(&after)
		if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; allocated > 24 {
			t.Errorf("%d MiB were allocated for a page of %d bytes, uncompressed %d", allocated, len(content), plain)
		}
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("error %v", err)
			}
			return
		}
		held := map[parquet.Kind]int{
			parquet.Boolean: len(r.Values.Bools), parquet.Int32: len(r.Values.Int32s), parquet.Int64: len(r.Values.Int64s),
			parquet.ByteArray: len(r.Values.Strings),
		}[r.kind]
		if r.Indexes != nil {
			held = len(r.Indexes)
		}
		if r.Rows != int(values) || held < r.Present || r.Levels != nil && len(r.Levels) != r.Rows {
			t.Errorf("%d rows with %d of %d values and %d levels in a page of %d values", r.Rows, held, r.Present, len(r.Levels), values)
		}
	})
}

func (r *ColumnReader) nextPageContained() (err error) {
	defer ContainPanic(&err)
	return r.NextPage()
}
