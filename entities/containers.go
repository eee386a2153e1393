package entities

import (
	"encoding/binary"
	"fmt"

	"github.com/caret-bpf/caret-bpf/trace"
)

// maxMembers bounds a container that is believed.
const maxMembers = 1 << 14

// Layouts of libstdc++'s containers and smart pointers, the same on all supported architectures.
const (
	sharedPointerSize = 2 * wordSize // the object, the control block
	strongCount       = 8            // in a control block, an int32
	treeRoot          = 16           // in a map or set
	treeCount         = 40
	treeLeft          = 16 // in a node of a map or set
	treeRight         = 24
	treeKey           = 32
)

// weakPointer is a weak_ptr or shared_ptr as memory holds it.
type weakPointer struct{ object, control trace.Address }

// sharedPointer reads a shared_ptr or weak_ptr. It is null where there is no object.
func (v view) sharedPointer(at trace.Address) (weakPointer, error) {
	object, err := v.word(at)
	if err != nil {
		return weakPointer{}, err
	}
	control, err := v.word(at + wordSize)
	if err != nil {
		return weakPointer{}, err
	}
	return weakPointer{trace.Address(object), trace.Address(control)}, nil
}

// lives reports whether the object of a pointer exists: somebody shares it.
func (v view) lives(p weakPointer) bool {
	if p.object < pageSize || p.object%wordSize != 0 {
		return false
	}
	if _, err := v.constant(p.control); err != nil { // the control block's vtable
		return false
	}
	word, err := v.word(p.control + strongCount)
	const maxOwners = 1 << 24
	count := int32(uint32(word))
	return err == nil && count > 0 && count < maxOwners
}

// pointerVector reads a vector of weak_ptr or shared_ptr.
func (v view) pointerVector(at trace.Address) ([]weakPointer, error) {
	var bounds [3]trace.Address // begin, end, end of storage
	for i := range bounds {
		word, err := v.word(at + trace.Address(i)*wordSize)
		if err != nil {
			return nil, err
		}
		bounds[i] = trace.Address(word)
	}
	size := uint64(bounds[1] - bounds[0])
	if bounds[1] < bounds[0] || bounds[2] < bounds[1] || size%sharedPointerSize != 0 || size/sharedPointerSize > maxMembers {
		return nil, fmt.Errorf("no vector at %v: %w", at, errImplausible)
	}
	if size == 0 {
		return nil, nil
	}
	if bounds[0] < pageSize || bounds[0]%wordSize != 0 {
		return nil, fmt.Errorf("no vector at %v: %w", at, errImplausible)
	}
	raw := make([]byte, size)
	if err := v.readAt(raw, uint64(bounds[0])); err != nil {
		return nil, fmt.Errorf("read the vector at %v: %w", at, err)
	}
	pointers := make([]weakPointer, size/sharedPointerSize)
	for i := range pointers {
		pointers[i].object = trace.Address(binary.LittleEndian.Uint64(raw[i*sharedPointerSize:]))
		pointers[i].control = trace.Address(binary.LittleEndian.Uint64(raw[i*sharedPointerSize+wordSize:]))
	}
	return pointers, nil
}

// treeKeys reads the keys of a map or set of weak_ptr. It is an error if there are not as many as the container says.
func (v view) treeKeys(at trace.Address) ([]weakPointer, error) {
	count, err := v.word(at + treeCount)
	if err != nil {
		return nil, err
	}
	root, err := v.word(at + treeRoot)
	if err != nil {
		return nil, err
	}
	if count > maxMembers || (count == 0) != (root == 0) {
		return nil, fmt.Errorf("no map at %v: %w", at, errImplausible)
	}
	var keys []weakPointer
	pending := []uint64{root}
	for len(pending) > 0 {
		node := trace.Address(pending[len(pending)-1])
		pending = pending[:len(pending)-1]
		if node == 0 {
			continue
		}
		if uint64(len(keys)) == count {
			return nil, fmt.Errorf("the map at %v has more than %d members: %w", at, count, errImplausible)
		}
		key, err := v.sharedPointer(node + treeKey)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
		for _, child := range []trace.Address{treeRight, treeLeft} {
			next, err := v.word(node + child)
			if err != nil {
				return nil, err
			}
			pending = append(pending, next)
		}
	}
	if uint64(len(keys)) != count {
		return nil, fmt.Errorf("the map at %v has %d of %d members: %w", at, len(keys), count, errImplausible)
	}
	return keys, nil
}
