// Package significance tells whether a median differs between recordings by more than chance. It knows that durations
// depend on those before them, and that runs of one program differ.
//
// A Series gathers the durations of one recording. Its Median has an error, which Blocking finds, and says when the
// recording is too short for that. Compare tests the medians of two sides, Holm corrects for many such tests.
package significance
