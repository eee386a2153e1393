package writer

import (
	"sync"

	"github.com/caret-bpf/caret-bpf/columnar"
	"github.com/caret-bpf/caret-bpf/trace"
)

// tables are those of a Writer that have got rows. Each is made when its first rows come: the list of tables is the
// registry of package trace.
type tables struct {
	queue       chan<- task
	dir         *directory
	limits      limits
	now         func() int64
	compressors *columnar.Compressors

	mu      sync.Mutex
	byPlace []*table // in the registry's order; guarded by mu
}

func newTables(queue chan<- task, dir *directory, limits limits, now func() int64) *tables {
	return &tables{
		queue: queue, dir: dir, limits: limits, now: now, compressors: columnar.NewCompressors(), byPlace: make([]*table, len(trace.Registry())),
	}
}

// at returns the table at a place in the registry.
func (s *tables) at(place int) *table {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byPlace[place] == nil {
		s.byPlace[place] = newTable(trace.Registry()[place], s)
	}
	return s.byPlace[place]
}

// all returns those that have got rows so far, in the registry's order.
func (s *tables) all() (all []*table) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.byPlace {
		if t != nil {
			all = append(all, t)
		}
	}
	return all
}

// entityBytes is the size of the tables of entities and processes.
func (s *tables) entityBytes() (bytes int64) {
	for _, t := range s.all() {
		if t.segments.table.HasEntities() {
			bytes += t.bytes()
		}
	}
	return bytes
}

// counts returns a number of rows of each table, 0 for those that have got none.
func (s *tables) counts(number func(*table) uint64) map[string]uint64 {
	rows := make(map[string]uint64, len(s.byPlace))
	for _, of := range trace.Registry() {
		rows[of.Name] = 0
	}
	for _, t := range s.all() {
		rows[t.name()] = number(t)
	}
	return rows
}
