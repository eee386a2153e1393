package trace

import (
	"encoding/json"
	"strconv"
)

// Optional is a value of a nullable column. The zero Optional is null, and null is distinct from a present zero: an
// index, a size, a period or a raw source timestamp of 0 is a value like any other.
type Optional[T any] struct {
	Value T
	Valid bool
}

// Some returns a present value.
func Some[T any](value T) Optional[T] {
	return Optional[T]{Value: value, Valid: true}
}

// MarshalJSON writes null for an absent value.
func (o Optional[T]) MarshalJSON() ([]byte, error) {
	if !o.Valid {
		return []byte("null"), nil
	}
	return json.Marshal(o.Value)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (o *Optional[T]) UnmarshalJSON(text []byte) error {
	*o = Optional[T]{}
	if string(text) == "null" {
		return nil
	}
	if err := json.Unmarshal(text, &o.Value); err != nil {
		return err
	}
	o.Valid = true
	return nil
}

// Address is a virtual address in the traced process. No object lives at address 0, so 0 is null in a nullable column.
// Addresses are reused by the allocator: they identify an object only together with the process and a time.
type Address uint64

// String formats the address as the kernel's maps and debuggers do.
func (a Address) String() string {
	return "0x" + strconv.FormatUint(uint64(a), 16)
}

// MarshalText writes the address as String does.
func (a Address) MarshalText() ([]byte, error) {
	return []byte(a.String()), nil
}
