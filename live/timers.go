package live

import (
	"sync"

	"github.com/caret-bpf/caret-bpf/trace"
)

// Timers are when timers were made, as far as that was recorded. It is told once of each, so that they are kept from
// the begin of a recording on. The zero Timers knows none. Its methods may be called by several goroutines.
type Timers struct {
	mu   sync.Mutex
	made map[timerKey]int64
}

type timerKey place

// Look keeps what rows tell of timers.
func (t *Timers) Look(b *trace.Batch) {
	if len(b.Timers) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.made == nil {
		t.made = map[timerKey]int64{}
	}
	for i := range b.Timers {
		row := &b.Timers[i]
		if row.InitTimestamp.Valid && len(t.made) < maxNames {
			t.made[timerKey(placeOf(&row.ProcessKey, row.Callback))] = row.InitTimestamp.Value
		}
	}
}

// origin is when a timer was made that started at an instant; null if that is not known.
func (t *Timers) origin(of place, start int64) trace.Optional[int64] {
	t.mu.Lock()
	defer t.mu.Unlock()
	made, known := t.made[timerKey(of)]
	return trace.Optional[int64]{Value: made, Valid: known && made <= start}
}
