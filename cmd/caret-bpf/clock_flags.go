package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
)

// clockFlags say how the clocks of several hosts are brought together.
type clockFlags struct {
	offsets []string
}

// What --clock-offset takes beside offsets of hosts.
const (
	offsetRecorded = "recorded"
	offsetMessages = "messages"
)

func defineClockFlags(flags *pflag.FlagSet) *clockFlags {
	f := new(clockFlags)
	flags.StringArrayVar(&f.offsets, "clock-offset", nil, "`HOW` far clocks of several hosts are apart: \"recorded\" (real times are the same; the default), \"messages\" (as these tell), "+
		"or HOST=OFFSET±BOUND, how far that host's clock is ahead of the first dataset's (lidar-pc=1.5ms±20us); repeatable")
	return f
}

// options reads the flags.
func (f *clockFlags) options() (analyze.ClockOptions, error) {
	options := analyze.ClockOptions{Offsets: make(map[string]analyze.ClockOffset)}
	if f == nil {
		return options, nil
	}
	for _, text := range f.offsets {
		switch {
		case (text == offsetRecorded || text == offsetMessages) && len(f.offsets) > 1:
			return options, fmt.Errorf("%w: --clock-offset %s goes without others", errUsage, text)
		case text == offsetRecorded:
		case text == offsetMessages:
			options.ByMessages = true
		default:
			host, offset, err := parseClockOffset(text)
			if err != nil {
				return options, fmt.Errorf("%w: --clock-offset %s: %w", errUsage, text, err)
			}
			options.Offsets[host] = offset
		}
	}
	return options, nil
}

// parseClockOffset reads HOST=OFFSET±BOUND. The bound may be missing, and +- is as good.
func parseClockOffset(text string) (host string, offset analyze.ClockOffset, err error) {
	at := strings.LastIndexByte(text, '=')
	if at < 1 {
		return "", offset, fmt.Errorf("it takes %q, %q or HOST=OFFSET±BOUND, such as lidar-pc=1.5ms±20us", offsetRecorded, offsetMessages)
	}
	ahead, within, bounded := strings.Cut(strings.ReplaceAll(text[at+1:], "+-", "±"), "±")
	duration, err := time.ParseDuration(ahead)
	if err != nil {
		return "", offset, err
	}
	offset.Ahead = int64(duration)
	if bounded {
		bound, err := time.ParseDuration(within)
		switch {
		case err != nil:
			return "", offset, err
		case bound < 0:
			return "", offset, fmt.Errorf("the bound %s is negative", within)
		}
		offset.Within = trace.Some(int64(bound))
	}
	return text[:at], offset, nil
}
