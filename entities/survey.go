package entities

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
)

// survey follows the members of the objects that a census found and makes rows of what it proves. The process runs
// meanwhile: everything is read twice, and believed when both agree.
type survey struct {
	reader
	classes *classes
	rows    trace.Batch
	adapted map[trace.Address]bool // Snapshot.Adapted

	groups        map[trace.Address]*trace.CallbackGroup
	subscriptions map[trace.Address]bool // rclcpp objects that were read
	// changeState are services of managed nodes by the address of their implementation.
	changeState map[uint64]trace.ServiceServer
}

func newSurvey(r reader) *survey {
	return &survey{
		reader: r, classes: newClasses(r.view), adapted: make(map[trace.Address]bool),
		groups: make(map[trace.Address]*trace.CallbackGroup), subscriptions: make(map[trace.Address]bool),
		changeState: make(map[uint64]trace.ServiceServer),
	}
}

// self is where enable_shared_from_this keeps an object's weak pointer to itself, in all of rclcpp's classes that have
// one at the start.
const self = wordSize

// errTorn says that something changed while it was read.
var errTorn = errors.New("it changed while it was read")

// steady reads until two readings agree.
func steady[T any](equal func(a, b T) bool, read func() (T, error)) (T, error) {
	const attempts = 3
	last, err := read()
	for range attempts {
		again, againErr := read()
		if err == nil && againErr == nil && equal(last, again) {
			return again, nil
		}
		if err != nil && againErr != nil {
			return again, againErr
		}
		last, err = again, againErr
	}
	return last, errTorn
}

func same[T comparable](a, b T) bool { return a == b }

// isFinal reports whether an error ends the survey: nothing more can be read.
func isFinal(err error) bool { return errors.Is(err, target.ErrExited) || errors.Is(err, errManyReads) }

