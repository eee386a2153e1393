// Package perfettotest reads traces of package perfetto in tests, and finds what is wrong with them. It knows the
// format by itself.
package perfettotest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protowire"
)

// Trace is what a trace has.
type Trace struct {
	Tracks map[uint64]*Track
	// Slices and Instants are in the order of their times.
	Slices   []*Slice
	Instants []*Slice
	Counters []Count
	// Flows has the number of flows that ended, by where they began and where they ended.
	Flows []Flow
	// Tasks and CPUs are what Perfetto makes of the states of tasks: its tables thread_state and sched.
	Tasks []*TaskState
	CPUs  []*TaskOnCPU
	// Clocks has the times of the clock snapshot.
	Clocks map[uint64]int64
	// Packets has the packets that are not compressed packets, as a trace by themselves.
	Packets []byte

	snapshots int
	strings   map[protowire.Number]map[uint64]string
	events    []*event
	states    []*taskEvent
}

// Track is a track.
type Track struct {
	UUID, Parent uint64
	Name         string
	// PID and TID are of the track of a process or of a thread.
	PID, TID  int64
	Process   string
	IsCounter bool
}

// Slice is a slice or an instant.
type Slice struct {
	Track          *Track
	Category, Name string
	Begin, End     int64
	Parent         *Slice
	Arguments      map[string]any
	Correlation    uint64
	Flows, Ending  []uint64
}

// Count is a value of a counter.
type Count struct {
	Track *Track
	At    int64
	Value int64
}

// Flow leads from one to another.
type Flow struct {
	ID       uint64
	From, To *Slice
}

type event struct {
	at             int64
	kind           uint64
	track          uint64
	count          int64
	category, name string
	arguments      map[string]any
	correlation    uint64
	flows, ending  []uint64
}

// Decode reads a trace. It fails for what no reader would take.
func Decode(content []byte) (*Trace, error) {
	t := &Trace{Tracks: make(map[uint64]*Track), Clocks: make(map[uint64]int64), strings: make(map[protowire.Number]map[uint64]string)}
	if err := t.packets(content); err != nil {
		return nil, err
	}
	if t.snapshots != 1 {
		return nil, fmt.Errorf("%d clock snapshots", t.snapshots)
	}
	if err := t.play(); err != nil {
		return t, err
	}
	return t, t.playTasks()
}

// field is a field of a message: bytes, or a number.
type field struct {
	number protowire.Number
	bytes  []byte
	value  uint64
}

func fields(message []byte) (all []field, err error) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		message = message[n:]
		f := field{number: number}
		switch kind {
		case protowire.VarintType:
			f.value, n = protowire.ConsumeVarint(message)
		case protowire.Fixed64Type:
			f.value, n = protowire.ConsumeFixed64(message)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(message)
		default:
			return nil, fmt.Errorf("field %d has type %d", number, kind)
		}
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		message = message[n:]
		all = append(all, f)
	}
	return all, nil
}

func (t *Trace) packets(content []byte) error {
	all, err := fields(content)
	if err != nil {
		return err
	}
	for _, f := range all {
		if f.number != 1 || f.bytes == nil {
			return fmt.Errorf("field %d in Trace", f.number)
		}
		if err := t.packet(f.bytes); err != nil {
			return err
		}
	}
	return nil
}

const maxBundle = 512_000

