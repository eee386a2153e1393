package trace

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/caret-bpf/caret-bpf/columnar"
)

// maxGroupMemory bounds what is kept of the row groups of a dataset, in bytes. Of one with 25 columns it is 1.5 KB with
// its segment: six tables that get a segment every 15 seconds each fill it in six weeks.
const maxGroupMemory = 2 << 30

// ErrTooManyGroups says that a dataset has more row groups than are kept.
var ErrTooManyGroups = fmt.Errorf("what is kept of the row groups of a dataset would take more than %d MiB", maxGroupMemory>>20)

// keptGroups is how much memory the row groups of each table take that Groups has returned last. Questions keep those
// of several tables.
type keptGroups struct {
	mu      sync.Mutex
	byTable map[string]int64
	limit   int64 // 0: maxGroupMemory
}

// room returns how many bytes are left for a table.
func (k *keptGroups) room(table string) int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	room := int64(maxGroupMemory)
	if k.limit != 0 {
		room = k.limit
	}
	for other, bytes := range k.byTable {
		if other != table {
			room -= bytes
		}
	}
	return max(room, 0)
}

func (k *keptGroups) set(table string, bytes int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byTable == nil {
		k.byTable = make(map[string]int64)
	}
	k.byTable[table] = bytes
}

// memory is what is kept of a segment with its row groups, in bytes; of its columns only where they are its own.
func (s *keptSegment) memory(own bool) int64 {
	bytes := int(unsafe.Sizeof(*s)) + len(s.path) + s.Memory() + len(s.Groups)*int(unsafe.Sizeof(Group{})+unsafe.Sizeof(&Group{}))
	if own {
		for i := range s.Leaves {
			bytes += int(unsafe.Sizeof(columnar.Leaf{})) + len(s.Leaves[i].Name)
		}
	}
	return int64(bytes)
}
