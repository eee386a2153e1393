package system_test

import (
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// The names of functions as recordings of real nodes have them, shortened.
const (
	timeSource       = "rclcpp::TimeSource::NodeState::attachNode(std::shared_ptr<rclcpp::node_interfaces::NodeBaseInterface>)::{lambda(std::shared_ptr<rcl_interfaces::msg::ParameterEvent>)#1}"
	parameterService = "rclcpp::ParameterService::ParameterService(std::shared_ptr<rclcpp::node_interfaces::NodeBaseInterface>)::{lambda()#1}"
	usersOwn         = "Monitor::on_event(std::shared_ptr<rcl_interfaces::msg::ParameterEvent>)"
)

func published(topic, messageType string) system.Endpoint {
	return system.Endpoint{Kind: system.PublisherEndpoint, Name: topic, Type: messageType}
}

func received(topic, messageType, symbol string) system.Endpoint {
	return system.Endpoint{Kind: system.SubscriptionEndpoint, Name: topic, Type: messageType, Symbol: symbol}
}

func served(name, serviceType, symbol string) system.Endpoint {
	return system.Endpoint{Kind: system.ServiceEndpoint, Name: name, Type: serviceType, Symbol: symbol}
}

func TestStandardEndpoints(t *testing.T) {
	parameterEvents := received("/parameter_events", "rcl_interfaces/msg/ParameterEvent", timeSource)
	for _, c := range []struct {
		name      string
		node      string
		endpoints []system.Endpoint
		standard  []bool
	}{
		{"a node of Jazzy", "/ns/n", []system.Endpoint{
			published("/rosout", "rcl_interfaces/msg/Log"), published("/parameter_events", ""), published("/points", ""), parameterEvents,
			served("/ns/n/describe_parameters", "rcl_interfaces/srv/DescribeParameters", parameterService), served("/ns/n/get_parameter_types", "", ""),
			served("/ns/n/get_parameters", "", parameterService), served("/ns/n/list_parameters", "", ""), served("/ns/n/set_parameters", "", ""),
			served("/ns/n/set_parameters_atomically", "", ""), served("/ns/n/get_type_description", "type_description_interfaces/srv/GetTypeDescription", ""),
		}, []bool{true, true, false, true, true, true, true, true, true, true, true}},
		{"life cycles and actions are what authors want", "/n", []system.Endpoint{
			served("/n/change_state", "lifecycle_msgs/srv/ChangeState", ""), published("/n/transition_event", ""), served("/n/go/_action/send_goal", "", ""),
			served("/n/get_logger_levels", "rcl_interfaces/srv/GetLoggerLevels", ""),
		}, []bool{false, false, false, false}},
		{"services of another node's name", "/n", []system.Endpoint{served("/m/get_parameters", "", ""), served("/n/x/get_parameters", "", ""), served("/get_parameters", "", "")}, []bool{false, false, false}},
		{"another type", "/n", []system.Endpoint{published("/rosout", "std_msgs/msg/String"), served("/n/get_parameters", "my/srv/Get", "")}, []bool{false, false}},
		{"another function", "/n", []system.Endpoint{received("/parameter_events", "", usersOwn), served("/n/get_parameters", "", usersOwn)}, []bool{false, false}},
		{"rclcpp's own, but not the TimeSource's", "/n", []system.Endpoint{received("/parameter_events", "", "rclcpp::ParameterEventHandler::event_callback()")}, []bool{false}},
		{"a second subscription, whose function is known", "/n", []system.Endpoint{received("/parameter_events", "", usersOwn), parameterEvents}, []bool{false, true}},
		{"a second subscription, whose function is unknown", "/n", []system.Endpoint{received("/parameter_events", "", ""), parameterEvents}, []bool{false, true}},
		{"two that nothing tells apart", "/n", []system.Endpoint{received("/parameter_events", "", ""), received("/parameter_events", "", "")}, []bool{false, false}},
		{"two of the TimeSource", "/n", []system.Endpoint{parameterEvents, parameterEvents}, []bool{false, false}},
		{"one whose function is unknown", "/n", []system.Endpoint{received("/parameter_events", "", "")}, []bool{true}},
		{"two publishers that nothing tells apart", "/n", []system.Endpoint{published("/rosout", ""), published("/rosout", "")}, []bool{false, false}},
		{"who collects /rosout", "/n", []system.Endpoint{received("/rosout", "rcl_interfaces/msg/Log", "")}, []bool{false}},
		{"simulated time", "/n", []system.Endpoint{received("/clock", "rosgraph_msgs/msg/Clock", timeSource)}, []bool{true}},
		{"somebody who receives /clock", "/n", []system.Endpoint{received("/clock", "", ""), received("/clock", "", usersOwn)}, []bool{false, false}},
		{"who publishes /clock", "/n", []system.Endpoint{published("/clock", "")}, []bool{false}},
		{"an unknown node", "", []system.Endpoint{published("/rosout", ""), served("/n/get_parameters", "", ""), served("/get_parameters", "", "")}, []bool{false, false, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := system.StandardEndpoints(c.node, c.endpoints); !slices.Equal(got, c.standard) {
				t.Errorf("%v, want %v, of %+v", got, c.standard, c.endpoints)
			}
		})
	}
}

// What a callback was seen to do is not hidden with it.
func TestStandardCallbacksDoNothingElse(t *testing.T) {
	for _, c := range []struct {
		name     string
		change   func(n *system.Node, c *system.Callback)
		standard bool
	}{
		{"nothing else", func(*system.Node, *system.Callback) {}, true},
		{"publishes what every node does", func(n *system.Node, c *system.Callback) {
			c.Publishes = []system.CallbackPublish{{Publisher: n.Publishers[0], Count: 1}}
		}, true},
		{"publishes a topic of the node's", func(n *system.Node, c *system.Callback) {
			c.Publishes = []system.CallbackPublish{{Publisher: n.Publishers[1], Count: 1}}
		}, false},
		{"polls", func(n *system.Node, c *system.Callback) {
			c.Polls = []system.CallbackPoll{{Subscription: n.Subscriptions[0], Count: 1}}
		}, false},
		{"hands a variable on", func(n *system.Node, c *system.Callback) {
			n.VariablePassings = []system.VariablePassing{{Write: c, Read: new(system.Callback)}}
		}, false},
		{"uses a variable", func(n *system.Node, c *system.Callback) {
			n.VariablePassings = []system.VariablePassing{{Write: new(system.Callback), Read: c}}
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := &system.Node{Name: "/n"}
			callback := &system.Callback{Node: n, Kind: trace.KindService}
			n.Publishers = []*system.Publisher{{Node: n, TopicName: "/rosout"}, {Node: n, TopicName: "/points"}}
			n.Subscriptions = []*system.Subscription{{Node: n, TopicName: "/parameter_events"}}
			n.Services = []*system.Service{{Node: n, ServiceName: "/n/set_parameters", Callback: callback}}
			c.change(n, callback)
			standard := (&system.Architecture{Nodes: []*system.Node{n}}).Standard()
			if standard.Callback(callback) != c.standard || standard.Service(n.Services[0]) != c.standard {
				t.Errorf("standard: the callback %v, its service %v, want %v", standard.Callback(callback), standard.Service(n.Services[0]), c.standard)
			}
			if !standard.Publisher(n.Publishers[0]) || standard.Publisher(n.Publishers[1]) || !standard.Subscription(n.Subscriptions[0]) {
				t.Error("another entity is said wrongly to be standard or not")
			}
		})
	}
}

func TestStandardTopicsAreNobodysOwn(t *testing.T) {
	talker, listener := &system.Node{Name: "/talker"}, &system.Node{Name: "/listener"}
	logs, events := &system.Publisher{Node: talker, TopicName: "/rosout"}, &system.Publisher{Node: talker, TopicName: "/parameter_events"}
	talker.Publishers = []*system.Publisher{logs, events}
	collector := &system.Subscription{Node: listener, TopicName: "/rosout"}
	time := &system.Subscription{Node: listener, TopicName: "/parameter_events"}
	listener.Subscriptions = []*system.Subscription{collector, time}
	standard := (&system.Architecture{Nodes: []*system.Node{talker, listener}}).Standard()
	if standard.Topic("/rosout") || !standard.Topic("/parameter_events") || standard.Topic("/points") {
		t.Error("/rosout, which somebody collects, is standard, or /parameter_events is not")
	}
	own := &system.Publisher{Node: listener, TopicName: "/parameter_events", MessageType: "std_msgs/msg/String"}
	listener.Publishers = []*system.Publisher{own}
	if (&system.Architecture{Nodes: []*system.Node{talker, listener}}).Standard().Topic("/parameter_events") {
		t.Error("a topic that somebody publishes by himself is standard")
	}
	if !standard.Communication(logs, collector) || standard.Subscription(collector) {
		t.Error("the way from a standard publisher is not standard, or its receiver is")
	}
}

// A subscription that callbacks take from by themselves is none of rclcpp's.
func TestPolledSubscriptionIsNotStandard(t *testing.T) {
	n := &system.Node{Name: "/n"}
	n.Subscriptions = []*system.Subscription{{Node: n, TopicName: "/parameter_events", PolledBy: []*system.Callback{{Node: n}}}}
	if (&system.Architecture{Nodes: []*system.Node{n}}).Standard().Subscription(n.Subscriptions[0]) {
		t.Error("a subscription that is polled is standard")
	}
}

// The middleware of a process learns of others' nodes by a subscription that belongs to no node.
func TestMiddlewareIsStandard(t *testing.T) {
	for name, test := range map[string]struct {
		node     string
		change   func(*system.Subscription)
		standard bool
	}{
		"of no node":      {"", func(*system.Subscription) {}, true},
		"another topic":   {"", func(s *system.Subscription) { s.TopicName = "/points" }, false},
		"with a callback": {"", func(s *system.Subscription) { s.Callback = new(system.Callback) }, false},
		"polled":          {"", func(s *system.Subscription) { s.PolledBy = []*system.Callback{{}} }, false},
		"of a node":       {"/n", func(*system.Subscription) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			n := &system.Node{Name: test.node}
			sub := &system.Subscription{Node: n, TopicName: trace.DiscoveryTopic}
			test.change(sub)
			n.Subscriptions = []*system.Subscription{sub}
			if standard := (&system.Architecture{Nodes: []*system.Node{n}}).Standard(); standard.Subscription(sub) != test.standard {
				t.Errorf("it is standard: %v", !test.standard)
			}
		})
	}
}
