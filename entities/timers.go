package entities

import (
	"errors"
	"fmt"
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

// Where timers keep their callbacks. A GenericTimer's functor follows its TimerBase, and that is no POD: what is left
// of its last word is the functor's if that is small, and a functor of large alignment lies further on. So each type of
// functor has its place, which the timer's own code tells: execute_callback passes the functor's address to
// callback_start. A timer that was given a reference keeps that, and passes the address of a variable that lies
// anywhere.

const (
	// executeCallback is the position of execute_callback in the table of virtual functions of a TimerBase, after two
	// destructors and call.
	executeCallback = 3
	callbackStart   = "ros_trace_callback_start"
	// maxAlignment bounds the alignment of a functor that only its execution tells of: that of a line of the processor's
	// cache. Where a larger one would lie, other objects may begin.
	maxAlignment = 64
)

var errNoCode = errors.New("the code of the process cannot be followed")

// timerCallback returns the address that the code of a timer passes to callback_start. part is what of the timer is a
// TimerBase.
func (r reader) timerCallback(part trace.Address) (trace.Address, error) {
	code, ok := r.memory.(Code)
	if !ok {
		return 0, errNoCode
	}
	vtable, err := r.constant(part)
	if err != nil {
		return 0, err
	}
	function, err := r.word(vtable + executeCallback*wordSize)
	if err != nil {
		return 0, err
	}
	member, err := code.PassedMember(function, callbackStart)
	if err != nil {
		return 0, err
	}
	if len(member.Offsets) != 1 || member.Offsets[0] < int64(r.layout.TimerBase.End) {
		return 0, fmt.Errorf("a callback at %v of a timer: %w", member.Offsets, errImplausible)
	}
	at := part + trace.Address(member.Offsets[0])
	if member.Address {
		return at, nil
	}
	variable, err := r.word(at)
	if err == nil && variable < pageSize {
		err = fmt.Errorf("a callback at %#x: %w", variable, errImplausible)
	}
	return trace.Address(variable), err
}

// possibleTimers are the timers that could have their callback at an address, each as its TimerBase.
func (r reader) possibleTimers(callback trace.Address) []trace.Address {
	var parts []trace.Address
	for alignment := uint64(1); alignment <= maxAlignment && uint64(callback)%alignment == 0; alignment *= 2 {
		place := (r.layout.TimerBase.End + alignment - 1) &^ (alignment - 1)
		if part := callback - trace.Address(place); !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return parts
}

// keep makes a callback the timer's.
func (t *timer) keep(c *callback) {
	t.callback = c
	if !slices.Contains(c.timers, t) {
		c.timers = append(c.timers, t)
	}
}

// others are the timers beside t that live and have the callback.
func (c *callback) others(t *timer) []*timer {
	return slices.DeleteFunc(slices.Clone(c.timers), func(other *timer) bool { return other == t || other.ended })
}

// sharers are the timers that live and share the variable at an address with another one. A functor that is a timer's
// own is nobody else's: who had it there before has gone.
func (g *Graph) sharers(address trace.Address, time int64, t *timer) []*timer {
	c, ok := g.callbacks.at(address, time)
	if !ok {
		return nil
	}
	others := c.others(t)
	if len(others) == 0 {
		return nil
	}
	if _, own := g.timerClass(address); own {
		return nil
	}
	return others
}

// leave ends the callback of a timer that has ended, or leaves it to the others that share it.
func (g *Graph) leave(t *timer, time int64) {
	c := t.callback
	if c == nil || c.ended {
		return
	}
	others := c.others(t)
	if len(others) == 0 {
		g.callbacks.end(c, time)
		return
	}
	rest := &callback{life: life{since: time}}
	rest.current = c.current
	rest.current.InitTimestamp, rest.current.Provenance = trace.Some(time), trace.FromTracepoint
	g.callbacks.add(c.current.Callback, rest)
	for _, other := range others {
		other.keep(rest)
		g.changedTimer(other)
	}
}

// inheritTimers fills what the callback's row says of its timers. Of several nobody knows which one runs: what differs
// stays unknown.
func (c *callback) inheritTimers() {
	row := &c.current
	row.Kind = trace.KindTimer
	for i, t := range c.timers {
		if i == 0 {
			row.OwnerHandle, row.NodeName = t.current.TimerHandle, t.current.NodeName
			row.Period, row.CallbackGroup = t.current.Period, t.current.CallbackGroup
			continue
		}
		agree(&row.OwnerHandle, t.current.TimerHandle)
		agree(&row.NodeName, t.current.NodeName)
		agree(&row.Period, t.current.Period)
		agree(&row.CallbackGroup, t.current.CallbackGroup)
	}
}

// agree clears a field that has another value than one of those that it stands for.
func agree[T comparable](field *T, value T) {
	if *field != value {
		var unknown T
		*field = unknown
	}
}
