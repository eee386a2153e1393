package session

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/caret-bpf/caret-bpf/entities"
	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/quota"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
)

// headerQuestion asks where the messages of a publisher or a subscription have their std_msgs/Header.
type headerQuestion struct {
	process trace.ProcessKey
	entities.KnownType
}

// headers answers where messages have their headers: the merger asks, and the session's own goroutine reads the files
// that define the types.
type headers struct {
	// Set once.
	loader    *loader.Loader
	quota     *quota.Quota
	processes *processes
	journal   *journal
	asked     chan struct{} // has an element while there are questions

	mu        sync.Mutex // guards what follows; it is locked last, also with the merger locked
	questions []headerQuestion
}

func newHeaders(l *loader.Loader, q *quota.Quota, processes *processes, journal *journal) *headers {
	return &headers{loader: l, quota: q, processes: processes, journal: journal, asked: make(chan struct{}, 1)}
}

// ask notes that the type of an entity's messages has become known. It is called with the merger locked, so
// the files that define the type are read later.
func (h *headers) ask(process trace.ProcessKey, known entities.KnownType) {
	h.mu.Lock()
	h.questions = append(h.questions, headerQuestion{process, known})
	h.mu.Unlock()
	select {
	case h.asked <- struct{}{}:
	default: // somebody has asked already
	}
}

// forget forgets where the messages of a process that is over have their headers.
func (h *headers) forget(entry *process) {
	for address := range entry.headers {
		h.forgetOne(entry, address)
	}
}

// forgetOne leaves what the kernel side knows of another process that has the PID by now.
func (h *headers) forgetOne(entry *process, address uint64) {
	if holder := h.processes.find(entry.row.PID); holder == nil || holder == entry {
		h.journal.warn(h.loader.ForgetHeaderOffset(entry.row.PID, address))
	}
	if entry.headers[address] {
		delete(entry.headers, address)
		h.quota.Of(entry.payer).Give(quota.Headers, 1)
	}
}

// set tells the kernel side where the messages of an entity have their header.
func (h *headers) set(entry *process, address uint64, offset uint32, adapted bool) error {
	if !entry.headers[address] {
		if err := h.quota.Of(entry.payer).Take(quota.Headers, 1); err != nil {
			return fmt.Errorf("some messages have no message_timestamp: %w", err)
		}
		if entry.headers == nil {
			entry.headers = map[uint64]bool{}
		}
		entry.headers[address] = true
	}
	if err := h.loader.SetHeaderOffset(entry.row.PID, address, offset, adapted); err != nil {
		h.forgetOne(entry, address)
		return fmt.Errorf("some messages have no message_timestamp: %w", err)
	}
	return nil
}

// answer tells the kernel side where messages have their headers.
func (h *headers) answer(ctx context.Context) {
	h.mu.Lock()
	questions := h.questions
	h.questions = nil
	h.mu.Unlock()
	for _, question := range questions {
		entry := h.processes.find(question.process.PID)
		if entry == nil || entry.target == nil || entry.row.ProcessKey != question.process {
			continue // it has ended
		}
		address := uint64(question.Address)
		offset, ok, err := entry.target.HeaderOffset(ctx, question.MessageType)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !errors.Is(err, target.ErrNoProcess):
			h.journal.noteUnstamped(question.process.PID, question.MessageType, err)
			if errors.Is(err, target.ErrNotRead) || errors.Is(err, quota.ErrUsedUp) {
				h.journal.warn(fmt.Errorf("messages of type %s have no message_timestamp: %w", question.MessageType, err))
			}
		case ok:
			h.journal.warn(h.set(entry, address, uint32(offset), question.Adapted))
		default: // the address may have belonged to an entity with another type
			h.forgetOne(entry, address)
		}
	}
}
