// Package view answers what the page of `caret-bpf view` and `caret-bpf report` asks of recordings: a View has for each
// key an answer, in JSON. NewHandler serves the page and the answers to one user of the machine, WriteReport puts a
// part of them into one file beside the page.
//
// A key is a name with parameters: "recording", "tile?level=3&index=5". An answer depends on its key only and never
// changes, so it may be kept. Times are nanoseconds since the begin of what is shown, durations are nanoseconds, and
// what is not known is null. Rows of tables are those of the commands' JSON.
//
// The timeline is drawn from tiles: level l divides the time into 2^l of them. A tile that few callbacks overlap has
// them all, and is exact; any other one has for each thread how busy it was in 512 bins. Tiles are made from an index
// of all executions in memory, of 22 bytes each. Publishes and messages of exact tiles are read from the datasets.
package view
