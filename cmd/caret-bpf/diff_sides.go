package main

import (
	"fmt"

	"github.com/spf13/pflag"
)

// sides are the datasets that diff compares. They are two arguments, or they follow --before and --after: any number
// each, so that a pattern of the shell can name them.
type sides struct {
	flags *pflag.FlagSet
	marks []sideMark
}

// sideMark is one --before or --after.
type sideMark struct {
	after bool
	first string
	// at is the number of arguments that stood before it.
	at int
}

func defineSides(flags *pflag.FlagSet) *sides {
	s := &sides{flags: flags}
	flags.Var(&sideFlag{sides: s}, "before", "`DATASET`s of the former side: one, or several one after another")
	flags.Var(&sideFlag{sides: s, after: true}, "after", "`DATASET`s of the latter side")
	return s
}

// of shares the arguments out.
func (s *sides) of(arguments []string) (before, after []string, err error) {
	if len(s.marks) == 0 {
		if len(arguments) != 2 {
			return nil, nil, fmt.Errorf("%w: name two datasets, or several with --before and --after", errUsage)
		}
		return arguments[:1], arguments[1:], nil
	}
	if at := s.marks[0].at; at > 0 {
		return nil, nil, fmt.Errorf("%w: %s belongs to no side; put it behind --before or --after", errUsage, arguments[0])
	}
	for i, mark := range s.marks {
		end := len(arguments)
		if i+1 < len(s.marks) {
			end = s.marks[i+1].at
		}
		side := &before
		if mark.after {
			side = &after
		}
		*side = append(append(*side, mark.first), arguments[mark.at:end]...)
	}
	if len(before) == 0 || len(after) == 0 {
		return nil, nil, fmt.Errorf("%w: --before and --after each name at least one dataset", errUsage)
	}
	return before, after, nil
}

// sideFlag is a flag whose further values are the arguments behind it.
type sideFlag struct {
	sides *sides
	after bool
}

func (f *sideFlag) String() string { return "" }

func (f *sideFlag) Type() string { return "dataset" }

// Set is called while the command line is read, so the arguments so far are those that stand before the flag.
func (f *sideFlag) Set(dataset string) error {
	f.sides.marks = append(f.sides.marks, sideMark{after: f.after, first: dataset, at: f.sides.flags.NArg()})
	return nil
}
