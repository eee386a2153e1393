package main

import (
	"errors"
	"time"
)

// optionalTime is the value of a flag for a time of which none differs from no time.
type optionalTime struct{ of **time.Duration }

func (o optionalTime) String() string {
	if o.of == nil || *o.of == nil {
		return ""
	}
	return (**o.of).String()
}

func (o optionalTime) Set(text string) error {
	long, err := time.ParseDuration(text)
	if err == nil && long < 0 {
		err = errors.New("it cannot be negative")
	}
	if err == nil {
		*o.of = &long
	}
	return err
}

func (o optionalTime) Type() string { return "duration" }
