package main

import (
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// The architecture as JSON: a tree, in which what belongs to several is told by name.
type (
	architectureView struct {
		Nodes          []nodeView          `json:"nodes"`
		Executors      []executorView      `json:"executors"`
		Communications []communicationView `json:"communications"`
		NamedPaths     []namedPathView     `json:"named_paths"`
	}

	nodeView struct {
		Name             string               `json:"node_name"`
		Process          trace.ProcessKey     `json:"process"`
		Callbacks        []callbackView       `json:"callbacks"`
		Publishers       []publisherView      `json:"publishers"`
		Subscriptions    []subscriptionView   `json:"subscriptions"`
		Services         []serviceView        `json:"services"`
		Clients          []serviceView        `json:"clients"`
		CallbackGroups   []groupView          `json:"callback_groups"`
		VariablePassings []variableView       `json:"variable_passings"`
		MessageContexts  []messageContextView `json:"message_contexts"`
	}

	callbackView struct {
		Name                string                `json:"callback_name"`
		Kind                string                `json:"kind"`
		TopicName           string                `json:"topic_name,omitempty"`
		ServiceName         string                `json:"service_name,omitempty"`
		Period              trace.Optional[int64] `json:"period"`
		Symbol              string                `json:"symbol"`
		Callback            trace.Address         `json:"callback"`
		IntraProcess        trace.Address         `json:"intra_process_callback"`
		ConstructionOrder   int                   `json:"construction_order"`
		CallbackGroup       string                `json:"callback_group_name,omitempty"`
		PublishedTopicNames []string              `json:"published_topic_names"`
		PolledTopicNames    []string              `json:"polled_topic_names"`
	}

	publisherView struct {
		TopicName         string        `json:"topic_name"`
		MessageType       string        `json:"message_type"`
		PublisherHandle   trace.Address `json:"publisher_handle"`
		ConstructionOrder int           `json:"construction_order"`
		CallbackNames     []string      `json:"callback_names"`
		OutsideCallbacks  uint64        `json:"publishes_outside_callbacks"`
	}

	subscriptionView struct {
		TopicName          string        `json:"topic_name"`
		MessageType        string        `json:"message_type"`
		SubscriptionHandle trace.Address `json:"subscription_handle"`
		ConstructionOrder  int           `json:"construction_order"`
		CallbackName       string        `json:"callback_name"`
		PolledBy           []string      `json:"polled_by"`
	}

	serviceView struct {
		ServiceName string `json:"service_name"`
		ServiceType string `json:"service_type"`
	}

	groupView struct {
		Name          string   `json:"callback_group_name"`
		Type          string   `json:"callback_group_type"`
		CallbackNames []string `json:"callback_names"`
	}

	executorView struct {
		Name       string           `json:"executor_name"`
		Type       string           `json:"executor_type"`
		Process    trace.ProcessKey `json:"process"`
		GroupNames []string         `json:"callback_group_names"`
	}

	communicationView struct {
		TopicName        string           `json:"topic_name"`
		PublishNode      string           `json:"publish_node_name"`
		PublishProcess   trace.ProcessKey `json:"publish_process"`
		SubscribeNode    string           `json:"subscribe_node_name"`
		SubscribeProcess trace.ProcessKey `json:"subscribe_process"`
	}

	variableView struct {
		Write string `json:"callback_name_write"`
		Read  string `json:"callback_name_read"`
	}

	messageContextView struct {
		Type              string `json:"context_type"`
		SubscriptionTopic string `json:"subscription_topic_name"`
		PublisherTopic    string `json:"publisher_topic_name"`
	}

	namedPathView struct {
		Name string `json:"path_name"`
		Path string `json:"path"`
	}
)

func viewArchitecture(a *system.Architecture) architectureView {
	view := architectureView{Nodes: []nodeView{}, Executors: []executorView{}, Communications: []communicationView{}, NamedPaths: []namedPathView{}}
	for _, n := range a.Nodes {
		if !isEmpty(n) {
			view.Nodes = append(view.Nodes, viewNode(n))
		}
	}
	for _, x := range a.Executors {
		e := executorView{Name: x.Name, Type: x.Type, Process: x.Process, GroupNames: []string{}}
		for _, g := range x.Groups {
			e.GroupNames = append(e.GroupNames, g.Name)
		}
		view.Executors = append(view.Executors, e)
	}
	for _, c := range a.Communications {
		view.Communications = append(view.Communications, communicationView{
			TopicName: c.TopicName, PublishNode: c.Publisher.Node.Name, PublishProcess: c.Publisher.Node.Process,
			SubscribeNode: c.Subscription.Node.Name, SubscribeProcess: c.Subscription.Node.Process,
		})
	}
	for _, p := range a.NamedPaths {
		view.NamedPaths = append(view.NamedPaths, namedPathView{Name: p.Name, Path: p.String()})
	}
	return view
}

func viewNode(n *system.Node) nodeView {
	view := nodeView{
		Name: n.Name, Process: n.Process, Callbacks: []callbackView{}, Publishers: []publisherView{}, Subscriptions: []subscriptionView{},
		Services: []serviceView{}, Clients: []serviceView{}, CallbackGroups: []groupView{}, VariablePassings: []variableView{}, MessageContexts: []messageContextView{},
	}
	for _, c := range n.Callbacks {
		view.Callbacks = append(view.Callbacks, viewCallback(c))
	}
	for _, p := range n.Publishers {
		view.Publishers = append(view.Publishers, publisherView{
			TopicName: p.TopicName, MessageType: p.MessageType, PublisherHandle: p.Handle, ConstructionOrder: p.ConstructionOrder,
			CallbackNames: namesOf(p.Callbacks), OutsideCallbacks: p.OutsideCallbacks,
		})
	}
	for _, s := range n.Subscriptions {
		v := subscriptionView{
			TopicName: s.TopicName, MessageType: s.MessageType, SubscriptionHandle: s.Handle, ConstructionOrder: s.ConstructionOrder, PolledBy: namesOf(s.PolledBy),
		}
		if s.Callback != nil {
			v.CallbackName = s.Callback.Name
		}
		view.Subscriptions = append(view.Subscriptions, v)
		for _, p := range n.Publishers {
			if context := n.Context(s, p); context != system.ContextUndefined {
				view.MessageContexts = append(view.MessageContexts, messageContextView{Type: string(context), SubscriptionTopic: s.TopicName, PublisherTopic: p.TopicName})
			}
		}
	}
	for _, s := range n.Services {
		view.Services = append(view.Services, serviceView{ServiceName: s.ServiceName, ServiceType: s.ServiceType})
	}
	for _, c := range n.Clients {
		view.Clients = append(view.Clients, serviceView{ServiceName: c.ServiceName, ServiceType: c.ServiceType})
	}
	for _, g := range n.CallbackGroups {
		view.CallbackGroups = append(view.CallbackGroups, groupView{Name: g.Name, Type: string(g.Type), CallbackNames: namesOf(g.Callbacks)})
	}
	for _, v := range n.VariablePassings {
		view.VariablePassings = append(view.VariablePassings, variableView{Write: v.Write.Name, Read: v.Read.Name})
	}
	return view
}

func viewCallback(c *system.Callback) callbackView {
	view := callbackView{
		Name: c.Name, Kind: string(c.Kind), TopicName: c.TopicName, ServiceName: c.ServiceName, Period: c.Period, Symbol: c.Symbol,
		Callback: c.Address, IntraProcess: c.IntraProcessAddress, ConstructionOrder: c.ConstructionOrder,
		PublishedTopicNames: []string{}, PolledTopicNames: []string{},
	}
	if c.Group != nil {
		view.CallbackGroup = c.Group.Name
	}
	for _, p := range c.Publishes {
		view.PublishedTopicNames = append(view.PublishedTopicNames, p.Publisher.TopicName)
	}
	for _, p := range c.Polls {
		view.PolledTopicNames = append(view.PolledTopicNames, p.Subscription.TopicName)
	}
	return view
}

func namesOf(callbacks []*system.Callback) []string {
	names := []string{}
	for _, c := range callbacks {
		names = append(names, c.Name)
	}
	return names
}
