package entities

// scanMemory is the larger part of the memory that a scan takes. The scans of hundreds of processes would have the
// garbage collector run all the time.
type scanMemory struct {
	read   []byte   // for a block that is looked through
	chunks [][]byte // each of pageChunk
	taken  uint64   // bytes of them
}

// pageChunk is a multiple of the most pages that are read at once.
const pageChunk = 4 * blockPages * pageSize

// reuse says that nobody uses what was taken.
func (m *scanMemory) reuse() { m.taken = 0 }

// release lets go of the chunks: who has taken pages of them keeps them.
func (m *scanMemory) release() { m.chunks, m.taken = nil, 0 }

// block is for at most scanBlock bytes, until the next one is wanted.
func (m *scanMemory) block(size uint64) []byte {
	if uint64(len(m.read)) < size {
		m.read = make([]byte, size)
	}
	return m.read[:size]
}

// pages takes room for at most blockPages pages.
func (m *scanMemory) pages(size uint64) []byte {
	if rest := pageChunk - m.taken%pageChunk; rest < size {
		m.taken += rest
	}
	chunk, at := m.taken/pageChunk, m.taken%pageChunk
	if chunk == uint64(len(m.chunks)) {
		m.chunks = append(m.chunks, make([]byte, pageChunk))
	}
	m.taken += size
	return m.chunks[chunk][at : at+size : at+size]
}

// giveBack gives back what was taken last.
func (m *scanMemory) giveBack(size uint64) { m.taken -= size }
