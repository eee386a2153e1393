package live

import (
	"sync"

	"github.com/caret-bpf/caret-bpf/trace"
)

// maxTimers bounds how many timers are kept.
const maxTimers = 1 << 16

// Timers are when timers were made, as far as that was recorded. It is told once of each, so that they are kept from
// the begin of a recording on, as long as their processes run. The zero Timers knows none. Its methods may be called by
// several goroutines.
type Timers struct {
	mu    sync.Mutex
	made  map[owner]map[trace.Address]int64
	count int
}

// owner is the process that an entity is in.
type owner struct {
	pid   int32
	start int64
}

func ownerOf(key *trace.ProcessKey) owner { return owner{key.PID, key.ProcessStart} }

// Look keeps what rows tell of timers.
func (t *Timers) Look(b *trace.Batch) {
	if len(b.Timers) == 0 && len(b.Processes) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range b.Timers {
		t.keep(&b.Timers[i])
	}
	for i := range b.Processes {
		if row := &b.Processes[i]; row.Exited {
			of := ownerOf(&row.ProcessKey)
			t.count -= len(t.made[of])
			delete(t.made, of)
		}
	}
}

func (t *Timers) keep(row *trace.Timer) {
	if !row.InitTimestamp.Valid {
		return
	}
	of := ownerOf(&row.ProcessKey)
	if _, known := t.made[of][row.Callback]; !known {
		if t.count >= maxTimers {
			return
		}
		t.count++
	}
	if t.made == nil {
		t.made = map[owner]map[trace.Address]int64{}
	}
	if t.made[of] == nil {
		t.made[of] = map[trace.Address]int64{}
	}
	t.made[of][row.Callback] = row.InitTimestamp.Value
}

// origin is when a timer was made that started at an instant; null if that is not known.
func (t *Timers) origin(of place, start int64) trace.Optional[int64] {
	t.mu.Lock()
	defer t.mu.Unlock()
	made, known := t.made[of.owner][of.address]
	return trace.Optional[int64]{Value: made, Valid: known && made <= start}
}
