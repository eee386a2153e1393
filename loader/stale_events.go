package loader

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// recorderIdentity tells a recorder's process from a later one with the same PID.
type recorderIdentity struct {
	pid       int
	startTime uint64 // clock ticks since boot (proc_pid_stat(5), field 22)
}

// eventGroup is the name of the trace event group that holds a recorder's events.
func (r recorderIdentity) eventGroup() string {
	return fmt.Sprintf("caret_bpf_%d_%d", r.pid, r.startTime)
}

func ownIdentity() (recorderIdentity, error) {
	pid := os.Getpid()
	_, startTime, err := processState(pid)
	return recorderIdentity{pid, startTime}, err
}

// isAlive reports whether the recorder's process still runs. A zombie does not: it has no open files any more.
func (r recorderIdentity) isAlive() bool {
	state, startTime, err := processState(r.pid)
	return err == nil && startTime == r.startTime && state != 'Z' && state != 'X'
}

func processState(pid int) (state byte, startTime uint64, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	return parseStat(string(stat))
}

// parseStat reads state and start time from /proc/PID/stat. The second field, the command in parentheses, may hold
// anything.
func parseStat(stat string) (state byte, startTime uint64, err error) {
	const stateField, startTimeField = 0, 22 - 3 // counted from the first field after the command, the third of all
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) <= startTimeField {
		return 0, 0, errors.New("/proc/PID/stat: fields missing")
	}
	startTime, err = strconv.ParseUint(fields[startTimeField], 10, 64)
	if err != nil {
		return 0, 0, fmt.Errorf("/proc/PID/stat: start time: %w", err)
	}
	return fields[stateField][0], startTime, nil
}

var recorderGroup = regexp.MustCompile(`^caret_bpf_([0-9]+)_([0-9]+)$`)

// parseEventGroup returns the recorder that a trace event group belongs to, false for a group of somebody else.
func parseEventGroup(name string) (recorderIdentity, bool) {
	match := recorderGroup.FindStringSubmatch(name)
	if match == nil {
		return recorderIdentity{}, false
	}
	pid, pidErr := strconv.Atoi(match[1])
	startTime, timeErr := strconv.ParseUint(match[2], 10, 64)
	return recorderIdentity{pid, startTime}, pidErr == nil && timeErr == nil
}

// removeStaleEvents removes the trace events of recorders that were killed. Their perf events went with them, so
// nothing is traced any more, but the definitions keep the files in use. Those of living recorders stay.
//
// It looks at the directory of events and not into uprobe_events: reading that waits for the kernel's one lock on all
// trace events, which another tool may hold for long while it detaches.
func removeStaleEvents(root string) error {
	groups, err := os.ReadDir(filepath.Join(root, "events"))
	if err != nil {
		return fmt.Errorf("looking for trace events of dead recorders: %w", err)
	}
	var errs []error
	for _, group := range groups {
		if recorder, ours := parseEventGroup(group.Name()); ours && !recorder.isAlive() {
			errs = append(errs, removeEventGroup(root, group.Name()))
		}
	}
	return errors.Join(errs...)
}

// removeEventGroup does nothing when another recorder that starts has removed the group meanwhile.
func removeEventGroup(root, group string) error {
	directory := filepath.Join(root, "events", group)
	// What is done with a directory that is being removed fails in several ways.
	isGone := func(failure error) bool {
		_, err := os.Stat(directory)
		return errors.Is(failure, os.ErrNotExist) || errors.Is(err, os.ErrNotExist)
	}
	// An event that somebody enabled by hand is busy until it is disabled.
	if err := os.WriteFile(filepath.Join(directory, "enable"), []byte("0"), 0); err != nil && !isGone(err) {
		return fmt.Errorf("disabling trace events of a dead recorder: %w", err)
	}
	events, err := os.ReadDir(directory)
	if err != nil {
		if isGone(err) {
			return nil
		}
		return fmt.Errorf("looking for trace events of a dead recorder: %w", err)
	}
	deadline := time.Now().Add(removalPatience)
	var errs []error
	for _, event := range events {
		if event.IsDir() {
			errs = append(errs, removeTraceEvent(root, group+"/"+event.Name(), time.Until(deadline)))
		}
	}
	return errors.Join(errs...)
}
