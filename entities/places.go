package entities

import (
	"github.com/ianlancetaylor/demangle"

	"github.com/caret-bpf/caret-bpf/layouts"
	"github.com/caret-bpf/caret-bpf/trace"
)

// Where objects keep their callbacks. In a Subscription and a Service the callback follows the base and is aligned to a
// word, whatever the type of messages or the allocator is. In a SubscriptionIntraProcess an allocator and a deleter
// precede it: empty ones take the rest of a word, but all others push it further on. Timers see timers.go.

// maxShift bounds how much further on an allocator of the user's own and its deleter, which holds a pointer, push a
// callback.
const maxShift = 64

// hasStandardAllocator reports whether a SubscriptionIntraProcess, given by the mangled name of its class, has the
// allocator of the standard library, and with that a deleter without members.
func hasStandardAllocator(typeName string) bool {
	const deleter = 3 // messages, subscribed type, its allocator, its deleter
	tree, ok := parseType(typeName)
	if !ok {
		return false
	}
	class, ok := tree.(*demangle.Template)
	if !ok {
		return false
	}
	if len(class.Args) <= deleter {
		return true
	}
	argument, ok := class.Args[deleter].(*demangle.Template)
	return ok && demangle.ASTToString(argument.Name) == "std::default_delete"
}

// possibleOwners are the objects of a kind that could have their callback at an address.
func (r reader) possibleOwners(callback trace.Address, owner layouts.Owner) []trace.Address {
	usual := callback - trace.Address(owner.Callback)
	switch owner.Kind {
	case layouts.OwnerTimer:
		return r.possibleTimers(callback)
	case layouts.OwnerSubscriptionIntraProcess:
		objects := []trace.Address{usual}
		for shift := trace.Address(wordSize); shift <= maxShift; shift += wordSize {
			objects = append(objects, usual-shift)
		}
		return objects
	}
	return []trace.Address{usual}
}

// mayKeep reports whether an object of a class may have its callback at an address. A timer whose code cannot be
// followed may have it at any place that possibleOwners considers, and an intra-process subscription with an allocator
// of the user's own at any but the usual one.
func (r reader) mayKeep(object, callback trace.Address, owner layouts.Owner, typeName string) bool {
	switch owner.Kind {
	case layouts.OwnerTimer:
		at, err := r.timerCallback(object)
		return err != nil || at == callback
	case layouts.OwnerSubscriptionIntraProcess:
		return (callback == object+trace.Address(owner.Callback)) == hasStandardAllocator(typeName)
	}
	return true
}
