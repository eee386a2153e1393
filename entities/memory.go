package entities

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/caret-bpf/caret-bpf/trace"
)

// Memory reads the memory of a process.
type Memory interface {
	// ReadAt fills p from address, or returns an error.
	ReadAt(p []byte, address uint64) error
	// ReadOnlyFile reports whether an address lies in a mapping of a file that the process cannot write.
	ReadOnlyFile(address uint64) bool
}

// Reasons for which memory was not believed.
var (
	errNoMemory    = errors.New("the memory of the process cannot be read")
	errImplausible = errors.New("memory does not hold what it should")
	errOvertaken   = errors.New("an event that was not merged yet tells of the address: another one may live there by now")
)

const (
	wordSize = 8
	pageSize = 4096
	// maxTypeName bounds a mangled class name. Those of templates over long types have a few thousand characters.
	maxTypeName = 8192
)

// view reads a process's memory and judges what it finds. Both supported architectures are 64-bit little-endian.
type view struct {
	memory Memory
	// overtaken reports whether what is read may be of another entity than the one that is looked up; nil: it is not.
	overtaken func() bool
}

// readAt fills p from an address, unless that may show another entity than the one that is looked up.
func (v view) readAt(p []byte, address uint64) error {
	if err := v.memory.ReadAt(p, address); err != nil {
		return err
	}
	if v.overtaken != nil && v.overtaken() {
		return errOvertaken
	}
	return nil
}

// word reads an aligned 8-byte word.
func (v view) word(address trace.Address) (uint64, error) {
	if v.memory == nil {
		return 0, errNoMemory
	}
	if address < pageSize || address%wordSize != 0 {
		return 0, fmt.Errorf("address %v: %w", address, errImplausible)
	}
	var bytes [wordSize]byte
	if err := v.readAt(bytes[:], uint64(address)); err != nil {
		return 0, fmt.Errorf("read %v: %w", address, err)
	}
	return binary.LittleEndian.Uint64(bytes[:]), nil
}

// words reads consecutive words, as addresses. Those that cannot be read are 0. The error says that nothing can be read
// any more.
func (v view) words(address trace.Address, count int) ([]trace.Address, error) {
	words := make([]trace.Address, count)
	if v.memory == nil || address < pageSize || address%wordSize != 0 || uint64(address) > math.MaxUint64-uint64(count)*wordSize {
		return words, nil
	}
	for done := 0; done < count; {
		at := uint64(address) + uint64(done)*wordSize
		chunk := make([]byte, min(uint64(count-done)*wordSize, pageSize-at%pageSize))
		if err := v.readAt(chunk, at); err == nil {
			for i := 0; i < len(chunk); i += wordSize {
				words[done+i/wordSize] = trace.Address(binary.LittleEndian.Uint64(chunk[i:]))
			}
		} else if isFinal(err) {
			return nil, err
		}
		done += len(chunk) / wordSize
	}
	return words, nil
}

// pointer reads a pointer to an object. It is never null.
func (v view) pointer(address trace.Address) (trace.Address, error) {
	word, err := v.word(address)
	if err != nil {
		return 0, err
	}
	if word < pageSize || word%wordSize != 0 {
		return 0, fmt.Errorf("%#x at %v is no pointer to an object: %w", word, address, errImplausible)
	}
	return trace.Address(word), nil
}

// cString reads the NUL-terminated string at an address, of at most limit characters. It never reads beyond the page on
// which the string ends.
func (v view) cString(address trace.Address, limit int) (string, error) {
	if v.memory == nil {
		return "", errNoMemory
	}
	if address < pageSize {
		return "", fmt.Errorf("string at %v: %w", address, errImplausible)
	}
	var text []byte
	for len(text) <= limit {
		at := uint64(address) + uint64(len(text))
		chunk := make([]byte, min(256, pageSize-at%pageSize))
		if err := v.readAt(chunk, at); err != nil {
			return "", fmt.Errorf("read string at %v: %w", address, err)
		}
		if end := bytes.IndexByte(chunk, 0); end >= 0 {
			text = append(text, chunk[:end]...)
			break
		}
		text = append(text, chunk...)
	}
	if len(text) > limit {
		return "", fmt.Errorf("string at %v has no end: %w", address, errImplausible)
	}
	return string(text), nil
}

// namePointer follows the char pointer at an address to a string that valid accepts.
func (v view) namePointer(address trace.Address, valid func(string) bool) (string, error) {
	word, err := v.word(address)
	if err != nil {
		return "", err
	}
	text, err := v.cString(trace.Address(word), maxName)
	if err != nil {
		return "", err
	}
	if !valid(text) {
		return "", fmt.Errorf("%q at %#x is no name: %w", text, word, errImplausible)
	}
	return text, nil
}

// stdString reads a std::string that holds a name which valid accepts.
func (v view) stdString(address trace.Address, valid func(string) bool) (string, error) {
	text, err := v.namePointer(address, valid)
	if err != nil {
		return "", err
	}
	length, err := v.word(address + wordSize)
	if err != nil {
		return "", err
	}
	if length != uint64(len(text)) {
		return "", fmt.Errorf("string at %v has %d characters and length %d: %w", address, len(text), length, errImplausible)
	}
	return text, nil
}

// className returns the mangled name of the class of the object at an address. It proves that there is an object: its
// first word is a vtable of a complete object (offset to top 0), before which stands a type_info, all in read-only
// mappings of files.
func (v view) className(object trace.Address) (string, error) {
	vtable, err := v.constant(object)
	if err != nil {
		return "", err
	}
	offsetToTop, err := v.word(vtable - 2*wordSize)
	if err != nil {
		return "", err
	}
	if offsetToTop != 0 {
		return "", fmt.Errorf("the offset to top at %v is not 0: %w", vtable-2*wordSize, errImplausible)
	}
	typeInfo, err := v.constant(vtable - wordSize)
	if err != nil {
		return "", err
	}
	return v.typeName(typeInfo)
}

// typeName returns the mangled name that a type_info holds.
func (v view) typeName(typeInfo trace.Address) (string, error) {
	if _, err := v.constant(typeInfo); err != nil { // the type_info's own vtable
		return "", err
	}
	name, err := v.word(typeInfo + wordSize)
	if err != nil {
		return "", err
	}
	if !v.memory.ReadOnlyFile(name) {
		return "", fmt.Errorf("the class name at %#x is not in a read-only file mapping: %w", name, errImplausible)
	}
	text, err := v.cString(trace.Address(name), maxTypeName)
	if err != nil {
		return "", err
	}
	text = strings.TrimPrefix(text, "*") // marks a type with internal linkage
	if text == "" {
		return "", fmt.Errorf("empty class name at %#x: %w", name, errImplausible)
	}
	return text, nil
}

// constant reads the pointer at an address to something that a file holds and nothing can change.
func (v view) constant(address trace.Address) (trace.Address, error) {
	target, err := v.pointer(address)
	if err != nil {
		return 0, err
	}
	if !v.memory.ReadOnlyFile(uint64(target)) {
		return 0, fmt.Errorf("%v at %v is not in a read-only file mapping: %w", target, address, errImplausible)
	}
	return target, nil
}
