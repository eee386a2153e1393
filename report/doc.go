// Package report writes rows of results as an aligned table, JSON, CSV or Parquet.
//
// A row is a struct; a field with a tag `report:"name[,kind][,option]"` is a column. Embedded structs are flattened,
// and so are fields with the tag `report:",inline"`; fields without a tag are left out. Numbers keep their unit in
// JSON, CSV and Parquet (nanoseconds, events a second); tables show a fitting one.
//
//	kind      Go types                  table                        JSON, CSV, Parquet
//	duration  int64                     1.50 ms                      nanoseconds
//	time      int64                     2026-11-22 00:07:36.346 UTC  Unix nanoseconds
//	rate      float64                   9.9/s                        events a second
//	count     integers                  1,406                        the number
//	percent   float64                   12.3 %                       0 to 100
//	text      strings, bool, address    as it is; yes, no; 0x7f00    the same; a BOOLEAN; the address, in Parquet as a number
//
// Without a kind, strings, booleans and addresses are text, integers counts and floats rates. Any type may be in a
// trace.Optional; what is absent, and an empty string, is "-" in a table, null in JSON and Parquet, and empty in CSV.
// Durations have three to four significant digits (Duration), so that 10.03 ms is not 10.04 ms, and a column of them
// can be read at a glance.
//
// The option detail leaves a column out of the aligned table. With heading, a text stands once above the rows that have
// it, in place of a column. With sparse, a column is left out if none of the first thousand rows has a value of it.
//
// A table on a terminal fits it. Names are shortened in the middle as far as they can still be read, and prose (an
// option) is broken into lines. If that is not enough, columns with the option short=TITLE get that title, and
// durations in them three significant digits at most. Then columns are left out: those without a value, then those with
// the option drop=N, the lowest N first, then the others from the right. What a row has in a left out column with the
// option below=NAME stands below the row, after that name. The Screen remembers what was left out.
//
// Text is safe to show: tables and CSV escape what Printable escapes, JSON writes it as \u escapes, and Parquet has
// U+FFFD in place of bytes that are no UTF-8. In CSV, an apostrophe precedes text that a spreadsheet would take for a
// formula.
package report
