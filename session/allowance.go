package session

import "time"

// allowancePeriod is what an allowance is for.
const allowancePeriod = time.Second

// allowance is a time that each user may take in a period. It is used with the merger locked.
type allowance struct {
	began time.Time
	spent map[uint32]time.Duration // what no period has made up for yet
}

// has reports whether a user has any left of the time that each may take.
func (a *allowance) has(user uint32, each time.Duration, now time.Time) bool {
	if a.spent == nil {
		a.began, a.spent = now, map[uint32]time.Duration{}
	}
	if periods := now.Sub(a.began) / allowancePeriod; periods > 0 {
		a.began = a.began.Add(periods * allowancePeriod)
		for user, spent := range a.spent {
			if spent = spent - periods*each; spent > 0 {
				a.spent[user] = spent
			} else {
				delete(a.spent, user)
			}
		}
	}
	return a.spent[user] < each
}

func (a *allowance) spend(user uint32, took time.Duration) { a.spent[user] += took }
