package target

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// ticksPerSecond is USER_HZ, the unit of the times in /proc/PID/stat on every Linux architecture that ROS 2 runs on.
const ticksPerSecond = 100

// kernelThread is PF_KTHREAD (linux/include/linux/sched.h) of the flags in /proc/PID/stat: the process is a part of the
// kernel.
const kernelThread = 0x200000

// processStat is what is used of /proc/PID/stat.
type processStat struct {
	command   string
	state     byte
	parent    int32
	group     int32 // process group
	startTime int64 // nanoseconds since boot
	flags     uint64
}

func (s processStat) exited() bool { return s.state == 'Z' || s.state == 'X' || s.state == 'x' }

// runsProgram is false for parts of the kernel and for what is left of processes that have ended.
func (s processStat) runsProgram() bool { return !s.exited() && s.flags&kernelThread == 0 }

// parseStat reads "pid (command) state ppid …". The command may hold spaces and parentheses.
func parseStat(text []byte) (processStat, error) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return processStat{}, fmt.Errorf("stat without command: %.200q", text)
	}
	fields := strings.Fields(string(text[end+1:]))
	const state, parent, group, flags, startTime = 0, 1, 2, 6, 19 // fields 3, 4, 5, 9 and 22 of proc(5)
	if len(fields) <= startTime || len(fields[state]) != 1 {
		return processStat{}, fmt.Errorf("stat with %d fields", len(fields))
	}
	parentPID, err := strconv.ParseInt(fields[parent], 10, 32)
	if err != nil {
		return processStat{}, fmt.Errorf("stat: %w", err)
	}
	groupPID, err := strconv.ParseInt(fields[group], 10, 32)
	if err != nil {
		return processStat{}, fmt.Errorf("stat: %w", err)
	}
	ticks, err := strconv.ParseInt(fields[startTime], 10, 64)
	if err != nil {
		return processStat{}, fmt.Errorf("stat: %w", err)
	}
	flagBits, err := strconv.ParseUint(fields[flags], 10, 64)
	if err != nil {
		return processStat{}, fmt.Errorf("stat: %w", err)
	}
	const nanosecondsPerTick = 1_000_000_000 / ticksPerSecond
	if ticks < 0 || ticks > (1<<63-1)/nanosecondsPerTick {
		return processStat{}, fmt.Errorf("stat: start time %d", ticks)
	}
	return processStat{
		command:   string(text[open+1 : end]),
		state:     fields[state][0],
		parent:    int32(parentPID),
		group:     int32(groupPID),
		startTime: ticks * nanosecondsPerTick,
		flags:     flagBits,
	}, nil
}
