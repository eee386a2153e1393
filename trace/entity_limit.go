package trace

import (
	"fmt"
	"unsafe"
)

const (
	// maxEntities bounds the entities and processes that are read of a dataset. All of them are kept until a question is
	// answered, because whatever was recorded belongs to one: three million take 2.6 GB (nodes) to 4.7 GB (subscriptions).
	// 300 processes with a hundred entities each may begin anew a hundred times.
	maxEntities = 3_000_000
	// maxEntityText bounds their text in bytes, which segments can hold in a thousandth of that.
	maxEntityText = 1 << 30
)

// ErrTooManyEntities says that a dataset has more entities and processes than are read.
var ErrTooManyEntities = fmt.Errorf("more than %d entities and processes are in the dataset, or they have more than %d MiB of text", maxEntities, maxEntityText>>20)

// EntityLimit is how many entities and processes are still read, for those who keep them in memory.
type EntityLimit struct {
	Entities int
	Text     int // of all columns that are read of them, in bytes
}

// NewEntityLimit returns the limit of a dataset.
func NewEntityLimit() *EntityLimit {
	return &EntityLimit{Entities: maxEntities, Text: maxEntityText}
}

// admit tells whether another one with so much text may be read. After the first that may not, none may.
func (l *EntityLimit) admit(text int) bool {
	if l.Entities <= 0 || text > l.Text {
		*l = EntityLimit{}
		return false
	}
	l.Entities--
	l.Text -= text
	return true
}

// textOf returns how many bytes of text a row has.
func textOf(columns []Column, row unsafe.Pointer) (bytes int) {
	for i := range columns {
		if c := &columns[i]; c.Type == TypeString {
			bytes += len(*(*string)(unsafe.Add(row, c.place)))
		}
	}
	return bytes
}
