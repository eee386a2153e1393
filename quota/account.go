package quota

import "context"

// Account is by which a user's processes use the quota. A nil one is not bounded: it is of the program itself.
type Account struct {
	quota *Quota
	user  uint32
}

// User is whose account it is; root for that of the program itself.
func (a *Account) User() uint32 {
	if a == nil {
		return 0
	}
	return a.user
}

// Take uses an amount, or returns ErrUsedUp.
func (a *Account) Take(kind Kind, amount int64) error {
	if a == nil {
		return nil
	}
	return a.quota.take(a.user, kind, amount)
}

// Spend uses an amount that nobody could know before. Who has spent his share is refused by Take.
func (a *Account) Spend(kind Kind, amount int64) {
	if a != nil {
		a.quota.spend(a.user, kind, amount)
	}
}

// Give takes back what was used.
func (a *Account) Give(kind Kind, amount int64) {
	if a != nil {
		a.quota.give(a.user, kind, amount)
	}
}

// Discard takes back memory that is no longer kept. It counts as used until it is collected: what one user's files
// leave behind is as much of the machine as what they take.
func (a *Account) Discard(bytes int64) {
	if a != nil {
		a.quota.discard(a.user, bytes)
	}
}

// WhenShort has letGo called, until stop is, before the user is refused memory. It discards what need not be kept, and
// waits for nobody who may be asking for memory.
func (a *Account) WhenShort(letGo func()) (stop func()) {
	if a == nil {
		return func() {}
	}
	s := &spare{a.user, letGo}
	a.quota.mutex.Lock()
	defer a.quota.mutex.Unlock()
	a.quota.spares[s] = struct{}{}
	return func() {
		a.quota.mutex.Lock()
		defer a.quota.mutex.Unlock()
		delete(a.quota.spares, s)
	}
}

type contextKey struct{}

// With returns a context for work that the account pays for.
func (a *Account) With(ctx context.Context) context.Context {
	return context.WithValue(ctx, contextKey{}, a)
}

// From returns the account that pays for the work of a context, nil if none does.
func From(ctx context.Context) *Account {
	account, _ := ctx.Value(contextKey{}).(*Account)
	return account
}
