package session

import (
	"os"
	"time"

	"github.com/caret-bpf/caret-bpf/trace"
)

// Status is the state of a running session, for the user to see.
type Status struct {
	State trace.State
	// Began is when the gate opened, on the dataset's clock in Unix nanoseconds; 0: it has not. Elapsed is the time since.
	Began   int64
	Elapsed time.Duration
	// Processes is the number of processes that are recorded now.
	Processes int
	// Rows is the number of rows that each table has; Taken also counts those that were removed again (--ring, --keep-…,
	// rotations).
	Rows, Taken map[string]uint64
	// Lost is the number of records lost so far, for whatever reason.
	Lost uint64
	// Unarmed is how often a process had mapped a file while it was not probed.
	Unarmed int
	// Warnings is the number of those that were not told, because one like them was.
	Warnings uint64
	// Overhead is the highest share of its time that the recording has cost a thread in the last second or so.
	Overhead float64
	// RingBytes is the size of the kernel's buffer, RingPending what waits in it, RingPeak the most that ever did; in
	// bytes.
	RingBytes, RingPending, RingPeak int
	Former                           FormerRecordings
	// Uploads say what has arrived in the lake of Configuration.Upload; nil where there is none.
	Uploads *trace.Uploads
	// Reads is how often the buffer was read so far: at least ten times a second, or the reader hangs.
	Reads uint64
}

// Observer is told what happens during a session. Its functions are called from several goroutines.
type Observer struct {
	// Status is called about every second while recording or waiting for its start, when it is over, and once at the end.
	// May be nil.
	Status func(Status)
	// Message is called for what the user should know: a process was attached, a probe is missing. May be nil.
	Message func(string)
	// Launched is called with the process group of a command that was started. May be nil.
	Launched func(group int)
	// Created is given the directory of the new dataset, to be closed: its path may lead elsewhere at the end. May be nil.
	Created func(directory *os.File)
	// Rows are called with all rows as they come, on their way to the dataset. They must not keep them.
	Rows []func(b *trace.Batch)
	// Armed is called where the recording waits for its start, when all is attached, with what starts it. May be nil.
	Armed func(*Handle)
	// Recording is called when the gate has opened, with what drives the recording from then on. May be nil.
	Recording func(*Handle)
}

func (s *Session) tellStatus(state trace.State) {
	ring := s.loader.Statistics()
	status := Status{
		State: state, Processes: s.processes.count(), Rows: s.writer.AcceptedRows(), Taken: s.writer.TakenRows(),
		Lost: s.losses.records(), Warnings: s.journal.waiting(), Overhead: s.overhead.highest(),
		RingBytes: ring.RingBytes, RingPending: ring.RingPending, RingPeak: ring.RingPeak, Reads: ring.Batches,
		Former: s.former.state(),
	}
	if !s.opened.IsZero() {
		status.Began, status.Elapsed = s.losses.began, time.Since(s.opened)
	}
	if s.options.Uploads != nil {
		status.Uploads = s.options.Uploads()
	}
	s.journal.with(func(report *trace.Session) { status.Unarmed = report.Unarmed })
	s.driver.status.Store(&status)
	if s.options.Observer.Status != nil {
		s.options.Observer.Status(status)
	}
}
