// Package fleet answers questions about many recordings of a lake, which package export/lake writes: whether latencies
// of two groups of recordings differ by more than vehicles and recordings of a vehicle do.
//
// It reads the files of facts itself, one recording after the other, and of these only the columns that it needs. An
// engine would do the same: the question is one pass with little to keep. DuckDB in the program would need cgo, and a
// program of it would have to be installed.
package fleet
