package session

import (
	"context"

	"github.com/caret-bpf/caret-bpf/trigger"
	"github.com/caret-bpf/caret-bpf/writer"
)

// rowsOf passes rows on to a writer; nobody waits for any.
func rowsOf(w *writer.Writer) *rows {
	return &rows{w, newTriggers(nil, func(context.Context, trigger.Firing) (string, int) { return "", 0 }, newJournal(Observer{})), nil}
}
