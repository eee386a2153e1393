package loader

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// MappingEvent says that a process has mapped memory executable, or runs another program: then Length is 0. The kernel
// tells of mappings of files, and of memory that a program makes executable itself.
type MappingEvent struct {
	PID             int32
	Address, Length uint64
	// TimeNs is CLOCK_MONOTONIC in nanoseconds.
	TimeNs int64
}

// mappingPages is the size of the buffer of each processor, in pages: a power of two. A program that starts maps some
// ten files, of which each takes some hundred bytes.
const mappingPages = 32

// Mappings are the executable mappings that processes make, in the order in which each processor made them. The kernel
// tells those who count events of them (perf_event_open(2)): a uprobe would have to be in the dynamic linker, and the
// kernel's own functions may not be probed where it is locked down.
type Mappings struct {
	rings  []*mappingRing
	wait   *kernelWait
	lost   atomic.Uint64
	online *os.File // onlineProcessors
	begun  string   // which they were
	// incomplete says that these have changed. A processor that comes back is not asked any more either.
	incomplete bool
}

// onlineProcessors names the processors that run.
const onlineProcessors = "/sys/devices/system/cpu/online"

// mappingRing is the buffer of one processor.
type mappingRing struct {
	fd     int
	memory []byte
}

// WatchMappings has the kernel tell of mappings from now on. It must be closed.
func WatchMappings() (*Mappings, error) {
	online, err := os.Open(onlineProcessors)
	if err != nil {
		return nil, fmt.Errorf("which processors run: %w", err)
	}
	m := &Mappings{online: online}
	if m.begun, err = m.processors(); err != nil {
		return nil, errors.Join(fmt.Errorf("which processors run: %w", err), m.Close())
	}
	processors, err := ebpf.PossibleCPU()
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	for processor := range processors {
		ring, err := newMappingRing(processor)
		if errors.Is(err, unix.ENODEV) {
			continue // it is switched off
		}
		if err != nil {
			err = fmt.Errorf("asking the kernel which files are mapped: %w", err)
			return nil, errors.Join(err, m.Close())
		}
		m.rings = append(m.rings, ring)
	}
	if m.wait, err = waitForAny(m.rings); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// waitForAny waits for what can be read from one of the buffers.
func waitForAny(rings []*mappingRing) (*kernelWait, error) {
	all, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("waiting for mappings: %w", err)
	}
	defer unix.Close(all) // the copy that is waited for stays
	for _, ring := range rings {
		if err := unix.EpollCtl(all, unix.EPOLL_CTL_ADD, ring.fd, &unix.EpollEvent{Events: unix.EPOLLIN}); err != nil {
			return nil, fmt.Errorf("waiting for mappings: %w", err)
		}
	}
	return newKernelWait(all, func() bool {
		return slices.ContainsFunc(rings, func(r *mappingRing) bool { return r.waits() })
	})
}

func newMappingRing(processor int) (*mappingRing, error) {
	attributes := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Config: unix.PERF_COUNT_SW_DUMMY,
		Sample_type: unix.PERF_SAMPLE_TIME, Clockid: unix.CLOCK_MONOTONIC,
		Bits: unix.PerfBitMmap | unix.PerfBitComm | unix.PerfBitCommExec | unix.PerfBitSampleIDAll | unix.PerfBitUseClockID |
			unix.PerfBitWatermark,
		Wakeup: 1, // byte: whoever waits is woken by each
	}
	fd, err := unix.PerfEventOpen(&attributes, -1, processor, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		if isPermission(err) {
			err = perfPermissionError(err)
		}
		return nil, err
	}
	memory, err := unix.Mmap(fd, 0, (1+mappingPages)*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &mappingRing{fd, memory}, nil
}

// Wait returns when there is something to Read, at an instant, or when EndWait is called. It must not be called beside
// Read or Close.
func (m *Mappings) Wait(until time.Time) { m.wait.until(until) }

// EndWait ends the present Wait or, if there is none, the next one.
func (m *Mappings) EndWait() { m.wait.end() }

// Read hands over what the kernel has told since the last call. It does not wait.
func (m *Mappings) Read(handle func(MappingEvent)) {
	for _, ring := range m.rings {
		m.lost.Add(ring.read(handle))
	}
}

