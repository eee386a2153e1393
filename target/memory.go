package target

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/memoryhelper"
	"github.com/caret-bpf/caret-bpf/quota"
)

const (
	// maxMemoryBlock bounds how long one call holds the target's memory map lock.
	maxMemoryBlock = memoryhelper.BlockSize

	pagemapEntrySize = 8
	pagePresent      = 1 << 63 // in RAM, not swapped out
	pageSwapped      = 1 << 62 // swapped out, or on its way to another place in RAM
	pageOfFile       = 1 << 61 // of a file, or of shared memory (Linux 3.5)
	pagemapBlock     = 4096    // entries a read
)

// ErrExited is ErrNoProcess, by the name that fits where memory is read.
var ErrExited = ErrNoProcess

// Range is the half-open address range [Start, End).
type Range struct{ Start, End uint64 }

// Memory reads a process's memory while it runs. It never stops, signals or writes to the process, and it does not
// touch pages that are not in RAM, so the process neither pages nor grows by being read. What is read may change
// meanwhile. Not safe for concurrent use.
type Memory struct {
	process  *Process
	pagemap  *os.File
	pageSize uint64
	entries  []byte
	// helper reads the memory of whoever is not trusted; nil: it is read here.
	helper *memoryhelper.Helper
	// unanswered says that a page did not come. Nothing more is read then.
	unanswered bool
}

// Memory opens the process's memory. Errors: ErrNoProcess, ErrPermission, ErrForeignNamespace. The Process must stay
// open as long as the Memory.
func (p *Process) Memory() (*Memory, error) {
	open := func() (*os.File, error) { return os.Open(p.finder.processPath(p.PID, "pagemap")) }
	pagemap, err := patiently(context.Background(), p.finder, p.PID, open, func(late *os.File) { late.Close() })
	if err != nil {
		return nil, processError(p.PID, err)
	}
	m := &Memory{process: p, pagemap: pagemap, pageSize: uint64(os.Getpagesize())}
	if !p.IsTrusted() {
		m.helper = p.finder.helperOf(p.account.User())
	}
	return m, nil
}

// Close ends the use of the memory.
func (m *Memory) Close() error { return m.pagemap.Close() }

// ReadAt fills buffer with the memory at address. Like io.ReaderAt it returns how many bytes it read, with an error
// when they are fewer than asked for: ErrNotResident from the first page that is not mapped or not in RAM, ErrExited
// when the process is gone.
func (m *Memory) ReadAt(address uint64, buffer []byte) (int, error) {
	if address+uint64(len(buffer)) < address {
		return 0, m.fail(address, ErrNotResident)
	}
	done := 0
	for done < len(buffer) {
		block := buffer[done:min(len(buffer), done+maxMemoryBlock)]
		start := address + uint64(done)
		resident, err := m.residentPrefix(start, uint64(len(block)))
		if err != nil {
			return done, m.fail(start, err)
		}
		if resident == 0 {
			return done, m.fail(start, ErrNotResident)
		}
		n, err := m.readBlock(start, block[:resident])
		done += n
		if err != nil {
			return done, m.fail(start, err)
		}
	}
	// A process that has exited meanwhile may have lent its PID to another.
	if !m.process.Alive() {
		return 0, m.fail(address, ErrExited)
	}
	return done, nil
}

// ResidentRanges are the parts of the address range [start, end) that are in RAM, in order, at page granularity and cut
// to the range. An error ends the sequence.
func (m *Memory) ResidentRanges(start, end uint64) iter.Seq2[Range, error] {
	return m.ranges(start, end, func(entry uint64) bool { return entry&pagePresent != 0 })
}

// WrittenRanges are, likewise, the parts that the process has written and shares with nobody, in RAM or not: of a file
// that is mapped privately, what may differ from the file.
func (m *Memory) WrittenRanges(start, end uint64) iter.Seq2[Range, error] {
	return m.ranges(start, end, func(entry uint64) bool {
		return entry&pageSwapped != 0 || entry&(pagePresent|pageOfFile) == pagePresent
	})
}

