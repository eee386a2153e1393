package target

import (
	"context"
	"sync/atomic"

	"github.com/caret-bpf/caret-bpf/quota"
)

// meter ends the work on a file when a context ends, or who pays for it has used his share.
type meter struct {
	ctx     context.Context
	account *quota.Account
	// refused is the error by which something was refused, nil if nothing was: what the file was asked for then is not
	// what it says.
	refused atomic.Pointer[error]
}

func newMeter(ctx context.Context) *meter { return &meter{ctx: ctx, account: quota.From(ctx)} }

// Examine is asked before so many bytes are read or walked through.
func (m *meter) Examine(bytes int) error { return m.ask(quota.Work, bytes) }

// Keep is asked before so many bytes of memory are taken.
func (m *meter) Keep(bytes int) error { return m.ask(quota.Memory, bytes) }

// Release takes back what was kept.
func (m *meter) Release(bytes int) { m.account.Give(quota.Memory, int64(bytes)) }

func (m *meter) ask(kind quota.Kind, bytes int) error {
	err := m.ctx.Err()
	if err == nil {
		err = m.account.Take(kind, int64(bytes))
	}
	if err != nil {
		m.refused.Store(&err)
	}
	return err
}

// refusal is the last error by which something was refused.
func (m *meter) refusal() error {
	if err := m.refused.Load(); err != nil {
		return *err
	}
	return nil
}
