package entities

import (
	"errors"
	"fmt"
	"strings"

	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	// maxBases bounds the classes that one class is derived from, directly or not.
	maxBases = 64
	// maxClasses bounds the vtables that are remembered. They are few: 3,000 in a process of nine nodes.
	maxClasses = 1 << 18
)

// base is a class that objects of a class contain, themselves included.
type base struct {
	name   string // mangled, as type_info holds it
	offset int64  // in the object
}

// class is what run-time type information says of the objects with one vtable.
type class struct {
	// offset is that of the part with this vtable in the whole object.
	offset int64
	bases  []base // the object's very class first
}

// find returns the base of that name, or with that prefix if it ends in I.
func (c class) find(name string) (base, bool) {
	for _, b := range c.bases {
		if b.name == name || strings.HasSuffix(name, "I") && strings.HasPrefix(b.name, name) {
			return b, true
		}
	}
	return base{}, false
}

// classes judges vtables, each once.
type classes struct {
	view    view
	known   map[trace.Address]*class // nil for what is no vtable
	flavors map[trace.Address]string
}

func newClasses(v view) *classes {
	return &classes{view: v, known: make(map[trace.Address]*class), flavors: make(map[trace.Address]string)}
}

var (
	errManyClasses = errors.New("more classes than any program has")
	// Most of what a scan judges is no vtable: no words are made of each.
	errNoVtable      = fmt.Errorf("it is no vtable: %w", errImplausible)
	errNoOffsetToTop = fmt.Errorf("what should be the offset to top: %w", errImplausible)
)

// of returns the class of the object that a pointer leads to, and where the whole object begins.
func (c *classes) of(pointer trace.Address) (found *class, object trace.Address, err error) {
	vtable, err := c.view.constant(pointer)
	if err != nil {
		return nil, 0, err
	}
	if found, err = c.judge(vtable); err != nil {
		return nil, 0, err
	}
	return found, pointer - trace.Address(found.offset), nil
}

// judge returns the class that a vtable is of.
func (c *classes) judge(vtable trace.Address) (*class, error) {
	if found, ok := c.known[vtable]; ok {
		if found == nil {
			return nil, errNoVtable
		}
		return found, nil
	}
	if len(c.known) >= maxClasses {
		return nil, errManyClasses
	}
	found, err := c.read(vtable)
	c.known[vtable] = found
	return found, err
}

func (c *classes) read(vtable trace.Address) (*class, error) {
	offsetToTop, err := c.view.word(vtable - 2*wordSize)
	if err != nil {
		return nil, err
	}
	const maxObject = 1 << 24
	offset := -int64(offsetToTop)
	if offset < 0 || offset > maxObject || offset%wordSize != 0 {
		return nil, errNoOffsetToTop
	}
	typeInfo, err := c.view.constant(vtable - wordSize)
	if err != nil {
		return nil, err
	}
	found := &class{offset: offset}
	if err := c.addBases(found, typeInfo, 0); err != nil {
		return nil, err
	}
	return found, nil
}

// addBases appends the class of a type_info and, recursively, what it is derived from. Virtual bases are left out:
// where they lie depends on the object, and rclcpp has none.
func (c *classes) addBases(found *class, typeInfo trace.Address, offset int64) error {
	if len(found.bases) >= maxBases {
		return fmt.Errorf("more than %d bases: %w", maxBases, errImplausible)
	}
	name, err := c.view.typeName(typeInfo)
	if err != nil {
		return err
	}
	found.bases = append(found.bases, base{name, offset})
	flavor, err := c.flavor(typeInfo)
	if err != nil {
		return err
	}
	switch flavor {
	case "N10__cxxabiv120__si_class_type_infoE": // one base, at the start
		next, err := c.view.constant(typeInfo + 2*wordSize)
		if err != nil {
			return err
		}
		return c.addBases(found, next, offset)
	case "N10__cxxabiv121__vmi_class_type_infoE":
		flagsAndCount, err := c.view.word(typeInfo + 2*wordSize)
		if err != nil {
			return err
		}
		count := flagsAndCount >> 32
		if count > maxBases {
			return fmt.Errorf("%d bases: %w", count, errImplausible)
		}
		for i := range trace.Address(count) {
			entry := typeInfo + (3+2*i)*wordSize
			next, err := c.view.constant(entry)
			if err != nil {
				return err
			}
			offsetFlags, err := c.view.word(entry + wordSize)
			if err != nil {
				return err
			}
			const isVirtual, offsetShift = 1, 8
			if offsetFlags&isVirtual != 0 {
				continue
			}
			if err := c.addBases(found, next, offset+int64(offsetFlags)>>offsetShift); err != nil {
				return err
			}
		}
	}
	return nil
}

// flavor returns the mangled name of the class of a type_info, which tells what follows in it.
func (c *classes) flavor(typeInfo trace.Address) (string, error) {
	vtable, err := c.view.constant(typeInfo)
	if err != nil {
		return "", err
	}
	if known, ok := c.flavors[vtable]; ok {
		return known, nil
	}
	own, err := c.view.constant(vtable - wordSize)
	if err != nil {
		return "", err
	}
	name, err := c.view.typeName(own)
	if err != nil {
		return "", err
	}
	if !strings.HasPrefix(name, "N10__cxxabiv1") {
		return "", fmt.Errorf("%s is no class of type information: %w", name, errImplausible)
	}
	c.flavors[vtable] = name
	return name, nil
}
