package system

import (
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

// Place is an address in a process. Several entities may have lived there, one after the other.
type Place struct {
	Process trace.ProcessKey
	Address trace.Address
}

// LivesAt finds what lived at an address at a time.
type LivesAt[E any] map[Place]*Residents[E]

// Add tells that an entity lived at an address; nothing lives at address 0.
func (l LivesAt[E]) Add(process trace.ProcessKey, address trace.Address, life Life, entity E) {
	if address != 0 {
		addResident(l, Place{process, address}, life, entity)
	}
}

// addResident tells that an entity lived where the key says.
func addResident[K comparable, E any](at map[K]*Residents[E], key K, life Life, entity E) {
	residents := at[key]
	if residents == nil {
		residents = new(Residents[E])
		at[key] = residents
	}
	residents.add(life, entity)
}

// Arrange makes finding fast where many lived at one address, one after the other. It is called when all are there.
func (l LivesAt[E]) Arrange() { arrange(l) }

func arrange[K comparable, E any](at map[K]*Residents[E]) {
	for _, residents := range at {
		residents.arrange()
	}
}

// settle bounds the lives whose begin was not seen, when all are there, and arranges them.
func (l LivesAt[E]) settle() {
	for _, residents := range l {
		residents.settle()
		residents.arrange()
	}
}

// Find returns the entity whose life contains the time, of several the one that was told of last; the zero value where
// none does.
func (l LivesAt[E]) Find(process trace.ProcessKey, address trace.Address, at int64) E {
	return l[Place{process, address}].find(at)
}

// AddressesOf returns the addresses, in any process, at which an entity of that kind lived at any time.
func (l LivesAt[E]) AddressesOf(of func(E) bool) trace.Addresses {
	addresses := make(trace.Addresses)
	for at, residents := range l {
		if slices.ContainsFunc(residents.all, func(r resident[E]) bool { return of(r.entity) }) {
			addresses[at.Address] = true
		}
	}
	return addresses
}

// Index finds entities by what events carry: callbacks by their addresses, publishers and subscriptions by their
// rcl handles, subscriptions also by their intra-process buffers.
type Index struct {
	Callbacks     LivesAt[*Callback]
	Publishers    LivesAt[*Publisher]
	Subscriptions LivesAt[*Subscription]
	Buffers       LivesAt[*Subscription]
}

func newIndex() *Index {
	return &Index{
		Callbacks:     make(LivesAt[*Callback]),
		Publishers:    make(LivesAt[*Publisher]),
		Subscriptions: make(LivesAt[*Subscription]),
		Buffers:       make(LivesAt[*Subscription]),
	}
}

func (x *Index) settle() {
	x.Callbacks.settle()
	x.Publishers.settle()
	x.Subscriptions.settle()
	x.Buffers.settle()
}
