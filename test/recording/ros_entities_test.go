package recording

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/trace"
)

// expectedNode is what the sources of a node say that it has, besides what every node has.
type expectedNode struct {
	name string // with its namespace
	// Topics with their types; services and clients with theirs.
	publishers, subscriptions, services, clients []string
	timers                                       []time.Duration
	// actionServers and actionClients are actions with their types.
	actionServers, actionClients []string
	managed                      bool
	// unparameterized says that the node has neither parameter services nor a publisher of parameter events.
	unparameterized bool
}

// entities lists, in order, what the node has, as entitiesOf does.
func (n expectedNode) entities(distro string) []string {
	lines := []string{
		"node " + n.name,
		n.name + " publishes /rosout rcl_interfaces/msg/Log",
		n.name + " subscribes /parameter_events rcl_interfaces/msg/ParameterEvent",
	}
	add := func(verb string, what ...string) {
		for _, name := range what {
			lines = append(lines, n.name+" "+verb+" "+name)
		}
	}
	if !n.unparameterized {
		add("publishes", "/parameter_events rcl_interfaces/msg/ParameterEvent")
		add("serves", parameterServices(n.name)...)
	}
	if distro != "humble" {
		add("serves", n.name+"/get_type_description type_description_interfaces/srv/GetTypeDescription")
	}
	if n.managed {
		add("has", "a state machine")
		add("publishes", n.name+"/transition_event lifecycle_msgs/msg/TransitionEvent")
		for service, name := range map[string]string{
			"change_state": "ChangeState", "get_state": "GetState", "get_available_states": "GetAvailableStates",
			"get_available_transitions": "GetAvailableTransitions", "get_transition_graph": "GetAvailableTransitions",
		} {
			add("serves", n.name+"/"+service+" lifecycle_msgs/srv/"+name)
		}
	}
	for _, action := range n.actionServers {
		name, kind, _ := strings.Cut(action, " ")
		add("publishes", name+"/_action/feedback "+kind+"_FeedbackMessage", name+"/_action/status action_msgs/msg/GoalStatusArray")
		add("serves", actionServices(name, kind)...)
		add("timer", resultTimeout(distro).String()) // with which results expire
	}
	for _, action := range n.actionClients {
		name, kind, _ := strings.Cut(action, " ")
		add("subscribes", name+"/_action/feedback "+kind+"_FeedbackMessage", name+"/_action/status action_msgs/msg/GoalStatusArray")
		add("calls", actionServices(name, kind)...)
	}
	add("publishes", n.publishers...)
	add("subscribes", n.subscriptions...)
	add("serves", n.services...)
	add("calls", n.clients...)
	for _, period := range n.timers {
		add("timer", period.String())
	}
	slices.Sort(lines)
	return lines
}

// resultTimeout is how long servers of actions keep results unless they are told otherwise.
func resultTimeout(distro string) time.Duration {
	if distro == "humble" {
		return 15 * time.Minute
	}
	return 10 * time.Second
}

// withWholeExpiry gives the timer of an action server its longest period: after every goal, rcl sets it to what is left
// of the time that the oldest result is kept.
func (n expectedNode) withWholeExpiry(distro string, entities []string) {
	if len(n.actionServers) == 0 {
		return
	}
	for i, line := range entities {
		text, ok := strings.CutPrefix(line, n.name+" timer ")
		if period, err := time.ParseDuration(text); ok && err == nil && period < resultTimeout(distro) && !slices.Contains(n.timers, period) {
			entities[i] = n.name + " timer " + resultTimeout(distro).String()
		}
	}
	slices.Sort(entities)
}

func parameterServices(node string) []string {
	var services []string
	for service, name := range map[string]string{
		"describe_parameters": "DescribeParameters", "get_parameter_types": "GetParameterTypes", "get_parameters": "GetParameters",
		"list_parameters": "ListParameters", "set_parameters": "SetParameters", "set_parameters_atomically": "SetParametersAtomically",
	} {
		services = append(services, node+"/"+service+" rcl_interfaces/srv/"+name)
	}
	return services
}

func actionServices(name, kind string) []string {
	return []string{
		name + "/_action/send_goal " + kind + "_SendGoal", name + "/_action/cancel_goal action_msgs/srv/CancelGoal",
		name + "/_action/get_result " + kind + "_GetResult",
	}
}

