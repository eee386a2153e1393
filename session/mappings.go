package session

import (
	"time"

	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/target"
)

// maxMappings bounds what is kept of mappings: of one process, and of all.
const (
	maxMappings    = 4096
	maxAllMappings = 1 << 18
)

// mappingMemory is how long mappings are kept: until then the process was looked at.
const mappingMemory = time.Minute

// mappings are where and when processes have mapped files executable, as the kernel has told while the recording was
// open. Times are CLOCK_MONOTONIC in nanoseconds.
type mappings struct {
	of    map[int32]*processMappings
	count int
	// told says that the kernel tells of mappings.
	told bool
	// lostAt is when it was last seen that mappings were not told, or that there was no room for one.
	lostAt int64
}

// processMappings are those of one process.
type processMappings struct {
	// begun is when the process began, 0 if that was before the recording or the kernel has not told.
	begun int64
	// replaced is when it began to run its present program, at when memory was first mapped at an address since then.
	replaced int64
	at       map[uint64]int64
}

func (m *mappings) process(pid int32) *processMappings {
	if m.of == nil {
		m.of = map[int32]*processMappings{}
	}
	p := m.of[pid]
	if p == nil {
		p = &processMappings{at: map[uint64]int64{}}
		m.of[pid] = p
	}
	return p
}

// begin notes that a process began.
func (m *mappings) begin(pid int32, at int64) {
	p := m.process(pid)
	p.begun = at
	m.drop(p, at)
}

// drop removes what was mapped before an instant, as by a former program.
func (m *mappings) drop(p *processMappings, until int64) {
	for address, at := range p.at {
		if at < until {
			delete(p.at, address)
			m.count--
		}
	}
}

// note notes what the kernel tells of a process. Each processor tells in its own order.
func (m *mappings) note(event loader.MappingEvent) {
	p := m.process(event.PID)
	if event.Length == 0 {
		p.replaced = max(p.replaced, event.TimeNs)
		m.drop(p, p.replaced)
		return
	}
	at, known := p.at[event.Address]
	switch {
	case event.TimeNs < p.replaced, known && at <= event.TimeNs:
		return
	case !known && (len(p.at) == maxMappings || m.count == maxAllMappings):
		m.lostAt = max(m.lostAt, event.TimeNs)
		return
	case !known:
		m.count++
	}
	p.at[event.Address] = event.TimeNs
}

// first is when a process first mapped a module. found is false if the kernel told of no such mapping: the process may
// have had it from its beginning.
func (m *mappings) first(pid int32, module target.Module) (first int64, found bool) {
	p := m.of[pid]
	if p == nil {
		return 0, false
	}
	for _, mapping := range module.Mappings {
		if !mapping.Executable() {
			continue
		}
		for address, at := range p.at {
			if address >= mapping.Start && address < mapping.End && (!found || at < first) {
				first, found = at, true
			}
		}
	}
	return first, found
}

// begun is when a process began, and when it began to run its present program; 0 if that was not told.
func (m *mappings) begun(pid int32) (begun, replaced int64) {
	if p := m.of[pid]; p != nil {
		return p.begun, p.replaced
	}
	return 0, 0
}

// forget frees what is known of a process.
func (m *mappings) forget(pid int32) {
	if p := m.of[pid]; p != nil {
		m.count -= len(p.at)
		delete(m.of, pid)
	}
}

// expire frees what is older than an instant, and processes that are not known by then.
func (m *mappings) expire(before int64, known func(pid int32) bool) {
	for pid, p := range m.of {
		m.drop(p, before)
		if len(p.at) == 0 && max(p.begun, p.replaced) < before && !known(pid) {
			delete(m.of, pid)
		}
	}
}
