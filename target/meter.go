package target

import (
	"context"

	"github.com/caret-bpf/caret-bpf/quota"
)

// meter ends the work on a file when a context ends, or who pays for it has used his share.
type meter struct {
	ctx     context.Context
	account *quota.Account
}

func newMeter(ctx context.Context) *meter { return &meter{ctx: ctx, account: quota.From(ctx)} }

// Examine is asked before so many bytes are read or walked through.
func (m *meter) Examine(bytes int) error { return m.ask(quota.Work, bytes) }

// Keep is asked before so many bytes of memory are taken.
func (m *meter) Keep(bytes int) error { return m.ask(quota.Memory, bytes) }

// Release takes back what was kept.
func (m *meter) Release(bytes int) { m.account.Discard(int64(bytes)) }

func (m *meter) ask(kind quota.Kind, bytes int) error {
	if err := m.ctx.Err(); err != nil {
		return err
	}
	return m.account.Take(kind, int64(bytes))
}
