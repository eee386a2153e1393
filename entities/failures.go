package entities

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	// maxAttempts bounds the attempts to read one entity from memory. They happen at lookups 1, 2, 4, 8, ...
	maxAttempts = 6
	// maxFailures bounds the failures remembered. When it is reached all are forgotten, so that the entities in use are
	// tried again.
	maxFailures = 1 << 16
)

// Unknown is something that was looked up and is not known.
type Unknown struct {
	Kind    string
	Address trace.Address
	Reason  string
}

type subject struct {
	kind    string
	address trace.Address
}

type failure struct {
	lookups uint64
	reason  error
}

// failures remembers what could not be read, so that it is not tried again at every record.
type failures map[subject]*failure

// mayTry counts a lookup and reports whether it may try to read memory.
func (f failures) mayTry(kind string, address trace.Address) bool {
	known, ok := f[subject{kind, address}]
	if !ok {
		return true
	}
	known.lookups++
	return bits.OnesCount64(known.lookups) == 1 && bits.Len64(known.lookups) <= maxAttempts
}

// set remembers that a lookup failed.
func (f failures) set(kind string, address trace.Address, reason error) {
	key := subject{kind, address}
	if known, ok := f[key]; ok {
		known.reason = reason
		return
	}
	if len(f) >= maxFailures {
		clear(f)
	}
	f[key] = &failure{lookups: 1, reason: reason}
}

// tryAgain lets the next lookup try as the first one did.
func (f failures) tryAgain(kind string, address trace.Address) {
	f[subject{kind, address}].lookups = 0
}

func (f failures) clear(kind string, address trace.Address) { delete(f, subject{kind, address}) }

// Unknown lists what was looked up in vain, in order of kind and address.
func (g *Graph) Unknown() []Unknown {
	keys := slices.SortedFunc(maps.Keys(g.failures), func(a, b subject) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.address, b.address))
	})
	unknown := make([]Unknown, 0, len(keys))
	for _, key := range keys {
		unknown = append(unknown, Unknown{Kind: key.kind, Address: key.address, Reason: g.failures[key].reason.Error()})
	}
	return unknown
}
