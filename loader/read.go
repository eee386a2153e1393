package loader

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cilium/ebpf/ringbuf"
)

const (
	// batchBytes bounds the memory of a batch, batchRecords its number of records.
	batchBytes   = 256 << 10
	batchRecords = 4096
	// recordRoom is more than the largest record.
	recordRoom = 1 << 10
	// pause is how long the reader lets records gather when little waits in the ring buffer: it would take them one by one
	// otherwise, and handing on a batch costs more than many records. A ring buffer with less than pauseRingBytes might
	// fill up meanwhile.
	pause          = 5 * time.Millisecond
	pauseRingBytes = 4 << 20
)

// batch collects records in memory that is used again for the next batch.
type batch struct {
	memory  []byte
	used    int
	records [][]byte
}

func newBatch() *batch { return &batch{memory: make([]byte, batchBytes)} }

// room returns where the next record goes.
func (b *batch) room() []byte { return b.memory[b.used:b.used:len(b.memory)] }

func (b *batch) add(record []byte) {
	b.records = append(b.records, record)
	b.used += len(record)
}

func (b *batch) isFull() bool {
	return len(b.records) >= batchRecords || b.used+recordRoom > len(b.memory)
}

func (b *batch) reset() { b.used, b.records = 0, b.records[:0] }

// Read takes records out of the ring buffer and hands them to handle in batches, in the order in which the kernel made
// them. The records are valid until handle returns. The kernel wakes the reader only when much is waiting, so the ring
// is looked at every interval anyhow; an empty batch says that nothing came.
//
// After a batch that has left little in the ring buffer it waits a moment for the next one to be worth it.
//
// It returns nil after Flush, when everything recorded before has been handled; ctx's error when that ends; ErrClosed
// after Close; and handle's error as it is.
func (l *Loader) Read(ctx context.Context, handle func(records [][]byte) error, interval time.Duration) (err error) {
	l.drains.begin()
	defer func() { l.drains.finish(err) }()
	stop := context.AfterFunc(ctx, func() { _ = l.flushReader() })
	defer stop()
	b := newBatch()
	l.reader.SetDeadline(time.Unix(1, 0)) // it reads what there is
	more := false                         // there is more to read, or may soon be
	for {
		if !more {
			l.wait.until(time.Now().Add(interval))
		}
		waiting, ending := l.drains.begun()
		l.unread.begin()
		end := l.fill(b)
		l.statistics.records.Add(uint64(len(b.records)))
		l.statistics.bytes.Add(uint64(b.used))
		l.statistics.batches.Add(1)
		if err := handle(b.records); err != nil {
			return err
		}
		more = len(b.records) > 0
		b.reset()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case end == nil:
			continue
		case errors.Is(end, os.ErrDeadlineExceeded): // the ring was empty
			l.drains.release(waiting)
			if more {
				l.letGather()
			}
			continue
		case errors.Is(end, ringbuf.ErrFlushed):
			l.drains.release(waiting)
			if ending {
				return nil
			}
			if l.drains.wanted() {
				if err := l.flushReader(); err != nil {
					return err
				}
			}
			continue
		case errors.Is(end, ringbuf.ErrClosed):
			return ErrClosed
		}
		return fmt.Errorf("reading the ring buffer: %w", end)
	}
}

// letGather waits a moment if too little for a wake-up is left to read.
func (l *Loader) letGather() {
	size := l.reader.BufferSize()
	if size >= pauseRingBytes && uint64(l.reader.AvailableBytes()) < wakeupBytes(uint32(size)) {
		time.Sleep(pause)
	}
}

// fill reads until the batch is full or the reader returns an error: os.ErrDeadlineExceeded and ringbuf.ErrFlushed say
// that the ring was empty.
func (l *Loader) fill(b *batch) error {
	for !b.isFull() {
		record := ringbuf.Record{RawSample: b.room()}
		if err := l.reader.ReadInto(&record); err != nil {
			return err
		}
		l.notePeak(uint64(record.Remaining + len(record.RawSample)))
		l.unread.take(record.RawSample)
		b.add(record.RawSample)
	}
	return nil
}

// notePeak keeps the largest fill. Only Read's goroutine writes it.
func (l *Loader) notePeak(pending uint64) {
	if pending > l.statistics.peak.Load() {
		l.statistics.peak.Store(pending)
	}
}

// Flush makes Read return once it has handled everything that is in the ring buffer.
func (l *Loader) Flush() error {
	l.drains.end()
	return l.flushReader()
}

// flushReader wakes the reader, which reads what there is.
func (l *Loader) flushReader() error {
	if err := l.reader.Flush(); err != nil {
		return fmt.Errorf("flushing the ring buffer: %w", err)
	}
	l.wait.end()
	return nil
}

// Statistics says how full the ring buffer is and what went through it.
type Statistics struct {
	// RingBytes is the ring buffer's size, RingPending what waits in it now, RingPeak the most that the reader found
	// waiting; in bytes.
	RingBytes, RingPending, RingPeak int
	// Records, RecordBytes and Batches count what Read handed on.
	Records, RecordBytes, Batches uint64
}

// Statistics returns the present numbers. It is zero after Close.
func (l *Loader) Statistics() Statistics {
	l.readerMutex.Lock()
	defer l.readerMutex.Unlock()
	if l.closed {
		return Statistics{}
	}
	return Statistics{
		RingBytes:   l.reader.BufferSize(),
		RingPending: l.reader.AvailableBytes(),
		RingPeak:    int(l.statistics.peak.Load()),
		Records:     l.statistics.records.Load(),
		RecordBytes: l.statistics.bytes.Load(),
		Batches:     l.statistics.batches.Load(),
	}
}

// Unread reports whether a record of an initialization event, or of the end of an entity, that was made before the call
// and is not among the first handled ones that Read has handed on, names an address in a process as that of an entity
// that begins or ends; or whether that cannot be told.
func (l *Loader) Unread(pid int32, address uint64, handled uint64) bool {
	return l.unread.names(place{pid, address}, handled)
}
