package expect

import (
	"errors"
	"regexp"
)

// ErrFile is wrapped by errors of files that are no expectations. They name the line.
var ErrFile = errors.New("wrong expectations")

// File is what a file expects.
type File struct {
	// Complete expects that nothing was lost, and that each file was probed as long as a process had it mapped.
	Complete     bool
	Expectations []Expectation
}

// Expectation is what is expected of each row of an answer that fits, of which there is at least one.
type Expectation struct {
	// Name is the expectation's in results.
	Name string
	// Of names the answer, as docs/verify.md lists them.
	Of string
	// Path, or else From and To, name the paths; they are empty for other answers.
	Path, From, To string
	// Where chooses rows: all conditions have to hold.
	Where  []Condition
	Bounds []Bound
	// Line is where it begins in its file.
	Line int
	// unnamed says that the file gives it no name, so that its line is in the one that it has.
	unnamed bool
}

// Condition is that the whole text of a column fits a pattern.
type Condition struct {
	Column  string
	Pattern *regexp.Regexp
}

// Bound is what a column may be at most or has to be at least.
type Bound struct {
	Column string
	Least  bool // else it is the most
	// Value is in nanoseconds for durations, and in hertz for rates.
	Value float64
}