// ranges are the parts whose entries in pagemap are accepted.
func (m *Memory) ranges(start, end uint64, accept func(entry uint64) bool) iter.Seq2[Range, error] {
	return func(yield func(Range, error) bool) {
		var open Range
		for page := start / m.pageSize; page*m.pageSize < end; {
			count := min(pagemapBlock, (end-1)/m.pageSize-page+1)
			entries, err := m.readPagemap(page, count)
			if err != nil {
				yield(Range{}, m.fail(page*m.pageSize, err))
				return
			}
			for i := range count {
				accepted := i*pagemapEntrySize < uint64(len(entries)) && accept(binary.LittleEndian.Uint64(entries[i*pagemapEntrySize:]))
				pageStart := max((page+i)*m.pageSize, start)
				pageEnd := min((page+i+1)*m.pageSize, end)
				switch {
				case accepted && open.End == pageStart && open.Start != open.End:
					open.End = pageEnd
				case accepted:
					open = Range{pageStart, pageEnd}
				case open.Start != open.End:
					if !yield(open, nil) {
						return
					}
					open = Range{}
				}
			}
			page += count
		}
		if open.Start != open.End {
			yield(open, nil)
		}
	}
}

// IsGivenBack reports whether the page at an address is nowhere: not in RAM, and not swapped out. Of what the process
// has written there nothing is left.
func (m *Memory) IsGivenBack(address uint64) bool {
	entries, err := m.readPagemap(address/m.pageSize, 1)
	return err == nil && (len(entries) == 0 || binary.LittleEndian.Uint64(entries)&(pagePresent|pageSwapped) == 0)
}

// residentPrefix is how many of the bytes at address are in RAM before the first page that is not.
func (m *Memory) residentPrefix(address, size uint64) (uint64, error) {
	page := address / m.pageSize
	count := (address+size-1)/m.pageSize - page + 1
	entries, err := m.readPagemap(page, count)
	if err != nil {
		return 0, err
	}
	for i := range count {
		if i*pagemapEntrySize >= uint64(len(entries)) || !isPresent(entries[i*pagemapEntrySize:]) {
			if i == 0 {
				return 0, nil
			}
			return (page+i)*m.pageSize - address, nil
		}
	}
	return size, nil
}

// readPagemap reads the entries of count pages. Fewer come back past the end of the address space.
func (m *Memory) readPagemap(page, count uint64) ([]byte, error) {
	size := count * pagemapEntrySize
	if page > 1<<55 {
		return nil, nil
	}
	if m.helper != nil {
		read := func() ([]byte, error) { return m.readPagemapInto(make([]byte, size), page) }
		return patiently(context.Background(), m.process.finder, m.process.PID, read, func([]byte) {})
	}
	if uint64(cap(m.entries)) < size {
		m.entries = make([]byte, size)
	}
	return m.readPagemapInto(m.entries[:size], page)
}

func (m *Memory) readPagemapInto(entries []byte, page uint64) ([]byte, error) {
	n, err := m.pagemap.ReadAt(entries, int64(page*pagemapEntrySize))
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return entries[:n-n%pagemapEntrySize], err
}

func isPresent(entry []byte) bool { return binary.LittleEndian.Uint64(entry)&pagePresent != 0 }

func (m *Memory) readBlock(address uint64, block []byte) (n int, err error) {
	if m.helper == nil {
		n, err = memoryhelper.ReadProcess(m.process.PID, address, block)
	} else {
		n, err = m.readByHelper(address, block)
	}
	switch {
	case errors.Is(err, unix.EFAULT):
		return 0, ErrNotResident
	case err != nil:
		return 0, err
	case n < len(block):
		return n, ErrNotResident
	}
	return n, nil
}

// readByHelper reads as long as every page comes. The process's user pays for helpers that wait.
func (m *Memory) readByHelper(address uint64, block []byte) (int, error) {
	if m.unanswered {
		return 0, fmt.Errorf("%w: %w", ErrNotRead, memoryhelper.ErrUnanswered)
	}
	account := m.process.account
	if err := account.Take(quota.Delegates, 1); err != nil {
		return 0, fmt.Errorf("%w: %w", errDelegatesHang, err)
	}
	n, ended, err := m.helper.Read(m.process.PID, address, block)
	if !errors.Is(err, memoryhelper.ErrUnanswered) {
		account.Give(quota.Delegates, 1)
		return n, err
	}
	m.unanswered = true
	go func() {
		<-ended
		account.Give(quota.Delegates, 1)
	}()
	return 0, fmt.Errorf("%w: %w", ErrNotRead, err)
}

func (m *Memory) fail(address uint64, err error) error {
	if !errors.Is(err, ErrExited) && !m.process.Alive() {
		err = ErrExited
	}
	return fmt.Errorf("memory at %#x: %w", address, processError(m.process.PID, err))
}

func addressOf(page []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(page))) }
