package session

import (
	"errors"
	"fmt"
	"time"

	"github.com/caret-bpf/caret-bpf/elffile"
	"github.com/caret-bpf/caret-bpf/entities"
)

// namingTime is how much of a period the processes of one user may take for looking up functions in files. No record of
// anybody is read meanwhile. What is beyond it is left to the next scan, for which nobody waits.
const namingTime = 300 * time.Millisecond

var errNamedLate = errors.New("looking up functions takes long, and others wait")

// naming is the time that users have for it. It is used with the merger locked.
type naming struct {
	allowance
	journal *journal
}

// namedMemory is the memory of a process in which functions are looked up as long as its user has time for it.
type namedMemory struct {
	understoodMemory
	naming *naming
	payer  uint32
}

func (m namedMemory) FunctionAt(address uint64) (function entities.Function, ok bool) {
	m.inTime(func() { function, ok = m.understoodMemory.FunctionAt(address) })
	return function, ok
}

func (m namedMemory) PassedMember(function uint64, callee string) (member elffile.Member, err error) {
	err = errNamedLate
	m.inTime(func() { member, err = m.understoodMemory.PassedMember(function, callee) })
	return member, err
}

func (m namedMemory) inTime(look func()) {
	begin := time.Now()
	if !m.naming.has(m.payer, namingTime, begin) {
		m.naming.journal.warn(fmt.Errorf("looking up functions of processes of user %d takes long: names of callbacks may be missing until memory is searched",
			m.payer))
		return
	}
	look()
	m.naming.spend(m.payer, time.Since(begin))
}
