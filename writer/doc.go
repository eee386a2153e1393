// Package writer makes a dataset: rows in, Parquet segments out.
//
// Three stages, so that the caller, which drains the kernel's ring buffer, waits neither for compression nor for the
// disk unless the disk is too slow for the rate of rows:
//
//	Append ── batches of rows ──► encoder goroutine ── finished files ──► committer goroutine
//
// The encoder owns every open Parquet file and writes it under a temporary name. The committer syncs a finished file,
// gives it its final name and syncs the folder: a segment is in the dataset whole and durable, or not at all. Both
// queues are bounded, that of files by their bytes, too; when they are full, Append blocks.
package writer
