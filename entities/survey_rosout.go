package entities

import (
	"fmt"
	"path"
	"strings"

	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
)

// The publishers of /rosout: rcl keeps them, with their nodes, in a map of loggers, a static variable of its library.

// rosoutTopic is the topic of logging. rcl initializes its publishers on the stack and then copies them into its map.
const rosoutTopic = "/rosout"

const (
	// maxStatics bounds, in words, the static variables that are looked through.
	maxStatics = 1 << 13

	// The layout of rcutils' hash map, a list of buckets which are lists of pointers to entries, the same in all
	// distributions.
	mapCapacity    = 1 * wordSize
	mapSize        = 2 * wordSize
	mapKeySize     = 3 * wordSize
	mapValueSize   = 4 * wordSize
	mapHash        = 5 * wordSize // a function
	listSize       = 0
	listElements   = 2 * wordSize
	listValueSize  = 3 * wordSize
	entryValue     = 2 * wordSize
	rosoutKeySize  = wordSize     // the logger's name, a char pointer
	rosoutDataSize = 2 * wordSize // node and publisher
)

// addLoggers adds the publishers of /rosout.
func (s *survey) addLoggers(mappings []target.Mapping) error {
	known := make(map[trace.Address]bool) // by their rmw handles: child loggers share their parent's publisher
	for i, mapping := range mappings {
		if !strings.HasPrefix(path.Base(mapping.Path), "librcl.so") || !mapping.Readable() || !mapping.Writable() {
			continue
		}
		end := mapping.End
		if i+1 < len(mappings) && mappings[i+1].Start == end && mappings[i+1].Path == "" && mappings[i+1].Writable() {
			end = mappings[i+1].End // variables that the file does not hold
		}
		words, err := s.words(trace.Address(mapping.Start), int(min((end-mapping.Start)/wordSize, maxStatics)))
		if err != nil {
			return err
		}
		for _, word := range words {
			values, err := s.rosoutEntries(word)
			if isFinal(err) {
				return err
			}
			for _, value := range values {
				row, err := steady(same, func() (trace.Publisher, error) { return s.rosoutPublisherAt(value) })
				if isFinal(err) {
					return err
				}
				if err == nil && !known[row.RMWPublisherHandle] {
					known[row.RMWPublisherHandle] = true
					s.rows.Publishers = append(s.rows.Publishers, row)
				}
			}
		}
	}
	return nil
}

// rosoutEntries returns the addresses of the values of a hash map that has the form of the loggers' map.
func (s *survey) rosoutEntries(hashMap trace.Address) ([]trace.Address, error) {
	var fields [mapHash/wordSize + 1]uint64
	for i, at := range []trace.Address{mapKeySize, mapValueSize, mapCapacity, mapSize} {
		word, err := s.word(hashMap + at)
		if err != nil {
			return nil, err
		}
		fields[at/wordSize] = word
		if i == 1 && (fields[mapKeySize/wordSize] != rosoutKeySize || word != rosoutDataSize) {
			return nil, errNoHashMap
		}
	}
	capacity, size := fields[mapCapacity/wordSize], fields[mapSize/wordSize]
	if capacity == 0 || capacity > maxMembers || size > maxMembers {
		return nil, errNoHashMap
	}
	if _, err := s.constant(hashMap + mapHash); err != nil {
		return nil, err
	}
	buckets, err := s.pointer(hashMap)
	if err != nil {
		return nil, err
	}
	lists, err := s.words(buckets, int(capacity))
	if err != nil {
		return nil, err
	}
	var values []trace.Address
	for _, list := range lists {
		if list == 0 {
			continue // nothing was ever put there
		}
		entries, err := s.pointerList(list)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			value, err := s.pointer(entry + entryValue)
			if err != nil {
				return nil, err
			}
			values = append(values, value)
		}
	}
	if uint64(len(values)) != size {
		return nil, fmt.Errorf("%d of %d entries: %w", len(values), size, errNoHashMap)
	}
	return values, nil
}

var errNoHashMap = fmt.Errorf("no hash map: %w", errImplausible)

// pointerList reads an rcutils_array_list_impl_t of pointers.
func (s *survey) pointerList(list trace.Address) ([]trace.Address, error) {
	size, err := s.word(list + listSize)
	if err != nil {
		return nil, err
	}
	valueSize, err := s.word(list + listValueSize)
	if err != nil {
		return nil, err
	}
	if valueSize != wordSize || size > maxMembers {
		return nil, fmt.Errorf("no list of pointers at %v: %w", list, errImplausible)
	}
	elements, err := s.pointer(list + listElements)
	if err != nil {
		return nil, err
	}
	return s.words(elements, int(size))
}

// rosoutPublisherAt reads the publisher of a logger.
func (s *survey) rosoutPublisherAt(value trace.Address) (trace.Publisher, error) {
	handle, err := s.pointer(value + trace.Address(s.layout.RosoutEntry.Node))
	if err != nil {
		return trace.Publisher{}, err
	}
	node, err := s.nodeAt(handle)
	if err != nil {
		return trace.Publisher{}, err
	}
	row, err := s.publisherAt(value + trace.Address(s.layout.RosoutEntry.Publisher))
	if err != nil {
		return trace.Publisher{}, err
	}
	row.NodeHandle, row.NodeName, row.MessageType = handle, fullName(node.Namespace, node.NodeName), "rcl_interfaces/msg/Log"
	return row, nil
}
