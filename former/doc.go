// Package former keeps a folder of recordings within bounds: it finds those that have ended, and removes the oldest.
//
// What is not certainly the ended recording of a recorder, with nothing else in it, stays: see find.go.
package former
