package entities

import (
	"fmt"
	"slices"
	"strings"

	"github.com/caret-bpf/caret-bpf/trace"
)

// Servers and clients of actions are waitables of a callback group. They hold an rcl_action_server_t or
// rcl_action_client_t, whose implementation begins with five handles: of the services or clients below, then of the
// publishers or subscriptions of feedback and status. The names of the five prove that they are those. In a server the
// timer follows with which rcl lets goals expire.

const (
	actionServerName = "N13rclcpp_action6ServerI"
	actionClientName = "N13rclcpp_action6ClientI"

	// maxActionWords and maxActionImplWords bound where an object and its implementation keep the pointers that lead to
	// the handles.
	maxActionWords     = 32
	maxActionImplWords = 32
)

var (
	actionServices = [...]string{"/_action/send_goal", "/_action/cancel_goal", "/_action/get_result"}
	actionTopics   = [...]string{"/_action/feedback", "/_action/status"}
)

// actionTypes returns the types of an action's services and topics.
func actionTypes(action string) (services, topics []string) {
	if action != "" {
		services = []string{action + "_SendGoal", "action_msgs/srv/CancelGoal", action + "_GetResult"}
		topics = []string{action + "_FeedbackMessage", "action_msgs/msg/GoalStatusArray"}
		return services, topics
	}
	return []string{"", "action_msgs/srv/CancelGoal", ""}, []string{"", "action_msgs/msg/GoalStatusArray"}
}

// handleSize is that of an rcl_service_t, rcl_client_t, rcl_publisher_t or rcl_subscription_t.
const handleSize = wordSize

// addAction adds what a waitable that is a server or client of an action consists of. Other waitables have no rows.
func (s *survey) addAction(waitable trace.Address, group *trace.CallbackGroup) error {
	found, _, err := s.classes.of(waitable)
	if err != nil {
		return err
	}
	if template, ok := found.find(actionServerName); ok {
		return s.addActionServer(waitable, interfaceType(template.name), group)
	}
	if template, ok := found.find(actionClientName); ok {
		return s.addActionClient(waitable, interfaceType(template.name), group)
	}
	return nil
}

func (s *survey) addActionServer(waitable trace.Address, action string, group *trace.CallbackGroup) error {
	handles, err := s.actionHandles(waitable, func(handle trace.Address) (string, error) {
		row, err := s.serviceAt(handle)
		return row.ServiceName, err
	})
	if err != nil {
		return err
	}
	services, err := steady(slices.Equal, func() ([]trace.ServiceServer, error) {
		return eachHandle(handles, len(actionServices), s.serviceAt)
	})
	if err != nil {
		return err
	}
	publishers, err := steady(slices.Equal, func() ([]trace.Publisher, error) {
		return eachHandle(handles+trace.Address(len(actionServices)*handleSize), len(actionTopics), s.publisherAt)
	})
	if err != nil {
		return err
	}
	timer, err := steady(same, func() (trace.Timer, error) {
		return s.timerAt(handles + trace.Address((len(actionServices)+len(actionTopics))*handleSize))
	})
	if err != nil {
		return err
	}
	timer.NodeHandle, timer.NodeName, timer.CallbackGroup = group.NodeHandle, group.NodeName, group.CallbackGroup
	s.rows.Timers = append(s.rows.Timers, timer)
	serviceTypes, topicTypes := actionTypes(action)
	for i, row := range services {
		row.NodeHandle, row.NodeName, row.CallbackGroup, row.ServiceType = group.NodeHandle, group.NodeName, group.CallbackGroup, serviceTypes[i]
		s.rows.ServiceServers = append(s.rows.ServiceServers, row)
	}
	for i, row := range publishers {
		if strings.HasSuffix(row.TopicName, actionTopics[i]) {
			row.NodeHandle, row.NodeName, row.MessageType = group.NodeHandle, group.NodeName, topicTypes[i]
			s.rows.Publishers = append(s.rows.Publishers, row)
		}
	}
	return nil
}

func (s *survey) addActionClient(waitable trace.Address, action string, group *trace.CallbackGroup) error {
	handles, err := s.actionHandles(waitable, func(handle trace.Address) (string, error) {
		row, err := s.clientAt(handle)
		return row.ServiceName, err
	})
	if err != nil {
		return err
	}
	clients, err := steady(slices.Equal, func() ([]trace.Client, error) {
		return eachHandle(handles, len(actionServices), s.clientAt)
	})
	if err != nil {
		return err
	}
	subscriptions, err := steady(slices.Equal, func() ([]trace.Subscription, error) {
		return eachHandle(handles+trace.Address(len(actionServices)*handleSize), len(actionTopics), s.subscriptionAt)
	})
	if err != nil {
		return err
	}
	serviceTypes, topicTypes := actionTypes(action)
	for i, row := range clients {
		row.NodeHandle, row.NodeName, row.CallbackGroup, row.ServiceType = group.NodeHandle, group.NodeName, group.CallbackGroup, serviceTypes[i]
		s.rows.Clients = append(s.rows.Clients, row)
	}
	for i, row := range subscriptions {
		if strings.HasSuffix(row.TopicName, actionTopics[i]) {
			row.NodeHandle, row.NodeName, row.CallbackGroup, row.MessageType = group.NodeHandle, group.NodeName, group.CallbackGroup, topicTypes[i]
			s.rows.Subscriptions = append(s.rows.Subscriptions, row)
		}
	}
	return nil
}

// actionHandles finds the handles of an action by the names of its services: from the object by two pointers to the rcl
// object, whose first word leads to them.
func (s *survey) actionHandles(object trace.Address, nameOf func(handle trace.Address) (string, error)) (trace.Address, error) {
	for i := range trace.Address(maxActionWords) {
		implementation, err := s.pointer(object + i*wordSize)
		if err != nil {
			continue
		}
		for j := range trace.Address(maxActionImplWords) {
			action, err := s.pointer(implementation + j*wordSize)
			if err != nil {
				continue
			}
			handles, err := s.pointer(action)
			if err == nil && s.areActionHandles(handles, nameOf) {
				return handles, nil
			}
		}
	}
	return 0, fmt.Errorf("the object at %v leads to no action: %w", object, errImplausible)
}

func (s *survey) areActionHandles(handles trace.Address, nameOf func(handle trace.Address) (string, error)) bool {
	action := ""
	for i, suffix := range actionServices {
		name, err := nameOf(handles + trace.Address(i*handleSize))
		if err != nil {
			return false
		}
		prefix, ok := strings.CutSuffix(name, suffix)
		if !ok || action != "" && prefix != action {
			return false
		}
		action = prefix
	}
	return true
}

// eachHandle reads what a row of handles leads to.
func eachHandle[R any](first trace.Address, count int, read func(trace.Address) (R, error)) ([]R, error) {
	rows := make([]R, 0, count)
	for i := range count {
		row, err := read(first + trace.Address(i*handleSize))
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}
