package columnar

import (
	"encoding/binary"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/format"
)

// TestFootersAreChecked has footers as other programs may write them, and such as take much more memory than bytes.
func TestFootersAreChecked(t *testing.T) {
	column := "\x15\x02\x25\x00\x18\x06column\x00" // its type, that it is required, its name
	list := func(count int, of string) string {
		return "\xfc" + string(binary.AppendUvarint(nil, uint64(count))) + strings.Repeat(of, count)
	}
	footer := func(schema, groups string) string {
		return "\x15\x02" + "\x19" + schema + "\x16\x00" + "\x19" + groups + "\x00"
	}
	chunk := func(bytes int) string {
		return "\x26\x00" + "\x88" + string(rune(bytes-5)) + strings.Repeat("x", bytes-5) + "\x00"
	}
	group := func(chunks string) string { return "\x19" + chunks + "\x16\x00\x16\x00\x00" }
	for _, c := range []struct{ name, footer, says string }{
		{"no rows", footer(list(40, column), list(0, "")), ""},
		{"many columns", footer(list(elementLimit, column), list(0, "")), ""},
		{"many row groups", footer(list(2, column), list(10_000, group(list(1, chunk(40))))), ""},
		{"more columns than may be", footer(list(elementLimit+1, column), list(0, "")), "1025 columns"},
		{"empty columns", footer(list(1000, "\x00"), list(0, "")), "in memory"},
		{"empty row groups", footer(list(1, column), list(1_000_000, "\x00")), "in memory"},
		{"empty chunks", footer(list(101, column), list(100, group(list(100, "\x00")))), "in memory"},
		{"short chunks", footer(list(101, column), list(100, group(list(100, chunk(10))))), "in memory"},
		{"row groups without chunks", footer(list(1000, column), list(1000, group("\x0c"))), "0 chunks"},
		{"as many chunks as row groups", footer(list(1000, column), list(1000, group(list(1, chunk(100))))), "1000 chunks"},
		{"more than there is room for", footer(list(2, column), list(600_000, group(list(1, chunk(40))))), "in memory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := checkFooter([]byte(c.footer))
			if (err == nil) != (c.says == "") || err != nil && (!errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("error %v, want %q", err, c.says)
			}
		})
	}
}

// TestListsOfFootersAreCounted: no element of a list of the library's takes more than what is counted of one.
func TestListsOfFootersAreCounted(t *testing.T) {
	lists := 0
	eachList(reflect.TypeFor[format.FileMetaData](), nil, func(path []int16, element reflect.Type) {
		lists++
		counted := otherBytes
		switch {
		case slices.Equal(path, schemaPath):
			counted = schemaBytes
		case slices.Equal(path, groupPath):
			counted = groupBytes
		case slices.Equal(path, chunkPath):
			counted = chunkBytes
		}
		if int(element.Size()) > counted {
			t.Errorf("%v in %v takes %d bytes, counted are %d", element, path, element.Size(), counted)
		}
	})
	if lists < 10 {
		t.Errorf("%d lists were found", lists)
	}
}

// eachList passes on the lists in a struct of the library's, by the fields that they lie in.
func eachList(of reflect.Type, path []int16, list func(path []int16, element reflect.Type)) {
	switch {
	case of.Kind() == reflect.Slice && of.Elem().Kind() != reflect.Uint8:
		list(path, of.Elem())
		eachList(of.Elem(), path, list)
	case of.Kind() == reflect.Struct:
		for i := range of.NumField() {
			number, _, _ := strings.Cut(of.Field(i).Tag.Get("thrift"), ",")
			if id, err := strconv.ParseInt(number, 10, 16); err == nil {
				eachList(of.Field(i).Type, append(slices.Clone(path), int16(id)), list)
			}
		}
	}
}

// TestOpenReadsWhatWasChecked: a file that changes while it is opened is opened as it was when it was checked.
func TestOpenReadsWhatWasChecked(t *testing.T) {
	column := Column{Name: "c", Type: TypeInt64, Encoding: EncodingPlain}
	file := encode(t, column, cells[int64]{values: make([]int64, 30)}, 10)
	f, err := Open(&readOnce{file: file}, int64(len(file)))
	if err != nil || f.Rows != 30 || f.Size != int64(len(file)) {
		t.Error(err)
	}
}

// readOnce gives each byte once, and then zeros.
type readOnce struct{ file []byte }

func (r *readOnce) ReadAt(b []byte, offset int64) (int, error) {
	n := copy(b, r.file[offset:])
	clear(r.file[offset:][:n])
	return n, nil
}

// footerOf returns the footer of a file.
func footerOf(file []byte) []byte {
	end := len(file) - tailSize
	return file[end-int(binary.LittleEndian.Uint32(file[end:])) : end]
}
