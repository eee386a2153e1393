// Package columnar reads and writes the bytes of Parquet files: pages, levels, dictionaries, encodings, bounds and
// footers, one column at a time. It gives and takes values and levels; of rows it knows nothing. What it needs of the
// format's structures and encodings is the Parquet library's.
//
// BenchmarkSegmentWriter of package trace compares it with that library's GenericWriter for the same rows: a tenth
// fewer bytes, because every page chooses whether and how strongly it is compressed, for about as much processor time.
package columnar
