package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/caret-bpf/caret-bpf/analyze/summary"
	"github.com/caret-bpf/caret-bpf/trace"
)

// unstampedRow is a row of `info --part unstamped`: a type of messages whose header.stamp was not read.
type unstampedRow struct {
	MessageType string `json:"message_type" report:"message_type"`
	// PIDs are those of the processes, with commas between them.
	PIDs   string `json:"pids" report:"pids"`
	Reason string `json:"reason" report:"reason,prose"`
}

func writeUnstamped(c console, o outputFlags, s *summary.Summary) error {
	rows := []unstampedRow{}
	if s.Session != nil {
		for _, of := range s.Session.Unstamped {
			pids := strings.Trim(strings.ReplaceAll(fmt.Sprint(of.PIDs), " ", ","), "[]")
			rows = append(rows, unstampedRow{of.MessageType, pids, of.Reason})
		}
	}
	return writeRows(c, o, rows)
}

// printUnstamped says how many types of messages have no stamps.
func printUnstamped(w io.Writer, session *trace.Session) {
	if session != nil && len(session.Unstamped) > 0 {
		fmt.Fprintf(w, "no message_timestamp of %d message types: `info --part unstamped` says why\n", len(session.UnstampedTypes()))
	}
}
