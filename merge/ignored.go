package merge

// ignoredAddresses are those of a process that the kernel need not record. Each process has its own: what one does may
// cost nothing where another one's are looked up.
type ignoredAddresses struct {
	addresses map[uint64]bool
	// full says that there was no room for more.
	full bool
}

// ignore tells the kernel, once, that an address is filtered out.
func (m *Merger) ignore(pid int32, address uint64) {
	if address == 0 || m.options.OnIgnored == nil {
		return
	}
	of := m.ignored[pid]
	if of == nil {
		of = &ignoredAddresses{addresses: map[uint64]bool{}}
		m.ignored[pid] = of
	}
	if of.full || of.addresses[address] {
		return
	}
	if of.full = !m.options.OnIgnored(pid, address, true); !of.full {
		of.addresses[address] = true
	}
}

// unignoreAll lets the kernel record all addresses of a process again.
func (m *Merger) unignoreAll(pid int32) {
	of := m.ignored[pid]
	if of == nil {
		return
	}
	for address := range of.addresses {
		m.options.OnIgnored(pid, address, false)
	}
	delete(m.ignored, pid)
}

// forgetIgnored lets the kernel record an address again that a new entity has taken.
func (m *Merger) forgetIgnored(pid int32, address uint64) {
	if of := m.ignored[pid]; of != nil && of.addresses[address] {
		delete(of.addresses, address)
		of.full = false
		m.options.OnIgnored(pid, address, false)
	}
}