// entitiesOf lists, in order, the entities of a process: those that live at the end of a recording, and perhaps those
// that were over before.
func entitiesOf(data *oracle.Dataset, pid int, over bool) []string {
	lines := map[string]string{}
	note := func(row trace.ProcessKey, ended trace.Optional[int64], kind string, handle trace.Address, line string) {
		if int(row.PID) != pid {
			return
		}
		lines[fmt.Sprint(kind, handle)] = line
		if ended.Valid && !over {
			delete(lines, fmt.Sprint(kind, handle))
		}
	}
	for _, row := range data.Nodes {
		name := strings.TrimSuffix(row.Namespace, "/") + "/" + row.NodeName
		note(row.ProcessKey, row.EndTimestamp, "node", row.NodeHandle, "node "+name)
	}
	for _, row := range data.Publishers {
		note(row.ProcessKey, row.EndTimestamp, "publisher", row.PublisherHandle, row.NodeName+" publishes "+row.TopicName+" "+row.MessageType)
	}
	for _, row := range data.Subscriptions {
		if !row.IsIntraProcess.Value && row.TopicName != trace.DiscoveryTopic {
			note(row.ProcessKey, row.EndTimestamp, "subscription", row.SubscriptionHandle,
				row.NodeName+" subscribes "+row.TopicName+" "+row.MessageType)
		}
	}
	for _, row := range data.ServiceServers {
		note(row.ProcessKey, row.EndTimestamp, "service", row.ServiceHandle, row.NodeName+" serves "+row.ServiceName+" "+row.ServiceType)
	}
	for _, row := range data.Clients {
		note(row.ProcessKey, row.EndTimestamp, "client", row.ClientHandle, row.NodeName+" calls "+row.ServiceName+" "+row.ServiceType)
	}
	for _, row := range data.Timers {
		note(row.ProcessKey, row.EndTimestamp, "timer", row.TimerHandle, row.NodeName+" timer "+time.Duration(row.Period.Value).String())
	}
	for _, row := range data.LifecycleStateMachines {
		note(row.ProcessKey, row.EndTimestamp, "state machine", row.StateMachine, row.NodeName+" has a state machine")
	}
	var sorted []string
	for _, line := range lines {
		sorted = append(sorted, line)
	}
	slices.Sort(sorted)
	return sorted
}

// requireNodes compares the entities of a process that live with what its sources say.
func requireNodes(t *testing.T, data *oracle.Dataset, distro string, pid int, nodes ...expectedNode) {
	t.Helper()
	requireEntitiesOf(t, entitiesOf(data, pid, false), distro, pid, nodes...)
	for _, row := range data.CallbackGroups {
		if int(row.PID) == pid && (row.NodeName == "" || row.GroupTypeName == "" || row.Executor == 0 && !row.EndTimestamp.Valid) {
			t.Errorf("callback group %+v", row)
		}
	}
}

// requireEntitiesOf compares a list of entities of a process with what its sources say.
func requireEntitiesOf(t *testing.T, got []string, distro string, pid int, nodes ...expectedNode) {
	t.Helper()
	var want []string
	for _, node := range nodes {
		want = append(want, node.entities(distro)...)
		node.withWholeExpiry(distro, got)
	}
	slices.Sort(want)
	missing, unexpected := oracle.Difference(want, got), oracle.Difference(got, want)
	if len(missing) > 0 || len(unexpected) > 0 {
		t.Errorf("PID %d: missing\n  %s\nunexpected\n  %s", pid, strings.Join(missing, "\n  "), strings.Join(unexpected, "\n  "))
	}
}

// requireNames demands that every row of what happened says where.
func requireNames(t *testing.T, data *oracle.Dataset) {
	t.Helper()
	for _, c := range data.Callbacks {
		complete := c.NodeName != "" && c.Symbol != ""
		switch c.Kind {
		case trace.KindTimer:
			complete = complete && c.Period.Valid
		case trace.KindSubscription, trace.KindIntraProcessSubscription, trace.KindService:
			complete = complete && c.TopicName != ""
		default:
			complete = false
		}
		if !complete {
			t.Errorf("callback %+v", c)
		}
	}
	for _, p := range data.Publishes {
		if !p.RclPublishTimestamp.Valid && (p.TopicName == "" || p.TopicName == trace.DiscoveryTopic) {
			continue // before Jazzy nothing tells which publisher of its own the middleware uses
		}
		if p.TopicName == "" || p.NodeName == "" || p.PublisherHandle == 0 {
			t.Errorf("publish %+v", p)
		}
	}
	for _, row := range data.Takes {
		if row.Kind != trace.TakeDequeue && row.TopicName != trace.DiscoveryTopic && (row.TopicName == "" || row.NodeName == "") {
			t.Errorf("take %+v", row)
		}
	}
	for _, row := range data.Enqueues {
		if row.TopicName == "" {
			t.Errorf("enqueue %+v", row)
		}
	}
	for _, row := range data.Services {
		if row.ServiceName == "" || row.NodeName == "" {
			t.Errorf("service %+v", row)
		}
	}
	for _, row := range data.Lifecycles {
		if row.NodeName == "" || row.StartLabel == "" || row.GoalLabel == "" {
			t.Errorf("lifecycle %+v", row)
		}
	}
}

