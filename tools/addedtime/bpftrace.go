package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
)

// printed keeps the sites whose functions a user of bpftrace would probe for the same rows: the record's, and what
// callbacks have taken. Functions for serialized and loaned messages are left out.
func printed(sites []probes.Site) []probes.Site {
	events := append(slices.Clone(recorded), abi.EventRMWTake)
	return slices.DeleteFunc(slices.Clone(sites), func(s probes.Site) bool { return !slices.Contains(events, s.Event) || fieldsOf(s) == "" })
}

// fieldsOf are the expressions of bpftrace that give an event's fields at a site, "" if the site is of no use.
func fieldsOf(s probes.Site) string {
	type shape struct {
		event abi.Event
		form  abi.Form
	}
	switch (shape{s.Event, s.Form}) {
	case shape{abi.EventCallbackStart, abi.FormArguments}:
		return "arg0, arg1"
	case shape{abi.EventCallbackEnd, abi.FormArguments}, shape{abi.EventRMWPublish, abi.FormMessageOnly}:
		return "arg0"
	case shape{abi.EventRclcppPublish, abi.FormArguments}:
		return "arg1"
	case shape{abi.EventRclPublish, abi.FormArguments}:
		return "arg0, arg1"
	case shape{abi.EventRMWPublish, abi.FormArguments}:
		return "arg0, arg1, arg2"
	case shape{abi.EventRMWTake, abi.FormArguments}:
		return "arg0, arg1, arg2, arg3"
	case shape{abi.EventDDSBindAddrToStamp, abi.FormFastDDS}:
		return fmt.Sprintf("*(int32 *)(arg1 + %d), *(uint32 *)(arg1 + %d)", s.Parameter, s.Parameter+8)
	case shape{abi.EventDDSBindAddrToStamp, abi.FormCycloneDDSWrite}:
		return "arg1" // of dds_write itself: distributions build bpftrace without probes in the middle of functions, where the timestamp is
	}
	return ""
}

// scriptOf is a bpftrace script that prints thread, time, event and fields of every hit that passes the filter, a line
// each.
func scriptOf(sites []probes.Site, filter string) string {
	var text strings.Builder
	for _, s := range printed(sites) {
		fields := fieldsOf(s)
		format := strings.Repeat(" %lx", strings.Count(fields, ",")+1)
		fmt.Fprintf(&text, "uprobe:%s:%q %s { printf(\"%%d %%llu %s%s\\n\", tid, nsecs, %s); }\n", s.Path, s.Symbol, filter, s.Event, format, fields)
	}
	return text.String()
}

// printScript prints the script for a process, to be run without -p: with it, bpftrace 0.17 sees the first thread only.
func printScript(pid int32) error {
	plans, err := planSites(pid)
	if err != nil {
		return err
	}
	_, err = fmt.Print(scriptOf(plans.entries, fmt.Sprintf("/pid == %d/", pid)))
	return err
}

var errBpftrace = errors.New("bpftrace")

// bpftrace lets bpftrace print every hit of the first thread, which executes the callbacks, into a file.
func bpftrace(ctx context.Context, p *program, plans *plans) (end, error) {
	output := filepath.Join(p.scratch, "bpftrace")
	_ = os.Remove(output)
	command := exec.CommandContext(ctx, "bpftrace", "-p", fmt.Sprint(p.pid()), "-o", output, "-e", scriptOf(plans.entries, ""))
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, &said
	command.Env = append(os.Environ(), "BPFTRACE_PERF_RB_PAGES=16384")
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("%w: %w", errBpftrace, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	for deadline := time.Now().Add(startPatience); ; time.Sleep(pollInterval) {
		if lastEventIsIn(output) {
			break
		}
		select {
		case err := <-ended:
			return nil, fmt.Errorf("%w: %w: %s", errBpftrace, err, said.Bytes())
		default:
		}
		if time.Now().After(deadline) {
			_ = command.Process.Kill()
			return nil, fmt.Errorf("%w prints nothing: %s", errBpftrace, said.Bytes())
		}
	}
	return func() (uint64, error) {
		_ = command.Process.Signal(syscall.SIGINT)
		overdue := time.AfterFunc(stopPatience, func() { _ = command.Process.Kill() })
		defer overdue.Stop()
		<-ended // it also prints its maps, and fails when it was killed
		text, err := os.ReadFile(output)
		return lostEvents(append(text, said.Bytes()...)), err
	}, nil
}

// lastEventIsIn reports whether callbacks are printed from their start to their end: probes are attached one after the
// other.
func lastEventIsIn(output string) bool {
	text, err := os.ReadFile(output)
	return err == nil && bytes.Contains(text, []byte(abi.EventCallbackStart.String())) && bytes.Contains(text, []byte(abi.EventCallbackEnd.String()))
}

var lostLine = regexp.MustCompile(`Lost (\d+) events`)

// lostEvents adds up what bpftrace says to have lost.
func lostEvents(text []byte) (lost uint64) {
	for _, match := range lostLine.FindAllSubmatch(text, -1) {
		count, err := strconv.ParseUint(string(match[1]), 10, 64)
		if err == nil {
			lost += count
		}
	}
	return lost
}
