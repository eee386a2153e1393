// Package summary tells what one dataset holds: its extent, the activity of processes, nodes, callbacks and topics,
// what was lost, and what a reader of the numbers must know.
package summary
