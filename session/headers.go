package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/caret-bpf/caret-bpf/entities"
	"github.com/caret-bpf/caret-bpf/quota"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
)

// headerQuestion asks where the messages of a publisher or a subscription have their std_msgs/Header.
type headerQuestion struct {
	process trace.ProcessKey
	entities.KnownType
}

// onMessageType notes that the type of an entity's messages has become known. It is called with the merger locked, so
// the files that define the type are read later.
func (s *Session) onMessageType(process trace.ProcessKey, known entities.KnownType) {
	s.mu.Lock()
	s.headerQuestions = append(s.headerQuestions, headerQuestion{process, known})
	s.mu.Unlock()
	select {
	case s.headersAsked <- struct{}{}:
	default: // somebody has asked already
	}
}

// forgetHeaders forgets where the messages of a process that is over have their headers.
func (s *Session) forgetHeaders(entry *process) {
	for _, address := range entry.headers {
		s.journal.warn(s.loader.ForgetHeaderOffset(entry.row.PID, address))
	}
	entry.headers = nil
}

// answerHeaderQuestions tells the kernel side where messages have their headers.
func (s *Session) answerHeaderQuestions(ctx context.Context) {
	s.mu.Lock()
	questions := s.headerQuestions
	s.headerQuestions = nil
	s.mu.Unlock()
	for _, question := range questions {
		entry := s.processes.find(question.process.PID)
		if entry == nil || entry.target == nil || entry.row.ProcessKey != question.process {
			continue // it has ended
		}
		address := uint64(question.Address)
		offset, ok, err := entry.target.HeaderOffset(ctx, question.MessageType)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !errors.Is(err, target.ErrNoProcess):
			s.journal.noteUnstamped(question.process.PID, question.MessageType, err)
			if errors.Is(err, target.ErrNotRead) || errors.Is(err, quota.ErrUsedUp) {
				s.journal.warn(fmt.Errorf("messages of type %s have no message_timestamp: %w", question.MessageType, err))
			}
		case ok:
			if err := s.loader.SetHeaderOffset(question.process.PID, address, uint32(offset), question.Adapted); err != nil {
				s.journal.warn(errors.New("some messages have no message_timestamp: the kernel side cannot hold so many publishers and subscriptions"))
				continue
			}
			entry.headers = append(entry.headers, address)
		default: // the address may have belonged to an entity with another type
			s.journal.warn(s.loader.ForgetHeaderOffset(question.process.PID, address))
		}
	}
}
