// Package launch starts commands that are to be recorded from their first event: each waits until it is released, runs
// as the user who called, and gets nothing of what the recorder may do.
package launch
