package entities

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	lifecycleNodeName = "N16rclcpp_lifecycle13LifecycleNodeE"

	// The types of the topic and a service that every managed node has.
	changeStateType     = "lifecycle_msgs/srv/ChangeState"
	transitionEventType = "lifecycle_msgs/msg/TransitionEvent"

	// maxLifecycleNode and maxLifecycleImpl bound where a managed node keeps the pointer to its implementation, and that
	// its state machine.
	maxLifecycleNode = 1536
	maxLifecycleImpl = 768
)

var errNoStateMachine = errors.New("the managed node leads to no state machine")

// noteChangeState remembers the service by which a managed node's state is changed. rclcpp's handle is a copy of the
// one in the state machine: both have the same implementation.
func (s *survey) noteChangeState(service trace.ServiceServer) error {
	implementation, err := s.word(service.ServiceHandle + trace.Address(s.layout.Service.Impl))
	if err == nil {
		s.changeState[implementation] = service
	}
	return err
}

// addStateMachine adds the state machine of an rclcpp_lifecycle::LifecycleNode: it is in the node's implementation, and
// proven by its publisher and its service.
func (s *survey) addStateMachine(node trace.Address, _ *class) error {
	for offset := trace.Address(0); offset < maxLifecycleNode; offset += wordSize {
		implementation, err := s.pointer(node + offset)
		if isFinal(err) {
			return err
		}
		if err != nil {
			continue
		}
		block := make([]byte, maxLifecycleImpl)
		if err := s.memory.ReadAt(block, uint64(implementation)); err != nil {
			if isFinal(err) {
				return err
			}
			continue
		}
		for _, machine := range s.stateMachinesIn(block) {
			if err := s.addStateMachineAt(implementation+machine.offset, machine.service); err == nil || isFinal(err) {
				return err
			}
		}
	}
	return errNoStateMachine
}

// stateMachineAt is where a state machine may be, with the service by which it is changed.
type stateMachineAt struct {
	offset  trace.Address
	service trace.ServiceServer
}

// stateMachinesIn finds the places in a block of memory that refer to a service by which a state is changed.
func (s *survey) stateMachinesIn(block []byte) []stateMachineAt {
	var found []stateMachineAt
	for at := s.layout.StateMachine.ChangeState; at+wordSize <= uint64(len(block)); at += wordSize {
		if service, ok := s.changeState[binary.LittleEndian.Uint64(block[at:])]; ok {
			found = append(found, stateMachineAt{trace.Address(at - s.layout.StateMachine.ChangeState), service})
		}
	}
	return found
}

func (s *survey) addStateMachineAt(machine trace.Address, service trace.ServiceServer) error {
	publisher, err := steady(same, func() (trace.Publisher, error) {
		row, err := s.publisherAt(machine + trace.Address(s.layout.StateMachine.TransitionEvent))
		if err == nil && !strings.HasSuffix(row.TopicName, "/transition_event") {
			err = fmt.Errorf("%v is no state machine: %w", machine, errImplausible)
		}
		return row, err
	})
	if err != nil {
		return err
	}
	publisher.NodeHandle, publisher.NodeName, publisher.MessageType = service.NodeHandle, service.NodeName, transitionEventType
	s.rows.Publishers = append(s.rows.Publishers, publisher)
	s.rows.LifecycleStateMachines = append(s.rows.LifecycleStateMachines, trace.LifecycleStateMachine{
		StateMachine: machine, NodeHandle: service.NodeHandle, NodeName: service.NodeName, Provenance: trace.FromMemory,
	})
	return nil
}
