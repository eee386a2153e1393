package system

import "strings"

// EndpointKind tells a node's endpoints apart.
type EndpointKind int

// The kinds of endpoints of which every node has some.
const (
	PublisherEndpoint EndpointKind = iota
	SubscriptionEndpoint
	ServiceEndpoint
)

// Endpoint is what a node publishes, receives or serves, as far as that tells whether every node has it.
type Endpoint struct {
	Kind EndpointKind
	// Name is that of the topic or of the service.
	Name string
	// Type is the ROS name of the type ("std_msgs/msg/String"), Symbol the demangled name of the callback's function. Each
	// is empty where unknown.
	Type, Symbol string
}

// standardEndpoint is an endpoint that every node has, because rcl, rclcpp or rclpy make it.
type standardEndpoint struct {
	kind EndpointKind
	// name is absolute, or begins with a slash after "~", the node's name.
	name, messageType string
	// function is how the names of its callback's function begin, "" if it has none.
	function string
	// onlyOnRequest: a node has it only if it was asked for, so that the name does not suffice.
	onlyOnRequest bool
}

// ofTimeSource begins the names of functions of rclcpp's TimeSource, ofROS those of all of rclcpp.
const (
	ofTimeSource = "rclcpp::TimeSource::"
	ofROS        = "rclcpp::"
)

// standardEndpoints are what a node has without its author having asked for it. Not among them are the services and
// the topic of life cycles, and those of actions: only some nodes have them, and their authors wanted them.
var standardEndpoints = []standardEndpoint{
	{kind: PublisherEndpoint, name: "/rosout", messageType: "rcl_interfaces/msg/Log"},
	{kind: PublisherEndpoint, name: "/parameter_events", messageType: "rcl_interfaces/msg/ParameterEvent"},
	{kind: SubscriptionEndpoint, name: "/parameter_events", messageType: "rcl_interfaces/msg/ParameterEvent", function: ofTimeSource},
	{kind: SubscriptionEndpoint, name: "/clock", messageType: "rosgraph_msgs/msg/Clock", function: ofTimeSource, onlyOnRequest: true}, // use_sim_time
	{kind: ServiceEndpoint, name: "~/describe_parameters", messageType: "rcl_interfaces/srv/DescribeParameters", function: ofROS},
	{kind: ServiceEndpoint, name: "~/get_parameter_types", messageType: "rcl_interfaces/srv/GetParameterTypes", function: ofROS},
	{kind: ServiceEndpoint, name: "~/get_parameters", messageType: "rcl_interfaces/srv/GetParameters", function: ofROS},
	{kind: ServiceEndpoint, name: "~/list_parameters", messageType: "rcl_interfaces/srv/ListParameters", function: ofROS},
	{kind: ServiceEndpoint, name: "~/set_parameters", messageType: "rcl_interfaces/srv/SetParameters", function: ofROS},
	{kind: ServiceEndpoint, name: "~/set_parameters_atomically", messageType: "rcl_interfaces/srv/SetParametersAtomically", function: ofROS},
	{kind: ServiceEndpoint, name: "~/get_type_description", messageType: "type_description_interfaces/srv/GetTypeDescription", function: ofROS}, // since Iron
}

// StandardEndpoints tells which endpoints of one node, whose fully qualified name is given, are those that every node
// has: the publishers of /rosout and /parameter_events, the subscriptions of /parameter_events and /clock by which
// rclcpp keeps the node's time, and the services of parameters and of type descriptions. A type or a function
// that is known to be another shows that an endpoint is the node's own. Every node has one of each: where several fit,
// the one whose function is known is it, and none is where that does not tell them apart. Of a node whose name is
// unknown, nothing is.
func StandardEndpoints(node string, endpoints []Endpoint) []bool {
	standard := make([]bool, len(endpoints))
	if node == "" {
		return standard
	}
	type standing struct{ known, likely []int }
	found := make([]standing, len(standardEndpoints))
	for i := range endpoints {
		for j := range standardEndpoints {
			of := &standardEndpoints[j]
			switch {
			case !of.fits(node, &endpoints[i]):
			case of.function != "" && endpoints[i].Symbol != "":
				found[j].known = append(found[j].known, i)
			case !of.onlyOnRequest:
				found[j].likely = append(found[j].likely, i)
			}
		}
	}
	for _, of := range found {
		switch {
		case len(of.known) == 1:
			standard[of.known[0]] = true
		case len(of.known) == 0 && len(of.likely) == 1:
			standard[of.likely[0]] = true
		}
	}
	return standard
}

// fits reports whether nothing that is known of an endpoint speaks against it.
func (s *standardEndpoint) fits(node string, e *Endpoint) bool {
	if e.Kind != s.kind || e.Type != "" && e.Type != s.messageType || e.Symbol != "" && !strings.HasPrefix(e.Symbol, s.function) {
		return false
	}
	below, ofNode := strings.CutPrefix(s.name, "~")
	if !ofNode {
		return e.Name == s.name
	}
	name, ok := strings.CutPrefix(e.Name, node)
	return ok && name == below
}