func (t *Trace) packet(content []byte) error {
	all, err := fields(content)
	if err != nil {
		return err
	}
	var at int64
	var hasTime, ofSequence, event bool
	var sequenceFlags uint64
	for _, f := range all {
		switch f.number {
		case 50, 133:
			if len(content) >= maxBundle {
				return fmt.Errorf("%d bytes of compressed packets", len(content))
			}
			inner, err := decompress(f)
			if err != nil {
				return err
			}
			return t.packets(inner)
		case 8:
			at, hasTime = int64(f.value), true
		case 10:
			ofSequence = true
		case 13:
			sequenceFlags = f.value
		case 11, 117:
			event = true
		}
	}
	t.Packets = protowire.AppendBytes(protowire.AppendTag(t.Packets, 1, protowire.BytesType), content)
	if !ofSequence || sequenceFlags == 0 {
		return errors.New("a packet of no sequence")
	}
	if event != hasTime {
		return errors.New("an event without a time, or a time without an event")
	}
	for _, f := range all {
		var err error
		switch f.number {
		case 6:
			err = t.snapshot(f.bytes)
		case 12:
			err = t.intern(f.bytes)
		case 60:
			err = t.track(f.bytes)
		case 11:
			err = t.event(at, f.bytes)
		case 117:
			err = t.task(at, f.bytes)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func decompress(f field) ([]byte, error) {
	if f.number == 50 {
		r, err := zlib.NewReader(bytes.NewReader(f.bytes))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(r)
	}
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.DecodeAll(f.bytes, nil)
}

func (t *Trace) snapshot(message []byte) error {
	t.snapshots++
	all, err := fields(message)
	for _, f := range all {
		if f.number != 1 {
			continue
		}
		clock, err := fields(f.bytes)
		if err != nil {
			return err
		}
		t.Clocks[clock[0].value] = int64(clock[1].value)
	}
	return err
}

func (t *Trace) intern(message []byte) error {
	all, err := fields(message)
	for _, f := range all {
		entry, err := fields(f.bytes)
		if err != nil || len(entry) != 2 {
			return fmt.Errorf("interned: %v, %w", entry, err)
		}
		of := t.strings[f.number]
		if of == nil {
			of = make(map[uint64]string)
			t.strings[f.number] = of
		}
		id := entry[0].value
		if _, known := of[id]; known || id == 0 {
			return fmt.Errorf("string %d of %d is interned twice, or zero", id, f.number)
		}
		of[id] = string(entry[1].bytes)
	}
	return err
}

func (t *Trace) interned(field protowire.Number, id uint64) (string, error) {
	text, ok := t.strings[field][id]
	if !ok {
		return "", fmt.Errorf("string %d of %d is not interned", id, field)
	}
	return text, nil
}

func (t *Trace) track(message []byte) error {
	all, err := fields(message)
	if err != nil {
		return err
	}
	track := new(Track)
	for _, f := range all {
		switch f.number {
		case 1:
			track.UUID = f.value
		case 2:
			track.Name = string(f.bytes)
		case 5:
			track.Parent = f.value
		case 8:
			track.IsCounter = true
		case 3, 4:
			of, err := fields(f.bytes)
			if err != nil {
				return err
			}
			for _, g := range of {
				switch {
				case g.number == 1:
					track.PID = int64(g.value)
				case g.number == 2 && f.number == 4:
					track.TID = int64(g.value)
				case g.number == 6 && f.number == 3:
					track.Process = string(g.bytes)
				}
			}
		}
	}
	if track.UUID == 0 || t.Tracks[track.UUID] != nil {
		return fmt.Errorf("track %d is described twice, or the global one", track.UUID)
	}
	if track.Parent != 0 && t.Tracks[track.Parent] == nil {
		return fmt.Errorf("track %d has no parent %d", track.UUID, track.Parent)
	}
	t.Tracks[track.UUID] = track
	return nil
}

func (t *Trace) event(at int64, message []byte) error {
	all, err := fields(message)
	if err != nil {
		return err
	}
	e := &event{at: at}
	for _, f := range all {
		var err error
		switch f.number {
		case 3:
			e.category, err = t.interned(1, f.value)
		case 4:
			err = t.argument(e, f.bytes)
		case 9:
			e.kind = f.value
		case 10:
			e.name, err = t.interned(2, f.value)
		case 11:
			e.track = f.value
		case 30:
			e.count = int64(f.value)
		case 47:
			e.flows = append(e.flows, f.value)
		case 48:
			e.ending = append(e.ending, f.value)
		case 52:
			e.correlation = f.value
		default:
			err = fmt.Errorf("field %d in an event", f.number)
		}
		if err != nil {
			return err
		}
	}
	if t.Tracks[e.track] == nil {
		return fmt.Errorf("an event on track %d, which is not described before", e.track)
	}
	t.events = append(t.events, e)
	return nil
}

func (t *Trace) argument(e *event, message []byte) error {
	all, err := fields(message)
	if err != nil {
		return err
	}
	name := ""
	var value any
	for _, f := range all {
		switch f.number {
		case 1:
			if name, err = t.interned(3, f.value); err != nil {
				return err
			}
		case 4:
			value = int64(f.value)
		case 6:
			value = string(f.bytes)
		case 17:
			text, err := t.interned(29, f.value)
			if err != nil {
				return err
			}
			value = text
		}
	}
	if e.arguments == nil {
		e.arguments = make(map[string]any)
	}
	if _, twice := e.arguments[name]; name == "" || value == nil || twice {
		return fmt.Errorf("argument %q is %v", name, value)
	}
	e.arguments[name] = value
	return nil
}

// play goes through the events as trace_processor does: in the order of time, those of one time as they are written.
func (t *Trace) play() error {
	slices.SortStableFunc(t.events, func(a, b *event) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		}
		return 0
	})
	open := make(map[uint64][]*Slice)
	flows := make(map[uint64]*Slice)
	used := make(map[uint64]bool)
	for _, e := range t.events {
		track := t.Tracks[e.track]
		if track.IsCounter != (e.kind == 4) {
			return fmt.Errorf("an event of type %d on track %q", e.kind, track.Name)
		}
		stack := open[e.track]
		s := &Slice{Track: track, Category: e.category, Name: e.name, Begin: e.at, End: e.at, Arguments: e.arguments, Correlation: e.correlation, Flows: e.flows, Ending: e.ending}
		if len(stack) > 0 {
			s.Parent = stack[len(stack)-1]
		}
		switch e.kind {
		case 1:
			open[e.track] = append(stack, s)
			t.Slices = append(t.Slices, s)
		case 2:
			if s.Parent == nil {
				return fmt.Errorf("at %d a slice ends on track %d where none has begun", e.at, e.track)
			}
			s.Parent.End = e.at
			open[e.track] = stack[:len(stack)-1]
			continue
		case 3:
			t.Instants = append(t.Instants, s)
		case 4:
			t.Counters = append(t.Counters, Count{track, e.at, e.count})
			continue
		default:
			return fmt.Errorf("an event of type %d", e.kind)
		}
		for _, id := range e.flows {
			if used[id] {
				return fmt.Errorf("flow %d begins twice", id)
			}
			used[id], flows[id] = true, s
		}
		for _, id := range e.ending {
			if flows[id] == nil {
				return fmt.Errorf("flow %d ends at %d in %q without a begin", id, e.at, e.name)
			}
			t.Flows = append(t.Flows, Flow{id, flows[id], s})
			delete(flows, id)
		}
	}
	for _, stack := range open {
		if len(stack) > 0 {
			return fmt.Errorf("%q of track %d has no end", stack[0].Name, stack[0].Track.UUID)
		}
	}
	return nil
}
