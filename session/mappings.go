package session

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"

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
	mu        sync.Mutex // guards what follows; it is locked after the processes
	ofProcess map[int32]*processMappings
	count     int
	// told says that the kernel tells of mappings.
	told bool
	// lostAt is when it was last seen that mappings were not told, or that there was no room for one.
	lostAt int64
	// lost is how many the kernel had no room for.
	lost uint64
}

// processMappings are those of one process.
type processMappings struct {
	// begun is when the process began, 0 if that was before the recording or the kernel has not told.
	begun int64
	// replaced is when it began to run its present program, at when memory was first mapped at an address since then.
	replaced int64
	at       map[uint64]int64
}

// begin notes that the kernel tells of mappings from now on.
func (m *mappings) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.told = true
}

// mayLack reports whether not all that was mapped since an instant may have been told.
func (m *mappings) mayLack(since int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.told || since < m.lostAt
}

// process returns what is known of a process. The mappings are locked.
func (m *mappings) process(pid int32) *processMappings {
	if m.ofProcess == nil {
		m.ofProcess = map[int32]*processMappings{}
	}
	p := m.ofProcess[pid]
	if p == nil {
		p = &processMappings{at: map[uint64]int64{}}
		m.ofProcess[pid] = p
	}
	return p
}

// beginProcess notes that a process began.
func (m *mappings) beginProcess(pid int32, at int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.process(pid)
	p.begun = at
	m.drop(p, at)
}

// drop removes what was mapped before an instant, as by a former program. The mappings are locked.
func (m *mappings) drop(p *processMappings, until int64) {
	for address, at := range p.at {
		if at < until {
			delete(p.at, address)
			m.count--
		}
	}
}

// read notes what the kernel has told by now of processes that are wanted, all at once: what is asked for meanwhile
// waits. complete says whether it has told of all processors.
func (m *mappings) read(watched *loader.Mappings, complete bool, wanted func(pid int32) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	watched.Read(func(event loader.MappingEvent) {
		if wanted(event.PID) {
			m.note(event)
		}
	})
	if lost := watched.Lost(); lost != m.lost || !complete {
		m.lost = lost
		m.lostAt = readClock(unix.CLOCK_MONOTONIC)
	}
}

// note notes what the kernel tells of a process. Each processor tells in its own order. The mappings are locked.
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

// mapped is what the kernel has told of a process and a module.
type mapped struct {
	// begun is when the process began, replaced when it began to run its present program; 0 if that was not told.
	begun, replaced int64
	// first is when it first mapped the module. found is false if the kernel told of no such mapping: the process may have
	// had it from its beginning.
	first int64
	found bool
	// lostAt is when something was last lost.
	lostAt int64
}

// of returns what is known of a process and a module.
func (m *mappings) of(pid int32, module target.Module) mapped {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.ofProcess[pid]
	if p == nil {
		return mapped{lostAt: m.lostAt}
	}
	told := mapped{begun: p.begun, replaced: p.replaced, lostAt: m.lostAt}
	told.first, told.found = p.first(module)
	return told
}

// first is when a process first mapped a module, if that was told.
func (p *processMappings) first(module target.Module) (first int64, found bool) {
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

// forget frees what is known of a process.
func (m *mappings) forget(pid int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.ofProcess[pid]; p != nil {
		m.count -= len(p.at)
		delete(m.ofProcess, pid)
	}
}

// expire frees what is older than an instant, and processes that are not known by then.
func (m *mappings) expire(before int64, known func(pid int32) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for pid, p := range m.ofProcess {
		m.drop(p, before)
		if len(p.at) == 0 && max(p.begun, p.replaced) < before && !known(pid) {
			delete(m.ofProcess, pid)
		}
	}
}
