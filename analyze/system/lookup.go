package system

import "github.com/caret-bpf/caret-bpf/trace"

// Lookup finds entities by address as LivesAt does, and remembers what it found: rows repeat the same few addresses. It
// is not safe for concurrent use.
type Lookup[E any] struct {
	lives     LivesAt[E]
	processes ProcessNumbers
	known     map[numberedPlace]*Residents[E]
	recent    [1 << recentBits]foundPlace[E] // of known, by the address: hashing takes longer
}

// recentBits gives room for the entities of a large system, in as much memory as a core has at hand.
const recentBits = 9

type numberedPlace struct {
	process int32
	address trace.Address
}

type foundPlace[E any] struct {
	numberedPlace
	residents *Residents[E]
}

// NewLookup returns a Lookup that has looked nothing up.
func NewLookup[E any](lives LivesAt[E]) *Lookup[E] {
	return &Lookup[E]{lives: lives, known: make(map[numberedPlace]*Residents[E])}
}

// Find returns the entity whose life contains the time; the zero value where none does.
func (l *Lookup[E]) Find(process *trace.ProcessKey, address trace.Address, at int64) (found E) {
	if address == 0 {
		return found
	}
	return l.residents(process, address).find(at)
}

// maxLookedUp bounds what is remembered: rows may name as many addresses and processes as there are rows.
const maxLookedUp = 1 << 20

// residents returns what lived at an address at any time.
func (l *Lookup[E]) residents(process *trace.ProcessKey, address trace.Address) *Residents[E] {
	if len(l.known) >= maxLookedUp {
		return l.lives[Place{*process, address}]
	}
	at := numberedPlace{l.processes.Number(process), address}
	recent := &l.recent[scatter(address)>>(64-recentBits)]
	if recent.numberedPlace == at { // a zero one is of no address that is looked up
		return recent.residents
	}
	residents, ok := l.known[at]
	if !ok {
		residents = l.lives[Place{*process, address}]
		l.known[at] = residents
	}
	*recent = foundPlace[E]{at, residents}
	return residents
}

// scatter makes addresses, which are alike in many bits, differ in the first ones: it multiplies by an odd number
// without a pattern.
func scatter(address trace.Address) uint64 { return uint64(address) * 0x9e3779b97f4a7c15 }

// ProcessNumbers gives processes numbers, because their keys take long to hash. Its zero value is ready.
type ProcessNumbers struct {
	numbers    map[trace.ProcessKey]int32
	keys       []trace.ProcessKey // by their number
	last       trace.ProcessKey
	lastNumber int32
}

// Number returns the number of a process. The first one has 0.
func (p *ProcessNumbers) Number(key *trace.ProcessKey) int32 {
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
func (p *ProcessNumbers) ofFirst(key *trace.ProcessKey) (number int32, ok bool) {
	for i := range p.keys[:min(len(p.keys), 16)] {
		if k := &p.keys[i]; k.PID == key.PID && k.ProcessStart == key.ProcessStart && k.BootID == key.BootID {
			return int32(i), true
		}
	}
	return 0, false
}
