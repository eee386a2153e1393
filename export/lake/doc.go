// Package lake puts recordings into a lake: a directory or an S3 prefix of Parquet files with one folder a table, which
// engines for many recordings read. What is costly to find out of a recording is in facts: one row an execution, a
// message, a hop of a path, with names in place of addresses.
//
// A recording is in the lake when its row of table recording is. That is put last, so nobody sees half a recording.
package lake