// Complete reports whether the set of processors that run has been the same at every call. Mappings made on processors
// that came later are missed.
func (m *Mappings) Complete() bool {
	online, err := m.processors()
	m.incomplete = m.incomplete || err != nil || online != m.begun
	return !m.incomplete
}

// processors names those that run.
func (m *Mappings) processors() (string, error) {
	text := make([]byte, os.Getpagesize()) // sysfs tells no more
	size, err := m.online.ReadAt(text, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return string(text[:size]), nil
}

// Lost is the number of mappings that the kernel had no room for.
func (m *Mappings) Lost() uint64 { return m.lost.Load() }

// Close ends it.
func (m *Mappings) Close() error {
	var errs []error
	for _, ring := range m.rings {
		errs = append(errs, unix.Munmap(ring.memory), unix.Close(ring.fd))
	}
	m.rings = nil
	if m.wait != nil {
		errs = append(errs, m.wait.close())
	}
	return errors.Join(append(errs, m.online.Close())...)
}

// waits reports whether there is a record.
func (r *mappingRing) waits() bool {
	page := (*unix.PerfEventMmapPage)(unsafe.Pointer(&r.memory[0]))
	return atomic.LoadUint64(&page.Data_head) != page.Data_tail
}

// read takes records out of the ring. How they lie there is the kernel's interface (perf_event_open(2)): the first page
// has head and tail, the others are the ring.
func (r *mappingRing) read(handle func(MappingEvent)) (lost uint64) {
	page := (*unix.PerfEventMmapPage)(unsafe.Pointer(&r.memory[0]))
	data := r.memory[os.Getpagesize():]
	head, tail := atomic.LoadUint64(&page.Data_head), page.Data_tail
	if tail == head {
		return 0 // mostly
	}
	record := make([]byte, 0, 1<<16)
	for head-tail >= perfHeaderSize {
		length := uint64(binary.NativeEndian.Uint16(ringBytes(record, data, tail+6, 2)))
		if length < perfHeaderSize || length > head-tail {
			break // never: the kernel writes whole records
		}
		event, missing, ok := parsePerfRecord(ringBytes(record, data, tail, length))
		lost += missing
		if ok {
			handle(event)
		}
		tail += length
	}
	atomic.StoreUint64(&page.Data_tail, head)
	runtime.KeepAlive(r)
	return lost
}

// ringBytes copies bytes out of a ring, in which they may begin again at its start.
func ringBytes(into, ring []byte, at, length uint64) []byte {
	at %= uint64(len(ring))
	into = append(into[:0], ring[at:min(at+length, uint64(len(ring)))]...)
	return append(into, ring[:length-uint64(len(into))]...)
}

const (
	perfHeaderSize = 8
	perfTimeSize   = 8 // behind every record
	// commExec, in the misc field, tells the name of a new program from one that a thread has given itself.
	commExec = 1 << 13
)

// parsePerfRecord reads a record of a dummy event. False if it tells of no mapping and no program.
func parsePerfRecord(record []byte) (event MappingEvent, lost uint64, ok bool) {
	const (
		lostSize = perfHeaderSize + 16 + perfTimeSize
		commSize = perfHeaderSize + 8 + perfTimeSize
		mmapSize = perfHeaderSize + 32 + perfTimeSize
	)
	if len(record) < perfHeaderSize {
		return MappingEvent{}, 0, false
	}
	order := binary.NativeEndian
	kind, misc := order.Uint32(record), order.Uint16(record[4:])
	switch {
	case kind == unix.PERF_RECORD_LOST && len(record) >= lostSize:
		return MappingEvent{}, order.Uint64(record[16:]), false
	case kind == unix.PERF_RECORD_COMM && misc&commExec != 0 && len(record) >= commSize:
		event = MappingEvent{PID: int32(order.Uint32(record[8:]))}
	case kind == unix.PERF_RECORD_MMAP && len(record) >= mmapSize:
		event = MappingEvent{PID: int32(order.Uint32(record[8:])), Address: order.Uint64(record[16:]), Length: order.Uint64(record[24:])}
	default:
		return MappingEvent{}, 0, false
	}
	event.TimeNs = int64(order.Uint64(record[len(record)-perfTimeSize:]))
	return event, 0, true
}
