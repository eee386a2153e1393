package session

import (
	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/quota"
)

// probesOf is what the probes of a single process take of its user's share.
type probesOf struct {
	account *quota.Account
	count   int64
}

// give takes back what was used, once.
func (p *probesOf) give() {
	p.account.Give(quota.Probes, p.count)
	p.count = 0
}

// Close detaches the sites.
func (a unitAttachment) Close() error {
	a.probes.give()
	return a.Attachment.Close()
}

// detachLater has the probes of a process that has ended detached with those of others: waiting for the kernel takes about as long for a thousand
// as for one. Left, each would make the hits of its site dearer in all processes.
func (s *Session) detachLater(entry *process) {
	s.ended = append(s.ended, entry.attachments...)
	entry.attachments = nil
	for _, of := range entry.leavable() {
		s.ended = append(s.ended, of.attachments...)
		of.attachments = nil
	}
}

// detachEnded detaches what was left of processes that have ended.
func (s *Session) detachEnded() {
	if len(s.ended) == 0 {
		return
	}
	attachments := make([]*loader.Attachment, 0, len(s.ended))
	for _, attachment := range s.ended {
		attachment.probes.give()
		attachments = append(attachments, attachment.Attachment)
	}
	s.ended = nil
	s.warn(s.loader.CloseEach(attachments))
}
