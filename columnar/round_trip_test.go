package columnar

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// nullable values of a column: one a row, and whether the row has it. Without levels all rows have one.
type cells[V Value] struct {
	values []V
	levels []byte
}

// present are the values that rows have.
func (c cells[V]) present() (values []V) {
	for i, value := range c.values {
		if c.levels == nil || c.levels[i] != 0 {
			values = append(values, value)
		}
	}
	return values
}

// encode writes a file of one column, in batches and row groups.
func encode[V Value](t testing.TB, column Column, c cells[V], groupRows int) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewFileWriter("rows", []Column{column}, NewCompressors())
	must(t, w.Begin(&out))
	for first := 0; first < len(c.values); {
		end := min(first+1000, len(c.values), first-first%groupRows+groupRows)
		batch := cells[V]{values: c.values[first:end]}
		if column.Nullable {
			batch.levels = c.levels[first:end]
		}
		ColumnOf[V](w, 0).Add(end-first, func(values []V, levels []byte) ([]V, []byte) {
			return append(values, batch.present()...), append(levels, batch.levels...)
		})
		must(t, w.EndRows(end-first))
		if first = end; first%groupRows == 0 {
			must(t, w.EndGroup())
		}
	}
	must(t, w.End())
	return out.Bytes()
}

// decode reads the column of a file, row group after row group.
func decode[V Value](t testing.TB, file []byte) (c cells[V]) {
	t.Helper()
	f, err := Open(bytes.NewReader(file), int64(len(file)))
	must(t, err)
	for group := range f.Groups {
		var r ColumnReader
		must(t, r.Open(f, bytes.NewReader(file), group, 0, new(Interner)))
		for rows := f.Groups[group].Rows; rows > 0; rows -= int64(r.Rows) {
			must(t, r.NextPage())
			values := valuesOf[V](&r.Values)
			if r.Indexes != nil {
				var indexed []V
				for _, index := range r.Indexes {
					indexed = append(indexed, values[index])
				}
				values = indexed
			}
			for row := range r.Rows {
				var value V
				level := byte(1)
				if r.Levels != nil {
					level = r.Levels[row]
				}
				if level != 0 {
					value, values = values[0], values[1:]
				}
				c.values, c.levels = append(c.values, value), append(c.levels, level)
			}
		}
		r.Close()
	}
	return c
}

func valuesOf[V Value](v *Values) []V {
	for _, values := range []any{v.Bools, v.Int32s, v.Int64s, v.Strings} {
		if values, ok := values.([]V); ok {
			return values
		}
	}
	panic("no values of such a type are read")
}

