package main

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/trace"
)

// timeFlags say which part of a recording a question is about.
type timeFlags struct {
	from, to    string
	last, strip time.Duration
}

func defineTimeFlags(flags *pflag.FlagSet) *timeFlags {
	f := new(timeFlags)
	flags.StringVar(&f.from, "from-time", "", "only what began at `TIME` or later: RFC 3339, or a duration since the begin of the recording")
	flags.StringVar(&f.to, "to-time", "", "only what began at `TIME` or earlier")
	flags.DurationVar(&f.last, "last", 0, "only the last `DURATION` of the recording")
	flags.DurationVar(&f.strip, "strip", 0, "without this `DURATION` at both ends of the recording")
	return f
}

// check fails for what is no part of any recording; given tells whether a part is asked for.
func (f *timeFlags) check() (given bool, err error) {
	if f.last < 0 || f.strip < 0 {
		return false, fmt.Errorf("%w: --last and --strip take positive durations", errUsage)
	}
	return f.from != "" || f.to != "" || f.last != 0 || f.strip != 0, nil
}

// within returns the part of a recording of that span.
func (f *timeFlags) within(span trace.Span) (part trace.Span, err error) {
	part = trace.Span{First: span.First + int64(f.strip), Last: span.Last - int64(f.strip)}
	if f.last > 0 {
		part.First = max(part.First, span.Last-int64(f.last))
	}
	if f.from != "" {
		at, err := parseTime(f.from, span.First)
		if err != nil {
			return part, fmt.Errorf("%w: --from-time: %w", errUsage, err)
		}
		part.First = max(part.First, at)
	}
	if f.to != "" {
		at, err := parseTime(f.to, span.First)
		if err != nil {
			return part, fmt.Errorf("%w: --to-time: %w", errUsage, err)
		}
		part.Last = min(part.Last, at)
	}
	if part.First > part.Last {
		return part, fmt.Errorf("%w: nothing of the recording is left: it lasts %v", errUsage, time.Duration(span.Last-span.First))
	}
	return part, nil
}

// parseTime reads a point of time, or a duration since begin, as Unix nanoseconds.
func parseTime(text string, begin int64) (int64, error) {
	if since, err := time.ParseDuration(text); err == nil {
		return begin + int64(since), nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999 MST"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UnixNano(), nil
		}
	}
	return 0, fmt.Errorf("%q is neither a time such as 2026-11-22T00:07:36.346Z nor a duration such as 2.5s", text)
}
