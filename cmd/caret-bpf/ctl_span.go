package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/control"
)

// spanFlags say of which time span a snapshot is.
type spanFlags struct {
	begin, end string
	last       time.Duration
}

func defineSpanFlags(flags *pflag.FlagSet) *spanFlags {
	f := new(spanFlags)
	flags.DurationVar(&f.last, "last", 0, "only of this `TIME` until now, such as 30s (default: as far as the recording goes back)")
	flags.StringVar(&f.begin, "begin", "", "only from `TIME` on: RFC 3339, or a duration since the recording began, such as 90s")
	flags.StringVar(&f.end, "end", "", "only until `TIME`, as --begin (default: now)")
	return f
}

// check fails for what is no time span of any recording.
func (f *spanFlags) check() error {
	if f.last < 0 {
		return fmt.Errorf("%w: --last cannot be negative", errUsage)
	}
	if f.last > 0 && (f.begin != "" || f.end != "") {
		return fmt.Errorf("%w: --last is until now, and not beside --begin and --end", errUsage)
	}
	for flag, text := range map[string]string{"--begin": f.begin, "--end": f.end} {
		if text == "" {
			continue
		}
		if _, err := parseTime(text, 0); err != nil {
			return fmt.Errorf("%w: %s: %w", errUsage, flag, err)
		}
	}
	return nil
}

// errNoBegin is returned where a time since the begin of a recording is none.
var errNoBegin = errors.New("it does not say when it began; name a time such as 2026-11-22T00:07:36.346Z")

// set asks for the time span. The recording is asked when it began, if that is needed.
func (f *spanFlags) set(ctx context.Context, client *control.Client, request *control.SnapshotRequest) error {
	began := int64(0)
	if isDuration(f.begin) || isDuration(f.end) {
		status, err := client.Status(ctx)
		if err != nil {
			return err
		}
		if began = status.BeganNs; began == 0 {
			return fmt.Errorf("%w: %w", control.ErrRefused, errNoBegin)
		}
	}
	request.LastNs = f.last.Nanoseconds()
	if f.begin != "" {
		request.BeginNs, _ = parseTime(f.begin, began) // it was checked
	}
	if f.end != "" {
		request.EndNs, _ = parseTime(f.end, began)
		if request.EndNs < max(request.BeginNs, 1) { // 0 would be now
			return fmt.Errorf("%w: --end is before --begin", errUsage)
		}
	}
	return nil
}

func isDuration(text string) bool {
	_, err := time.ParseDuration(text)
	return err == nil
}