// decodeByLibrary is decode by the Parquet library.
func decodeByLibrary(t testing.TB, file []byte) (values []parquet.Value) {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	must(t, err)
	for _, group := range f.RowGroups() {
		pages := group.ColumnChunks()[0].Pages()
		for {
			page, err := pages.ReadPage()
			if errors.Is(err, io.EOF) {
				break
			}
			must(t, err)
			of := make([]parquet.Value, page.NumValues())
			if n, err := page.Values().ReadValues(of); n < len(of) {
				t.Fatal(err)
			}
			for _, value := range of {
				values = append(values, value.Clone())
			}
		}
		must(t, pages.Close())
	}
	return values
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// nullPatterns say which rows have no value.
var nullPatterns = map[string]func(row int, random *rand.Rand) bool{
	"no nulls":    func(int, *rand.Rand) bool { return false },
	"all null":    func(int, *rand.Rand) bool { return true },
	"first half":  func(row int, _ *rand.Rand) bool { return row < PageRows },
	"alternating": func(row int, _ *rand.Rand) bool { return row%2 == 0 },
	"one of five": func(row int, _ *rand.Rand) bool { return row%5 == 3 },
	"at random":   func(_ int, random *rand.Rand) bool { return random.IntN(2) == 0 },
	"page by page": func(row int, random *rand.Rand) bool {
		return row >= 2*PageRows || row < PageRows && random.IntN(2) == 0
	},
}

// TestRoundTrip writes columns of every type in every encoding with nulls in several patterns: what is read, by
// ColumnReader and by the Parquet library, is what was written.
func TestRoundTrip(t *testing.T) {
	text := func(random *rand.Rand) string { return fmt.Sprint("/name_", random.IntN(300)) }
	t.Run("bool", func(t *testing.T) {
		roundTrips(t, TypeBool, []Encoding{EncodingPlain}, func(random *rand.Rand) bool { return random.IntN(3) == 0 })
	})
	t.Run("int32", func(t *testing.T) {
		roundTrips(t, TypeInt32, []Encoding{EncodingPlain, EncodingDictionary}, func(random *rand.Rand) int32 { return int32(random.Uint32()) })
	})
	t.Run("int64", func(t *testing.T) {
		roundTrips(t, TypeInt64, []Encoding{EncodingPlain, EncodingDictionary, EncodingDelta, EncodingSmaller},
			func(random *rand.Rand) int64 { return int64(random.Uint64()) >> random.IntN(64) })
	})
	t.Run("string", func(t *testing.T) { roundTrips(t, TypeString, []Encoding{EncodingPlain, EncodingDictionary}, text) })
}

func roundTrips[V Value](t *testing.T, of Type, encodings []Encoding, value func(*rand.Rand) V) {
	for _, encoding := range encodings {
		for name, null := range nullPatterns {
			t.Run(string(encoding)+" "+name, func(t *testing.T) {
				random := rand.New(rand.NewPCG(1, 2))
				rows := 2*PageRows + 100
				c := cells[V]{values: make([]V, rows), levels: make([]byte, rows)}
				for row := range rows {
					if !null(row, random) {
						c.values[row], c.levels[row] = value(random), 1
					}
				}
				checkRoundTrip(t, Column{Name: "c", Type: of, Nullable: true, Encoding: encoding}, c)
				if name == "no nulls" {
					checkRoundTrip(t, Column{Name: "c", Type: of, Encoding: encoding}, c)
				}
			})
		}
	}
}

func checkRoundTrip[V Value](t *testing.T, column Column, c cells[V]) {
	t.Helper()
	file := encode(t, column, c, PageRows+PageRows/2)
	got := decode[V](t, file)
	if !slices.Equal(got.values, c.values) || !slices.Equal(got.levels, c.levels) {
		t.Errorf("%+v: %d rows are read, or others than the %d that were written", column, len(got.values), len(c.values))
	}
	byLibrary := decodeByLibrary(t, file)
	if len(byLibrary) != len(c.values) {
		t.Fatalf("the library reads %d rows of %d", len(byLibrary), len(c.values))
	}
	for row, value := range byLibrary {
		want := parquet.ValueOf(c.values[row])
		if c.levels[row] == 0 {
			want = parquet.NullValue()
		}
		if !parquet.Equal(value, want) {
			t.Fatalf("%+v: the library reads %v in row %d, want %v", column, value, row, want)
		}
	}
}

// TestDoubleIsWritten: reports have floating-point numbers, which only other readers read.
func TestDoubleIsWritten(t *testing.T) {
	c := cells[float64]{values: []float64{1.5, 0, -2}, levels: []byte{1, 0, 1}}
	file := encode(t, Column{Name: "c", Type: TypeDouble, Nullable: true, Encoding: EncodingPlain}, c, PageRows)
	got := decodeByLibrary(t, file)
	if len(got) != 3 || got[0].Double() != 1.5 || !got[1].IsNull() || got[2].Double() != -2 {
		t.Errorf("got %v", got)
	}
}

// TestLibrarysFilesAreRead: what the Parquet library's writer makes, with pages of either version, is read.
func TestLibrarysFilesAreRead(t *testing.T) {
	type row struct {
		C *int64 `parquet:"c,optional"`
	}
	for _, tag := range []string{"plain", "delta", "dict"} {
		for version := 1; version <= 2; version++ {
			t.Run(fmt.Sprint(tag, " pages of version ", version), func(t *testing.T) {
				random := rand.New(rand.NewPCG(1, 2))
				var out bytes.Buffer
				node := parquet.Node(parquet.Optional(parquet.Leaf(parquet.Int64Type)))
				switch tag {
				case "delta":
					node = parquet.Encoded(node, &parquet.DeltaBinaryPacked)
				case "dict":
					node = parquet.Encoded(node, &parquet.RLEDictionary)
				}
				w := parquet.NewGenericWriter[row](&out, parquet.NewSchema("rows", parquet.Group{"c": node}),
					parquet.DataPageVersion(version), parquet.PageBufferSize(20_000), parquet.Compression(&parquet.Snappy))
				const rows = 10_000
				want := cells[int64]{values: make([]int64, rows), levels: make([]byte, rows)}
				for i := range rows {
					var r row
					if random.IntN(3) > 0 {
						want.values[i], want.levels[i] = int64(random.IntN(1000)), 1
						r.C = &want.values[i]
					}
					_, err := w.Write([]row{r})
					must(t, err)
				}
				must(t, w.Close())
				got := decode[int64](t, out.Bytes())
				if !slices.Equal(got.values, want.values) || !slices.Equal(got.levels, want.levels) {
					t.Errorf("%d rows are read, or others", len(got.values))
				}
			})
		}
	}
}

// TestDictionaryThatOutgrowsItsBoundEndsInPlainPages writes more distinct values than a dictionary takes, and then few
// again: what does not fit is stored plain, the next row group begins anew, and all reads as it was.
func TestDictionaryThatOutgrowsItsBoundEndsInPlainPages(t *testing.T) {
	const perGroup = 4 * PageRows
	c := cells[int64]{values: make([]int64, 2*perGroup), levels: bytes.Repeat([]byte{1}, 2*perGroup)}
	for i := range c.values {
		c.values[i] = int64(1 + i)
		if i >= perGroup {
			c.values[i] = int64(1 + i%3)
		}
	}
	file := encode(t, Column{Name: "c", Type: TypeInt64, Encoding: EncodingDictionary}, c, perGroup)
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	must(t, err)
	for i, wanted := range []bool{true, false} {
		meta := &f.Metadata().RowGroups[i].Columns[0].MetaData
		plain := 0 // once for the dictionary itself
		for _, encoding := range meta.Encoding {
			if encoding == format.Plain {
				plain++
			}
		}
		if !slices.Contains(meta.Encoding, format.RLEDictionary) || plain != 1 {
			t.Errorf("row group %d: encodings %v", i, meta.Encoding)
		}
		if large := meta.TotalCompressedSize > dictionaryBytes/4; large != wanted {
			t.Errorf("row group %d: %d bytes", i, meta.TotalCompressedSize)
		}
	}
	if got := decode[int64](t, file); !slices.Equal(got.values, c.values) {
		t.Error("the values that are read are not those that were written")
	}
}

// TestNullsThatFollowAPatternTakeNextToNothing measures a column that is the same in all rows that have it.
func TestNullsThatFollowAPatternTakeNextToNothing(t *testing.T) {
	for name, most := range map[string]float64{ // bits a row
		"no nulls": 0.02, "all null": 0.02, "first half": 0.02, "alternating": 0.1, "one of five": 0.1, "at random": 1.1, "page by page": 0.5,
	} {
		random := rand.New(rand.NewPCG(1, 2))
		rows := 2*PageRows + 100
		c := cells[string]{values: make([]string, rows), levels: make([]byte, rows)}
		for row := range rows {
			if !nullPatterns[name](row, random) {
				c.values[row], c.levels[row] = "/topic", 1
			}
		}
		file := encode(t, Column{Name: "c", Type: TypeString, Nullable: true, Encoding: EncodingDictionary}, c, rows)
		f, err := Open(bytes.NewReader(file), int64(len(file)))
		must(t, err)
		const headers = 200 // of the pages, and the dictionary
		size := f.Groups[0].Chunks[0].Length
		if bits := float64(8*(size-headers)) / float64(rows); bits > most {
			t.Errorf("%s: %.3f bits a row", name, bits)
		}
	}
}

// FuzzRoundTrip writes arbitrary numbers and nulls in every encoding.
func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\x00\x80\xff\xff\xff\xff\xff\xff\xff\x7f"), uint64(1))
	f.Add(bytes.Repeat([]byte("12345678abcdefgh"), 100), uint64(0x5555_5555_5555_5555))
	f.Fuzz(func(t *testing.T, content []byte, nulls uint64) {
		var c cells[int64]
		for row := 0; len(content) >= 8; row, content = row+1, content[8:] {
			value, level := int64(binary.LittleEndian.Uint64(content)), byte(nulls>>(row%64)&1)^1
			c.values, c.levels = append(c.values, value*int64(level)), append(c.levels, level)
		}
		for _, encoding := range []Encoding{EncodingPlain, EncodingDictionary, EncodingDelta, EncodingSmaller} {
			checkRoundTrip(t, Column{Name: "c", Type: TypeInt64, Nullable: true, Encoding: encoding}, c)
		}
	})
}
