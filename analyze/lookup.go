package analyze

import (
	"sync"

	"github.com/caret-bpf/caret-bpf/trace"
)

// lookup finds entities by address as livesAt does, and remembers what it found: rows repeat the same few addresses. It
// is not safe for concurrent use.
type lookup[E any] struct {
	lives     livesAt[E]
	processes processNumbers
	known     map[numberedPlace][]resident[E]
	recent    [64]foundPlace[E] // of known, by the address: hashing takes longer
}

type numberedPlace struct {
	process int32
	address trace.Address
}

type foundPlace[E any] struct {
	numberedPlace
	residents []resident[E]
}

func newLookup[E any](lives livesAt[E]) *lookup[E] {
	return &lookup[E]{lives: lives, known: make(map[numberedPlace][]resident[E])}
}

// find returns the entity whose life contains the time; the zero value where none does.
func (l *lookup[E]) find(process *trace.ProcessKey, address trace.Address, at int64) (found E) {
	if address == 0 {
		return found
	}
	residents := l.residents(process, address)
	for i := len(residents) - 1; i >= 0; i-- {
		if residents[i].life.Contains(at) {
			return residents[i].entity
		}
	}
	return found
}

// residents returns what lived at an address at any time.
func (l *lookup[E]) residents(process *trace.ProcessKey, address trace.Address) []resident[E] {
	at := numberedPlace{l.processes.number(process), address}
	recent := &l.recent[scatter(address)>>58]
	if recent.numberedPlace == at { // a zero one is of no address that is looked up
		return recent.residents
	}
	residents, ok := l.known[at]
	if !ok {
		residents = l.lives[place{*process, address}]
		l.known[at] = residents
	}
	*recent = foundPlace[E]{at, residents}
	return residents
}

// scatter makes addresses, which are alike in many bits, differ in the first ones: it multiplies by an odd number
// without a pattern.
func scatter(address trace.Address) uint64 { return uint64(address) * 0x9e3779b97f4a7c15 }

// processNumbers gives processes numbers, because their keys take long to hash. Its zero value is ready.
type processNumbers struct {
	numbers    map[trace.ProcessKey]int32
	keys       []trace.ProcessKey // by their number
	last       trace.ProcessKey
	lastNumber int32
}

func (p *processNumbers) number(key *trace.ProcessKey) int32 {
	if p.numbers != nil && p.last.PID == key.PID && p.last.ProcessStart == key.ProcessStart && p.last.BootID == key.BootID {
		return p.lastNumber
	}
	if p.numbers == nil {
		p.numbers = make(map[trace.ProcessKey]int32)
	}
	n, ok := p.ofFirst(key)
	if !ok {
		n, ok = p.numbers[*key]
	}
	if !ok {
		n = int32(len(p.numbers))
		p.numbers[*key] = n
		p.keys = append(p.keys, *key)
	}
	p.last, p.lastNumber = *key, n
	return n
}

// ofFirst looks among the first processes, of which there are hardly ever more: that is faster than to hash the key.
func (p *processNumbers) ofFirst(key *trace.ProcessKey) (number int32, ok bool) {
	for i := range p.keys[:min(len(p.keys), 16)] {
		if k := &p.keys[i]; k.PID == key.PID && k.ProcessStart == key.ProcessStart && k.BootID == key.BootID {
			return int32(i), true
		}
	}
	return 0, false
}

// recordedProcesses numbers the processes of all datasets from 1. It is safe for concurrent use.
type recordedProcesses struct {
	mu      sync.Mutex
	numbers map[recordedProcess]int32
}

type recordedProcess struct {
	dataset int
	process trace.ProcessKey
}

func (p *recordedProcesses) number(dataset int, key trace.ProcessKey) int32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.numbers == nil {
		p.numbers = make(map[recordedProcess]int32)
	}
	of := recordedProcess{dataset, key}
	if p.numbers[of] == 0 {
		p.numbers[of] = int32(len(p.numbers) + 1)
	}
	return p.numbers[of]
}

// remember makes a function of an entity answer from memory after the first time. It is safe for concurrent use.
func remember[E comparable](of func(E) bool) func(E) bool {
	var answers sync.Map
	return func(e E) bool {
		if answer, ok := answers.Load(e); ok {
			return answer.(bool)
		}
		answer := of(e)
		answers.Store(e, answer)
		return answer
	}
}