// namedSince returns from when on rows of processes that had been running before the recording must say where things
// happened: from its beginning unless the recorder says that it had no time to search them all before. Then it waits
// until they have been searched: nothing but that tells of their executors, of which each process has one.
func (r *recording) namedSince(processes uint64) int64 {
	r.t.Helper()
	if !r.said("was cut short") {
		return 0
	}
	r.waitFor("the executors of all processes", func(s session.Status) bool { return s.Rows[trace.TableExecutor] >= processes })
	return time.Now().UnixNano()
}

// withIntraProcess is what a component is loaded with that is to use intra-process communication.
const withIntraProcess = " -e use_intra_process_comms:=true"

// load loads components, each a package and a class, into the container that runs.
func (ros rosEnvironment) load(t *testing.T, components ...string) {
	t.Helper()
	ros.requireCommands(t)
	for _, component := range components {
		// On a busy machine the command may not find the container in time.
		ros.runScript(t, "for attempt in 1 2 3; do ros2 component load --no-daemon --spin-time 3 /ComponentManager "+component+" && exit; done; exit 1")
	}
}

// startActionClient starts a client of an action and takes its server away when it has accepted the goal: the client
// waits for the result until the test ends.
func (ros rosEnvironment) startActionClient(t *testing.T, namespace string) int {
	t.Helper()
	inNamespace := []string{"--ros-args", "-r", "__ns:=" + namespace}
	server := ros.start(t, "action_tutorials_cpp", "fibonacci_action_server", inNamespace...)
	client := ros.startUntil(t, "Goal accepted", "action_tutorials_cpp", "fibonacci_action_client", inNamespace...)
	if err := syscall.Kill(server, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	return client
}

// runAction lets a client of an action run from its goal to the result. Clients give up when they do not find the
// server in time.
func (ros rosEnvironment) runAction(t *testing.T) {
	t.Helper()
	const attempts = 3
	for range attempts {
		if strings.Contains(ros.run(t, "action_tutorials_cpp", "fibonacci_action_client"), "Result received") {
			return
		}
	}
	t.Errorf("%d clients of actions got no result", attempts)
}

// TestROSLateAttachIsComplete records programs of ROS 2 that have been running for a while: memory tells what their
// init events told nobody.
func TestROSLateAttachIsComplete(t *testing.T) {
	forEachROS(t, func(t *testing.T, ros rosEnvironment) {
		const fibonacciType = "action_tutorials_interfaces/action/Fibonacci"
		container := ros.start(t, "rclcpp_components", "component_container_mt")
		// Fast DDS on localhost looks for few participants: the container is found for certain while there are no others.
		ros.load(t, "composition composition::Talker"+withIntraProcess, "composition composition::Listener"+withIntraProcess,
			"composition composition::Server", "composition composition::Client")
		threads := ros.start(t, "examples_rclcpp_multithreaded_executor", "multithreaded_executor")
		server := ros.start(t, "action_tutorials_cpp", "fibonacci_action_server")
		client := ros.startActionClient(t, "/waiting")
		managed := ros.start(t, "lifecycle", "lifecycle_talker")
		manager := ros.startUntil(t, "Transition 1 successfully triggered", "lifecycle", "lifecycle_service_client")
		r := record(t, session.Configuration{PIDs: strings.Trim(fmt.Sprint([]int{container, threads, server, managed, manager, client}), "[]")})
		named := r.namedSince(6)
		ros.runAction(t)
		data := r.stopWithoutLoss().Since(named)
		requireNames(t, data)

		requireNodes(t, data, ros.Distro, container,
			expectedNode{name: "/ComponentManager", unparameterized: true, services: []string{
				"/ComponentManager/_container/load_node composition_interfaces/srv/LoadNode",
				"/ComponentManager/_container/unload_node composition_interfaces/srv/UnloadNode",
				"/ComponentManager/_container/list_nodes composition_interfaces/srv/ListNodes",
			}},
			expectedNode{name: "/talker", publishers: []string{"/chatter std_msgs/msg/String"}, timers: []time.Duration{time.Second}},
			expectedNode{name: "/listener", subscriptions: []string{"/chatter std_msgs/msg/String"}},
			expectedNode{name: "/Server", services: []string{"/add_two_ints example_interfaces/srv/AddTwoInts"}},
			expectedNode{
				name: "/Client", clients: []string{"/add_two_ints example_interfaces/srv/AddTwoInts"}, timers: []time.Duration{2 * time.Second},
			},
		)
		requireNodes(t, data, ros.Distro, threads,
			expectedNode{name: "/PublisherNode", publishers: []string{"/topic std_msgs/msg/String"}, timers: []time.Duration{500 * time.Millisecond}},
			expectedNode{name: "/DualThreadedNode", subscriptions: []string{"/topic std_msgs/msg/String", "/topic std_msgs/msg/String"}},
		)
		requireNodes(t, data, ros.Distro, server, expectedNode{
			name: "/fibonacci_action_server", actionServers: []string{"/fibonacci " + fibonacciType},
		})
		requireNodes(t, data, ros.Distro, client, expectedNode{
			name: "/waiting/fibonacci_action_client", actionClients: []string{"/waiting/fibonacci " + fibonacciType},
			timers: []time.Duration{500 * time.Millisecond},
		})
		requireNodes(t, data, ros.Distro, managed, expectedNode{
			name: "/lc_talker", managed: true, publishers: []string{"/lifecycle_chatter std_msgs/msg/String"}, timers: []time.Duration{time.Second},
		})
		requireNodes(t, data, ros.Distro, manager, expectedNode{name: "/lc_client", clients: []string{
			"/lc_talker/get_state lifecycle_msgs/srv/GetState", "/lc_talker/change_state lifecycle_msgs/srv/ChangeState",
		}})

		for name, count := range map[string]int{
			"intra-process callbacks": countRows(data.Callbacks, func(c trace.Callback) bool { return c.Kind == trace.KindIntraProcessSubscription }),
			"service callbacks":       countRows(data.Callbacks, func(c trace.Callback) bool { return c.Kind == trace.KindService }),
			"publishes of feedback":   countRows(data.Publishes, func(p trace.Publish) bool { return p.TopicName == "/fibonacci/_action/feedback" }),
			"publishes of /rosout":    countRows(data.Publishes, func(p trace.Publish) bool { return p.TopicName == "/rosout" }),
			"answered requests":       countRows(data.Services, func(s trace.Service) bool { return s.Step == trace.ResponseTaken }),
			"transitions":             len(data.Lifecycles),
		} {
			if count == 0 {
				t.Errorf("no %s", name)
			}
		}
	})
}

// childThatRuns returns the child of this process that runs a program.
func childThatRuns(t *testing.T, program string) int {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		children, _ := os.ReadFile(list)
		for _, child := range strings.Fields(string(children)) {
			if runs, err := os.Readlink(filepath.Join("/proc", child, "exe")); err == nil && runs == program {
				pid, _ := strconv.Atoi(child)
				return pid
			}
		}
	}
	t.Fatalf("%s does not run", program)
	return 0
}

