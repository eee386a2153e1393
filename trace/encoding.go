package trace

import (
	"reflect"

	"github.com/caret-bpf/caret-bpf/columnar"
)

// Encoding is a Parquet encoding of a column's pages, before zstd compresses them.
//
// Chosen by measurement: BenchmarkEncoding, which uses the Parquet library's own writer, on synthetic rows, each column
// alone, 100,000 rows with nulls, zstd's fastest level (bytes and nanoseconds a row, on a virtual machine):
//
//	column                      plain           dictionary      delta
//	callback_start_timestamp    3.0 B  82 ns    3.7 B 113 ns    3.2 B   9 ns
//	source_timestamp            2.5 B  89 ns    3.8 B 215 ns    3.2 B  11 ns   (publish)
//	publish_number              1.5 B 106 ns    1.7 B  45 ns    1.6 B  11 ns
//	callback (address)          1.7 B  72 ns    0.8 B  23 ns    2.4 B  10 ns
//	message (address)           2.2 B 110 ns    1.2 B  18 ns    2.5 B  39 ns
//	process_start               0.8 B  62 ns    0.3 B   4 ns    0.8 B  41 ns
//	tid                         0.8 B  31 ns    0.5 B   6 ns    1.1 B   8 ns
//	topic_name                  1.2 B 140 ns    0.5 B  23 ns    1.3 B 147 ns
//
// Hence delta for times and counters (a fifth larger than plain at an eighth of the time, which is taken from the
// machine that is being measured), dictionary for all that repeats. A dictionary that outgrows its bound falls back to
// plain.
//
// Sorting rows by their callback or publisher, in each row group, was measured too: names and handles become smaller by
// 0.2 B each, times do not, for their own jitter is what they consist of. Rows stay in the order in which they
// completed.
type Encoding = columnar.Encoding

// The encodings of columns.
const (
	EncodingPlain      = columnar.EncodingPlain
	EncodingDelta      = columnar.EncodingDelta
	EncodingSmaller    = columnar.EncodingSmaller
	EncodingDictionary = columnar.EncodingDictionary
)

// defaultEncoding is that of a column whose tag names none, by the kind of its field: an int64 is a time, an unsigned
// one an address or an index.
func defaultEncoding(field reflect.Kind) Encoding {
	switch field {
	case reflect.Bool:
		return EncodingPlain
	case reflect.Int64:
		return EncodingDelta
	}
	return EncodingDictionary
}
