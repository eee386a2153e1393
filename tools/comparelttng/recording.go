package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/trace"
)

// recording is what caret-bpf recorded.
type recording struct {
	events []event
	// observed are the events that were recorded where LTTng's tracepoint is, so that every hit must be in both.
	observed map[string]bool
	// elsewhere are those of them that were recorded in other functions besides.
	elsewhere map[string]bool
	// otherForms is the number of publishes of serialized and loaned messages, each a hit of rcl_publish in another
	// function.
	otherForms int
}

// readRecording reads a dataset that was recorded with --raw. It has to be whole, from before the programs began to
// after their end.
func readRecording(ctx context.Context, directory string) (recording, error) {
	dataset, err := trace.Open(directory)
	if err != nil {
		return recording{}, err
	}
	session := dataset.Session()
	switch {
	case session == nil:
		return recording{}, fmt.Errorf("%s: %s", directory, dataset.Warning())
	case session.Ending != trace.EndingTargetsExited:
		return recording{}, fmt.Errorf("%s: the recording ended by %s, not with the end of the programs", directory, session.Ending)
	case len(session.Losses) > 0:
		return recording{}, fmt.Errorf("%s: the recording is not whole: %+v", directory, session.Losses)
	}
	r := recording{observed: map[string]bool{}, elsewhere: map[string]bool{}}
	for _, site := range session.Plan.Sites {
		if strings.HasPrefix(site.Symbol, "ros_trace_") {
			r.observed[site.Event] = true
		} else {
			r.elsewhere[site.Event] = true
		}
	}
	names := argumentNames()
	err = trace.Scan(ctx, dataset, "event", func(rows []trace.Event) error {
		for _, row := range rows {
			e := event{
				thread: thread{row.PID, row.TID}, name: row.Event, time: row.EventTimestamp - session.Clock.RealtimeOffset,
			}
			for i, value := range []trace.Optional[uint64]{row.Argument1, row.Argument2, row.Argument3, row.Argument4, row.Argument5} {
				if value.Valid && i < len(names[row.Event]) {
					e.arguments = append(e.arguments, argument{names[row.Event][i], true, value.Value})
				}
			}
			r.events = append(r.events, e)
		}
		return nil
	})
	if err != nil {
		return recording{}, err
	}
	err = trace.Scan(ctx, dataset, "publish", func(rows []publishKind) error {
		for _, row := range rows {
			if row.Kind == trace.PublishSerialized || row.Kind == trace.PublishLoaned {
				r.otherForms++
			}
		}
		return nil
	})
	return r, err
}

// publishKind is the one column that is needed of the table publish.
type publishKind struct {
	Kind trace.PublishKind `column:"kind,null"`
}

// argumentNames are the names of each event's arguments, without remarks.
func argumentNames() map[string][]string {
	names := map[string][]string{}
	for _, entry := range probes.Catalogue() {
		for _, name := range entry.Arguments {
			name, _, _ = strings.Cut(name, " ")
			names[entry.Name] = append(names[entry.Name], name)
		}
	}
	return names
}
