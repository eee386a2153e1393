package target

import (
	"context"
	"fmt"
	"time"

	"github.com/caret-bpf/caret-bpf/quota"
)

const (
	// delegatePatience is how long one delegate is waited for, all its answers together. Reading hundreds of files from a
	// slow disk of a busy machine takes seconds.
	delegatePatience = 30 * time.Second
	// maxDelegates bounds the threads of one user that hang. All others together may have as many.
	maxDelegates = 64
)

var (
	// errUnanswered: a file system of somebody's making, or one of another machine, did not answer.
	errUnanswered = fmt.Errorf("%w: not answered within %v", ErrNotRead, delegatePatience)
	// errDelegatesHang: too many of them did not.
	errDelegatesHang = fmt.Errorf("%w: file systems do not answer", ErrNotRead)
)

// delegate reads the files that a process names: on a thread of its own with the process's identity, so that the
// process learns nothing that it could not read itself, and nobody waits for ever. The thread is thrown away in the
// end, never used for anything else.
type delegate struct {
	ctx      context.Context // when it ends, nobody waits for answers any more
	end      context.CancelFunc
	account  *quota.Account
	root     rootDirectory
	tasks    chan func()
	patience time.Duration // that is left
}

// isOver says that nobody waits for an answer any more.
func (d *delegate) isOver() bool { return d.ctx.Err() != nil }

// newDelegate starts a delegate for the process as it is now, whose user pays. It must be closed.
func (p *Process) newDelegate(ctx context.Context) (*delegate, error) {
	user, err := p.fileIdentity()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(p.PaidBy(ctx))
	root, err := p.openRoot(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	giveUp := func() {
		cancel()
		root.close()
	}
	// If the process was replaced meanwhile, by a program with other rights say, identity and root may not belong
	// together.
	if err := p.checkReplaced(ctx); err != nil {
		giveUp()
		return nil, err
	}
	account := p.account
	if err := account.Take(quota.Waiting, 1); err != nil {
		giveUp()
		return nil, fmt.Errorf("%w: %w", ErrNotRead, err)
	}
	if err := account.Take(quota.Delegates, 1); err != nil {
		giveUp()
		return nil, fmt.Errorf("%w: %w", errDelegatesHang, err)
	}
	d := &delegate{ctx: ctx, end: cancel, account: account, root: root, tasks: make(chan func()), patience: delegatePatience}
	end := func() {
		giveUp()
		account.Give(quota.Delegates, 1)
	}
	err = user.Go(func() {
		defer end()
		for task := range d.tasks {
			task()
		}
	})
	if err != nil {
		end()
		return nil, fmt.Errorf("%w: %w", ErrNotRead, err)
	}
	return d, nil
}

// close lets the thread end, as soon as it can.
func (d *delegate) close() {
	d.end()
	close(d.tasks)
}

// ask has a delegate answer a question about files below the root directory of its process. errUnanswered if it does
// not in time: then it will not answer any more.
func ask[T any](d *delegate, question func(root rootDirectory) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answered := make(chan answer, 1) // what comes too late is left to the garbage collector, which closes files
	begin := time.Now()
	timeout := time.NewTimer(d.patience)
	defer timeout.Stop()
	defer func() {
		took := time.Since(begin)
		d.patience -= took
		d.account.Spend(quota.Waiting, took.Milliseconds())
	}()
	tasks := d.tasks
	task := func() {
		value, err := question(d.root)
		answered <- answer{value, err}
	}
	for {
		select {
		case tasks <- task:
			tasks = nil
		case a := <-answered:
			return a.value, a.err
		case <-d.ctx.Done():
			var none T
			return none, d.ctx.Err()
		case <-timeout.C:
			var none T
			return none, errUnanswered
		}
	}
}