func countRows[R any](rows []R, wanted func(R) bool) int {
	count := 0
	for _, row := range rows {
		if wanted(row) {
			count++
		}
	}
	return count
}

// TestROSLateAttachFindsTheSameEntities records programs of ROS 2 from their start and, once they run, with a second
// recording that attaches to them: both have the same entities.
func TestROSLateAttachFindsTheSameEntities(t *testing.T) {
	programs := map[string][]string{
		"lifecycle":  {"lifecycle", "lifecycle_talker"},
		"action":     {"action_tutorials_cpp", "fibonacci_action_server"},
		"threads":    {"examples_rclcpp_multithreaded_executor", "multithreaded_executor"},
		"intra":      {"intra_process_demo", "cyclic_pipeline"},
		"components": {"composition", "manual_composition"},
		"parameters": {"demo_nodes_cpp", "parameter_blackboard"},
	}
	forEachROS(t, func(t *testing.T, ros rosEnvironment) {
		ros.export(t)
		for _, name := range slices.Sorted(maps.Keys(programs)) {
			t.Run(name, func(t *testing.T) {
				program := ros.program(t, programs[name][0], programs[name][1])
				first := record(t, session.Configuration{Command: []string{program}})
				time.Sleep(4 * time.Second)
				pid := childThatRuns(t, program)
				second := record(t, session.Configuration{PIDs: strconv.Itoa(pid)})
				time.Sleep(2 * time.Second)
				attached := second.stop()
				fromStart := first.stop()
				if len(attached.Nodes) == 0 {
					t.Errorf("no nodes")
				}
				oracle.RequireSameEntities(t, pid, attached, fromStart)
			})
		}
	})
}
