package loader

import (
	"errors"
	"fmt"
	"sync"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
)

// recordedProcesses is the kernel's set of processes to record. A process is in it while the caller listed it or an
// attachment relies on it.
type recordedProcesses struct {
	mutex   sync.Mutex
	set     *ebpf.Map
	listed  map[int32]bool
	holders map[int32]int
	// withheld are kept out of the set, whoever needs them there; if true, but for their entities.
	withheld map[int32]bool
}

func newRecordedProcesses(set *ebpf.Map) *recordedProcesses {
	return &recordedProcesses{set: set, listed: make(map[int32]bool), holders: make(map[int32]int), withheld: make(map[int32]bool)}
}

func (p *recordedProcesses) list(process int32) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if err := p.put(process); err != nil {
		return err
	}
	p.listed[process] = true
	return nil
}

// unlist leaves a process on the list that began at another time: the kernel has listed it since.
func (p *recordedProcesses) unlist(process int32, start int64) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	delete(p.listed, process)
	var listed uint64
	if start != 0 && p.set.Lookup(uint32(process), &listed) == nil && listed > abi.ListedForEntities && abi.StartOf(listed) != start {
		return nil
	}
	return p.removeUnused(process)
}

func (p *recordedProcesses) hold(process int32) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if err := p.put(process); err != nil {
		return err
	}
	p.holders[process]++
	return nil
}

func (p *recordedProcesses) release(process int32) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.holders[process]--; p.holders[process] <= 0 {
		delete(p.holders, process)
	}
	return p.removeUnused(process)
}

// withhold takes a process out of the set, or keeps it there for its entities only, until it is admitted.
func (p *recordedProcesses) withhold(process int32, entities bool) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.withheld[process] = entities
	if entities {
		return nil // it is still to be listed
	}
	return p.remove(process)
}

// admit reports whether others are still withheld.
func (p *recordedProcesses) admit(process int32) (others bool, err error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	entities := p.withheld[process]
	delete(p.withheld, process)
	others = len(p.withheld) > 0
	switch {
	case !p.listed[process] && p.holders[process] <= 0:
		return others, p.removeUnused(process)
	case !entities:
		return others, p.put(process)
	}
	err = p.set.Update(uint32(process), unknownStart, ebpf.UpdateExist)
	if errors.Is(err, ebpf.ErrKeyNotExist) {
		err = nil // it has ended
	}
	return others, err
}

// unknownStart stands for when a process began.
const unknownStart = uint64(0)

func (p *recordedProcesses) put(process int32) error {
	value := unknownStart
	if entities, withheld := p.withheld[process]; withheld && !entities {
		return nil
	} else if withheld {
		value = abi.ListedForEntities
	}
	err := p.set.Update(uint32(process), value, ebpf.UpdateNoExist)
	if errors.Is(err, ebpf.ErrKeyExist) {
		return nil // the kernel has listed it, and knows when it began
	}
	if errors.Is(err, unix.E2BIG) {
		return fmt.Errorf("recording PID %d: the kernel's set of %d processes is full", process, p.set.MaxEntries())
	}
	if err != nil {
		return fmt.Errorf("recording PID %d: %w", process, err)
	}
	return nil
}

// removeUnused removes the process unless somebody needs it. The kernel removes processes itself when they exit.
func (p *recordedProcesses) removeUnused(process int32) error {
	if p.listed[process] || p.holders[process] > 0 {
		return nil
	}
	return p.remove(process)
}

func (p *recordedProcesses) remove(process int32) error {
	if err := p.set.Delete(uint32(process)); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return fmt.Errorf("no longer recording PID %d: %w", process, err)
	}
	return nil
}