// all surveys what a census found in the mappings of a process. The error is the context's, or that of a process that
// is gone.
func (s *survey) all(ctx context.Context, objects []found, mappings []target.Mapping) error {
	steps := []struct {
		name string
		take func(part trace.Address, class *class) error
	}{
		{contextName, s.addContext},
		{nodeBaseName, s.addNode},
		{publisherBaseName, s.addPublisher},
		{subscriptionBaseName, s.addLooseSubscription},
		{lifecycleNodeName, s.addStateMachine},
		{executorName, s.addExecutor},
	}
	for _, step := range steps {
		for _, object := range objects {
			part, ok := object.class.find(step.name)
			if !ok {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := step.take(object.object+trace.Address(part.offset), object.class); isFinal(err) {
				return err
			}
		}
	}
	if err := s.addLoggers(mappings); err != nil {
		return err
	}
	for _, group := range s.groups {
		s.rows.CallbackGroups = append(s.rows.CallbackGroups, *group)
	}
	return nil
}

// isAlive proves that an object which holds a weak pointer to itself exists.
func (s *survey) isAlive(object trace.Address) error {
	pointer, err := s.sharedPointer(object + self)
	if err != nil {
		return err
	}
	if pointer.object != object || !s.lives(pointer) {
		return fmt.Errorf("the object at %v is not alive: %w", object, errImplausible)
	}
	return nil
}

func (s *survey) addContext(object trace.Address, _ *class) error {
	handle, err := steady(same, func() (trace.Address, error) {
		if err := s.isAlive(object); err != nil {
			return 0, err
		}
		handle, err := s.sharedPointer(object + trace.Address(s.layout.Context.RCLContext))
		if err == nil && !s.lives(handle) {
			err = errImplausible // after a shutdown there is none
		}
		return handle.object, err
	})
	if err != nil {
		return err
	}
	s.rows.Contexts = append(s.rows.Contexts, trace.Context{ContextHandle: handle, Provenance: trace.FromMemory})
	return nil
}

func (s *survey) addNode(object trace.Address, _ *class) error {
	row, err := steady(same, func() (trace.Node, error) {
		if err := s.isAlive(object); err != nil {
			return trace.Node{}, err
		}
		handle, err := s.pointer(object + trace.Address(s.layout.NodeBase.NodeHandle))
		if err != nil {
			return trace.Node{}, err
		}
		return s.nodeAt(handle)
	})
	if err != nil {
		return err
	}
	s.rows.Nodes = append(s.rows.Nodes, row)
	groups, err := steady(slices.Equal, func() ([]weakPointer, error) { return s.groupsOfNode(object) })
	if err != nil {
		return err
	}
	for _, group := range groups {
		if err := s.addGroup(group.object, row); isFinal(err) {
			return err
		}
	}
	return nil
}

// groupsOfNode returns the callback groups of a NodeBase that exist.
func (s *survey) groupsOfNode(object trace.Address) ([]weakPointer, error) {
	groups, err := s.pointerVector(object + trace.Address(s.layout.NodeBase.CallbackGroups))
	if err != nil {
		return nil, err
	}
	standard, err := s.sharedPointer(object + trace.Address(s.layout.NodeBase.DefaultCallbackGroup))
	if err != nil {
		return nil, err
	}
	if !slices.Contains(groups, standard) {
		groups = append(groups, standard)
	}
	return slices.DeleteFunc(groups, func(p weakPointer) bool { return !s.lives(p) }), nil
}

// members are the entities of a callback group that exist.
type members struct{ subscriptions, timers, services, clients, waitables []weakPointer }

func (m members) equal(other members) bool {
	return slices.Equal(m.subscriptions, other.subscriptions) && slices.Equal(m.timers, other.timers) &&
		slices.Equal(m.services, other.services) && slices.Equal(m.clients, other.clients) && slices.Equal(m.waitables, other.waitables)
}

func (s *survey) membersOf(group trace.Address) (members, error) {
	var m members
	for _, list := range []struct {
		members *[]weakPointer
		offset  uint64
	}{
		{&m.subscriptions, s.layout.CallbackGroup.Subscriptions},
		{&m.timers, s.layout.CallbackGroup.Timers},
		{&m.services, s.layout.CallbackGroup.Services},
		{&m.clients, s.layout.CallbackGroup.Clients},
		{&m.waitables, s.layout.CallbackGroup.Waitables},
	} {
		pointers, err := s.pointerVector(group + trace.Address(list.offset))
		if err != nil {
			return members{}, err
		}
		*list.members = slices.DeleteFunc(pointers, func(p weakPointer) bool { return !s.lives(p) })
	}
	return m, nil
}

func (s *survey) addGroup(group trace.Address, node trace.Node) error {
	if s.groups[group] != nil {
		return nil
	}
	kind, err := s.word(group + trace.Address(s.layout.CallbackGroup.Type))
	if err != nil {
		return err
	}
	name := groupTypeName(uint64(uint32(kind)))
	if name == "" {
		return fmt.Errorf("%v is no callback group: %w", group, errImplausible)
	}
	m, err := steady(members.equal, func() (members, error) { return s.membersOf(group) })
	if err != nil {
		return err
	}
	row := &trace.CallbackGroup{
		CallbackGroup: group, GroupTypeName: name, NodeHandle: node.NodeHandle,
		NodeName: fullName(node.Namespace, node.NodeName), Provenance: trace.FromMemory,
	}
	s.groups[group] = row
	for _, list := range []struct {
		members []weakPointer
		add     func(object trace.Address, group *trace.CallbackGroup) error
	}{
		{m.subscriptions, s.addSubscription}, {m.timers, s.addTimer}, {m.services, s.addService}, {m.clients, s.addClient},
		{m.waitables, s.addAction},
	} {
		for _, member := range list.members {
			if err := list.add(member.object, row); isFinal(err) {
				return err
			}
		}
	}
	return nil
}

func (s *survey) addExecutor(part trace.Address, _ *class) error {
	row, err := steady(same, func() (trace.Executor, error) { return s.executorAt(part) })
	if err != nil {
		return err
	}
	groups, err := steady(slices.Equal, func() ([]trace.Address, error) { return s.groupsOf(row) })
	if err != nil {
		return err
	}
	s.rows.Executors = append(s.rows.Executors, row)
	for _, address := range groups {
		if group := s.groups[address]; group != nil {
			group.Executor = row.Executor
		}
	}
	return nil
}
