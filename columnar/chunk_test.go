package columnar

import (
	"bytes"
	"errors"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// page returns a page header with some bytes of content behind it.
func page(t testing.TB, header format.PageHeader, content int) []byte {
	t.Helper()
	var out bytes.Buffer
	var protocol thrift.CompactProtocol
	if err := thrift.NewEncoder(protocol.NewWriter(&out)).Encode(&header); err != nil {
		t.Fatal(err)
	}
	return append(out.Bytes(), make([]byte, content)...)
}

func dataPage(values, compressed, uncompressed int32) format.PageHeader {
	return format.PageHeader{
		Type: format.DataPageV2, CompressedPageSize: compressed, UncompressedPageSize: uncompressed,
		DataPageHeaderV2: thrift.New(format.DataPageHeaderV2{NumValues: values, NumRows: values}),
	}
}

func dictionaryPage(values, compressed, uncompressed int32) format.PageHeader {
	return format.PageHeader{
		Type: format.DictionaryPage, CompressedPageSize: compressed, UncompressedPageSize: uncompressed,
		DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: values}),
	}
}

func TestPageHeadersAreChecked(t *testing.T) {
	dictionary := page(t, dictionaryPage(5, 20, 40), 20)
	ten, five, none := page(t, dataPage(10, 30, 80), 30), page(t, dataPage(5, 0, 0), 0), page(t, dataPage(0, 0, 0), 0)
	join := func(pages ...[]byte) []byte { return bytes.Join(pages, nil) }
	cases := []struct {
		name  string
		pages []byte
		ok    bool
	}{
		{"dictionary and data", join(dictionary, ten, five), true},
		{"data only", join(ten, five), true},
		{"too few values", join(dictionary, ten), false},
		{"too many values", join(ten, ten), false},
		{"no page", nil, false},
		{"a header cut short", join(ten, five)[:len(ten)+2], false},
		{"longer than the chunk", join(ten, page(t, dataPage(5, 1<<30, 80), 4)), false},
		{"claims much when uncompressed", join(ten, page(t, dataPage(5, 4, 1<<30), 4)), false},
		{"more than any compression makes", join(ten, page(t, dataPage(5, 38<<20, 80), 38<<20)), false},
		{"claims many values", page(t, dataPage(1<<30, 4, 80), 4), false},
		{"negative size", join(ten, page(t, dataPage(5, -1, 80), 4)), false},
		{"negative number", join(ten, five, page(t, dataPage(-5, 4, 80), 4), five), false},
		{"as many pages as may be", join(bytes.Repeat(none, pagesLimit-2), ten, five), true},
		{"too many pages", join(bytes.Repeat(none, pagesLimit-1), ten, five), false},
		{"a list that claims a billion elements", join([]byte("\x09\xc8\x01\xfc\xff\xff\xff\xff\x07"), ten, five), false},
		{"lists in each other", join([]byte("\x09\xc8\x01"), bytes.Repeat([]byte{0x19}, 6<<20)), false},
		{"a dictionary that claims many values", join(page(t, dictionaryPage(1<<30, 20, 40), 20), ten, five), false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := checkPages(c.pages, 15, pageLimit)
			if (err == nil) != c.ok || err != nil && !errors.Is(err, ErrCorrupt) {
				t.Errorf("error %v", err)
			}
		})
	}
}
