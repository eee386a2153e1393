// Package trace is the caret-bpf dataset: the row type of each table, session.json, and opening and scanning a
// recording.
//
// A dataset is a directory with session.json and one folder a table, which holds Parquet segments. Package writer makes
// it; docs/dataset.md describes it for those who query it with other tools.
//
// Conventions of all tables:
//
//   - Columns named *_timestamp are int64 nanoseconds of Unix time, on the one clock of the recording (CLOCK_MONOTONIC
//     plus
//     the offset to real time taken at the start). They are no Parquet timestamps, because engines truncate those to
//     microseconds. source_timestamp is the exception: it is what the middleware wrote, unchanged, on the publisher's
//     clock.
//   - Addresses are unsigned 64-bit. In a nullable address column, 0 is null.
//   - In a nullable string column, the empty string is null. (ROS names, symbols and commands are never empty.)
//   - Other nullable columns are Optional.
//
// A struct tag `column:"name[,null][,encoding]"` names the column of a field, says whether a zero address or an empty
// string is null, and chooses the encoding (see encoding.go).
package trace
