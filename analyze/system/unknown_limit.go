package system

import (
	"fmt"
	"sync"
)

const (
	// maxUnknown bounds what is kept of rows that name what no entity table tells of: 1 KB of each until a question is
	// answered. A recorder that was killed leaves out entities of the last second, which are hundreds.
	maxUnknown = 3_000_000
	// maxUnknownText bounds their names in bytes.
	maxUnknownText = 1 << 30
)

// ErrTooManyUnknown says that rows name more than is kept in memory.
var ErrTooManyUnknown = fmt.Errorf("rows name more than %d callbacks, publishers, subscriptions and others that no table of entities has, or names of more than %d MiB: ask for a shorter part of the recording", maxUnknown, maxUnknownText>>20)

// UnknownLimit is how much may still be kept of what rows name. It is safe for concurrent use when it is in use.
type UnknownLimit struct {
	Entities int
	Text     int // of their names, in bytes

	mu       sync.Mutex
	exceeded bool
}

// NewUnknownLimit returns the limit of a question.
func NewUnknownLimit() *UnknownLimit {
	return &UnknownLimit{Entities: maxUnknown, Text: maxUnknownText}
}

// Keep tells that another one is kept, with so much text. Whoever reads rows asks Err after some of them.
func (l *UnknownLimit) Keep(text int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Entities--
	l.Text -= text
	l.exceeded = l.exceeded || l.Entities < 0 || l.Text < 0
}

// Err returns ErrTooManyUnknown when more is kept than may be.
func (l *UnknownLimit) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.exceeded {
		return ErrTooManyUnknown
	}
	return nil
}
