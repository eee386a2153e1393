package ctf

import (
	"bufio"
	"cmp"
	"container/heap"
	"context"
	"encoding/binary"
	"io"
	"os"
	"slices"
)

// defaultSortBytes is how much is sorted in memory.
const defaultSortBytes = 32 << 20

// usualEventBytes is the size of the shortest event of what ran.
const usualEventBytes = 43

// runBytes is how much of a run is written at once, and read unless that were more than readBytes of all runs together.
const (
	runBytes      = 256 << 10
	leastRunBytes = 4 << 10
	readBytes     = 16 << 20
)

// sorter brings events into the order of time, those of one time into the order in which they were added. Datasets have
// what happened in the order in which it ended. What is more than fits in memory becomes sorted runs in a file.
type sorter struct {
	folder *folder
	limit  int
	arena  []byte
	events []sortedEvent
	file   *os.File
	size   int64
	runs   []*run
}

// sortedEvent is an event in the arena.
type sortedEvent struct {
	at         int64
	from, size uint32
	cpu        int32
}

// in returns the event's bytes.
func (e *sortedEvent) in(arena []byte) []byte { return arena[e.from : e.from+e.size] }

func newSorter(folder *folder, limit int) *sorter {
	if limit == 0 {
		limit = defaultSortBytes
	}
	return &sorter{folder: folder, limit: limit}
}

// close gives back the file.
func (s *sorter) close() {
	if s.file != nil {
		_ = s.file.Close()
	}
}

// add adds a copy of an event.
func (s *sorter) add(at int64, cpu int32, event []byte) error {
	if s.arena == nil { // all at once: growing would copy it again and again
		s.arena = make([]byte, 0, s.limit+runBytes)
		s.events = make([]sortedEvent, 0, s.limit/usualEventBytes)
	}
	s.events = append(s.events, sortedEvent{at: at, from: uint32(len(s.arena)), size: uint32(len(event)), cpu: cpu})
	s.arena = append(s.arena, event...)
	if len(s.arena) < s.limit {
		return nil
	}
	return s.spill()
}

func (s *sorter) sort() {
	slices.SortFunc(s.events, func(a, b sortedEvent) int {
		if a.at != b.at {
			return cmp.Compare(a.at, b.at)
		}
		return cmp.Compare(a.from, b.from)
	})
}

// spill makes a run of what is in memory.
func (s *sorter) spill() (err error) {
	if s.file == nil {
		if s.file, err = s.folder.nameless(); err != nil {
			return err
		}
	}
	s.sort()
	began := s.size
	out := bufio.NewWriterSize(s.file, runBytes)
	var header [16]byte
	for i := range s.events {
		e := &s.events[i]
		binary.LittleEndian.PutUint64(header[:], uint64(e.at))
		binary.LittleEndian.PutUint32(header[8:], uint32(e.cpu))
		binary.LittleEndian.PutUint32(header[12:], e.size)
		_, _ = out.Write(header[:])
		_, _ = out.Write(e.in(s.arena))
		s.size += int64(len(header)) + int64(e.size)
	}
	s.runs = append(s.runs, &run{number: len(s.runs), in: io.NewSectionReader(s.file, began, s.size-began)})
	s.arena, s.events = s.arena[:0], s.events[:0]
	return unwritable(out.Flush())
}

// each passes on all events in their order.
func (s *sorter) each(ctx context.Context, pass func(at int64, cpu int32, event []byte) error) error {
	if len(s.runs) == 0 {
		s.sort()
		for i := range s.events {
			e := &s.events[i]
			if err := pass(e.at, e.cpu, e.in(s.arena)); err != nil {
				return err
			}
		}
		return ctx.Err()
	}
	if err := s.spill(); err != nil {
		return err
	}
	s.arena, s.events = nil, nil
	open := make(runs, 0, len(s.runs))
	atOnce := max(leastRunBytes, min(runBytes, readBytes/len(s.runs)))
	for _, r := range s.runs {
		r.from = bufio.NewReaderSize(r.in, atOnce)
		more, err := r.next()
		if err != nil {
			return err
		}
		if more {
			open = append(open, r)
		}
	}
	heap.Init(&open)
	for n := 0; len(open) > 0; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		r := open[0]
		if err := pass(r.at, r.cpu, r.event); err != nil {
			return err
		}
		more, err := r.next()
		if err != nil {
			return err
		}
		if more {
			heap.Fix(&open, 0)
		} else {
			heap.Pop(&open)
		}
	}
	return nil
}

// run is a run that is read: its next event.
type run struct {
	number int
	in     *io.SectionReader
	from   *bufio.Reader
	at     int64
	cpu    int32
	event  []byte
}

// next reads the next event; there may be none.
func (r *run) next() (more bool, err error) {
	var header [16]byte
	if _, err := io.ReadFull(r.from, header[:]); err != nil {
		if err == io.EOF {
			return false, nil
		}
		return false, err
	}
	r.at = int64(binary.LittleEndian.Uint64(header[:]))
	r.cpu = int32(binary.LittleEndian.Uint32(header[8:]))
	r.event = slices.Grow(r.event[:0], int(binary.LittleEndian.Uint32(header[12:])))[:binary.LittleEndian.Uint32(header[12:])]
	_, err = io.ReadFull(r.from, r.event)
	return true, err
}

// runs is a heap of them.
type runs []*run

func (r runs) Len() int { return len(r) }
func (r runs) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(r[i].at, r[j].at), cmp.Compare(r[i].number, r[j].number)) < 0
}
func (r runs) Swap(i, j int) { r[i], r[j] = r[j], r[i] }
func (r *runs) Push(x any)   { *r = append(*r, x.(*run)) }
func (r *runs) Pop() any {
	last := (*r)[len(*r)-1]
	*r = (*r)[:len(*r)-1]
	return last
}
