package attachguard

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// suspects are the connections for which a process keeps its map as likely as not, and which are to be ended now. Those
// of its own user come first. The kernel does not show for which one a process waits, and anybody can map a file of
// another user's healthy file system, and have it asked for something all the time.
func (w *watch) suspects(h holder, connections connections, waiters []waiter) []connection {
	var mapped, mounted, others []connection
	for id := range w.asked {
		c, ok := connections.get(id)
		if !ok || !c.mayBeEnded() {
			continue
		}
		switch isOwn := c.owner == h.user || w.accounts.of(c.owner) == h.account; {
		case isOwn && h.devices[c.device]:
			mapped = append(mapped, c)
		case isOwn:
			mounted = append(mounted, c)
		case h.devices[c.device]:
			others = append(others, c)
		}
	}
	hangs := func(c connection) bool { return !w.hanging[c.id].IsZero() }
	if len(others) > 0 { // by way of an overlay, it may be one of its own all the same
		mounted = slices.DeleteFunc(mounted, func(c connection) bool { return !hangs(c) })
	}
	hangsOwn := slices.ContainsFunc(mapped, hangs) || slices.ContainsFunc(mounted, hangs)
	own := w.overdue(h, mapped)
	if len(own) == 0 {
		own = w.overdue(h, mounted)
	}
	switch {
	case len(own) == 0 && !hangsOwn:
		return w.overdueOthers(h, others, waiters)
	case slices.ContainsFunc(waiters, func(w waiter) bool { return w.mayBeOf(h) }):
		return own
	}
	return nil
}

// overdue are the connections of a process's own user that have held up the recorder long enough, themselves or by the
// process, or are of somebody who has done so before.
func (w *watch) overdue(h holder, own []connection) []connection {
	return slices.DeleteFunc(own, func(c connection) bool {
		// Who answers each time before long, by an error say, keeps the map as well.
		held := w.lasts(w.longest()) && (w.lasts(w.asked[c.id]) || w.lasts(w.keeping[h.pid]))
		return !held && !w.ended[w.accounts.of(c.owner)]
	})
}

// overdueOthers are the connections of other users that are ended next: only if the process goes on keeping its map
// after its own user's were ended, one and the same request of a thread that keeps the map hangs all the time, and so
// does one of the connection. There may be many of whom that is true. So first one user's are ended, and as long as
// that does not help those of twice as many.
func (w *watch) overdueOthers(h holder, others []connection, waiters []waiter) []connection {
	if w.now.Sub(w.tried[h.pid].at) < lookInterval {
		return nil // who is let go may not have had a processor yet
	}
	var since time.Time // when the longest of the waits began
	for _, waiter := range waiters {
		if began := w.waits[waiter.wait]; waiter.mayHold(h) && (since.IsZero() || began.Before(since)) {
			since = began
		}
	}
	byAccount := map[uint32][]connection{}
	for _, c := range others {
		account, hangs := w.accounts.of(c.owner), w.hanging[c.id]
		again := w.ended[account] && since.Before(w.now) && hangs.Before(w.now)
		if !since.IsZero() && !hangs.IsZero() && (again || w.lasts(since) && w.lasts(hangs)) {
			byAccount[account] = append(byAccount[account], c)
		}
	}
	suspected := slices.SortedFunc(maps.Keys(byAccount), func(a, b uint32) int {
		return cmp.Or(w.hangingSince(byAccount[a]).Compare(w.hangingSince(byAccount[b])), cmp.Compare(a, b))
	})
	slices.SortStableFunc(suspected, func(a, b uint32) int { return cmp.Compare(w.rank(a), w.rank(b)) })
	var next []connection
	for _, account := range suspected[:min(len(suspected), 1<<min(w.tried[h.pid].rounds, maxRounds))] {
		next = append(next, byAccount[account]...)
	}
	return next
}

// hangingSince is since when the first of some connections has had requests all the time.
func (w *watch) hangingSince(connections []connection) time.Time {
	first := slices.MinFunc(connections, func(a, b connection) int { return w.hanging[a.id].Compare(w.hanging[b.id]) })
	return w.hanging[first.id]
}

// rank puts whoever was to blame before all others.
func (w *watch) rank(account uint32) int {
	if w.ended[account] {
		return 0
	}
	return 1
}

// maxRounds keeps a shift in bounds.
const maxRounds = 30
