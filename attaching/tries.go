package attaching

import "time"

// maxPause bounds the time between two attempts.
const maxPause = 5 * time.Minute

// tries are attempts at something that may stay impossible, say because a user has no room. After each in vain the time
// until the next one doubles.
type tries struct {
	pause time.Duration
	next  time.Time
}

// isDue reports whether it may be tried again.
func (t *tries) isDue(now time.Time) bool { return !now.Before(t.next) }

// fail notes an attempt in vain. The time until the second one is first.
func (t *tries) fail(now time.Time, first time.Duration) {
	t.pause = min(max(2*t.pause, first), maxPause)
	t.next = now.Add(t.pause)
}

// succeed has the next attempt be the first one.
func (t *tries) succeed() { *t = tries{} }
