package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// chainNodes is the number of nodes of a chain.
const chainNodes = 9

var chainKey = trace.ProcessKey{BootID: "boot", PID: 31404, ProcessStart: 1}

// chainRows are the entities of a process of nine nodes, node_0 to node_8, as Jazzy makes them: each publishes /topic_N
// and receives that of the one before, the first one has a timer. The last one collects /rosout, too.
func chainRows() trace.Batch {
	const timeSource, parameters = "rclcpp::TimeSource::NodeState::attachNode()::{lambda()#1}", "rclcpp::ParameterService::ParameterService()::{lambda()#1}"
	rows := trace.Batch{Processes: []trace.Process{{ProcessKey: chainKey, Command: "rosgraph", Distro: "jazzy"}}}
	next := trace.Address(0x1000)
	address := func() trace.Address { next++; return next }
	callback := func(symbol string) trace.Address {
		at := address()
		rows.CallbackInfos = append(rows.CallbackInfos, trace.CallbackInfo{ProcessKey: chainKey, Callback: at, Symbol: symbol})
		return at
	}
	executor := address()
	rows.Executors = []trace.Executor{{ProcessKey: chainKey, Executor: executor, ExecutorType: "single_threaded_executor"}}
	for i := range chainNodes {
		name, handle, group := fmt.Sprintf("node_%d", i), address(), address()
		rows.Nodes = append(rows.Nodes, trace.Node{ProcessKey: chainKey, NodeHandle: handle, NodeName: name, Namespace: "/"})
		rows.CallbackGroups = append(rows.CallbackGroups, trace.CallbackGroup{ProcessKey: chainKey, CallbackGroup: group, GroupTypeName: trace.MutuallyExclusive, NodeHandle: handle, Executor: executor})
		for _, topic := range []string{"/rosout", "/parameter_events", fmt.Sprint("/topic_", i)} {
			rows.Publishers = append(rows.Publishers, trace.Publisher{ProcessKey: chainKey, PublisherHandle: address(), NodeHandle: handle, TopicName: topic})
		}
		receive := func(topic, symbol string) {
			rows.Subscriptions = append(rows.Subscriptions, trace.Subscription{
				ProcessKey: chainKey, SubscriptionHandle: address(), Subscription: address(), NodeHandle: handle, TopicName: topic, Callback: callback(symbol), CallbackGroup: group,
			})
		}
		receive("/parameter_events", timeSource)
		for _, service := range []string{
			"describe_parameters", "get_parameter_types", "get_parameters", "list_parameters", "set_parameters", "set_parameters_atomically", "get_type_description",
		} {
			rows.ServiceServers = append(rows.ServiceServers, trace.ServiceServer{
				ProcessKey: chainKey, ServiceHandle: address(), NodeHandle: handle, ServiceName: "/" + name + "/" + service, Callback: callback(parameters), CallbackGroup: group,
			})
		}
		if i == 0 {
			rows.Timers = append(rows.Timers, trace.Timer{ProcessKey: chainKey, TimerHandle: address(), NodeHandle: handle, Period: trace.Some(int64(1e8)), Callback: callback("Node::tick"), CallbackGroup: group})
		} else {
			receive(fmt.Sprint("/topic_", i-1), "Node::on_message")
		}
		if i == chainNodes-1 {
			receive("/rosout", "Node::on_log")
		}
	}
	return rows
}

// chainDataset is a recording of them, in which every callback was executed once, and every publisher published once,
// outside of callbacks.
func chainDataset(t *testing.T) string {
	t.Helper()
	dir, rows := t.TempDir(), chainRows()
	var callbacks []trace.Callback
	for i, c := range rows.CallbackInfos {
		at := int64(1e9 + i*1e6)
		callbacks = append(callbacks, trace.Callback{
			ProcessKey: chainKey, Callback: c.Callback, CallbackStartTimestamp: trace.Some(at), CallbackEndTimestamp: trace.Some(at + 1000), Status: trace.CallbackComplete,
		})
	}
	var publishes []trace.Publish
	for i, p := range rows.Publishers {
		publishes = append(publishes, trace.Publish{
			ProcessKey: chainKey, PublisherHandle: p.PublisherHandle, TopicName: p.TopicName, RclPublishTimestamp: trace.Some(int64(1e9 + i*1e6)), Status: trace.PublishComplete,
		})
	}
	tracetest.AddSegment(t, dir, 0, rows.Processes)
	tracetest.AddSegment(t, dir, 0, rows.Nodes)
	tracetest.AddSegment(t, dir, 0, rows.Publishers)
	tracetest.AddSegment(t, dir, 0, rows.Subscriptions)
	tracetest.AddSegment(t, dir, 0, rows.Timers)
	tracetest.AddSegment(t, dir, 0, rows.ServiceServers)
	tracetest.AddSegment(t, dir, 0, rows.CallbackInfos)
	tracetest.AddSegment(t, dir, 0, rows.CallbackGroups)
	tracetest.AddSegment(t, dir, 0, rows.Executors)
	tracetest.AddSegment(t, dir, 0, callbacks)
	tracetest.AddSegment(t, dir, 0, publishes)
	tracetest.AddSession(t, dir, trace.NewSession())
	return dir
}

// chainText is what `list --entities` prints of them.
func chainText(all bool) string {
	processes := chainProcesses(all)
	var text bytes.Buffer
	printEntities(&output{stream: &text}, processes)
	return text.String()
}

func chainProcesses(all bool) []liveProcess {
	p := liveProcess{PID: chainKey.PID, Command: "rosgraph", Distro: "jazzy", RMW: "rmw_cyclonedds_cpp"}
	p.add(chainRows())
	if all {
		return []liveProcess{p}
	}
	return foldStandard([]liveProcess{p})
}

// perNode is what stands for what every node has.
const perNode = "standard: 7 services, 2 publishers, 1 subscription; --all-entities shows them"

func TestStandardEntitiesAreFolded(t *testing.T) {
	dir := chainDataset(t)
	ask := func(arguments ...string) func(bool) string {
		return func(all bool) string {
			if all {
				arguments = append(arguments, "--all-entities")
			}
			code, out, problems := runCommand(arguments...)
			if code != exitSuccess {
				t.Fatalf("%v: exit code %d: %s", arguments, code, problems)
			}
			return out
		}
	}
	drawn := func(all bool) string {
		var text bytes.Buffer
		printDot(&text, drawEntities(chainProcesses(all), all))
		return text.String()
	}
	const undrawn = "not drawn: 18 publishers, 9 subscriptions that every node has; 63 services without a client here; --all-entities draws them"
	for _, c := range []struct {
		name string
		of   func(all bool) string
		// lines that stand for what is folded, each that often.
		lines map[string]int
		// own is what is not folded, folded what is.
		own, folded []string
	}{
		{
			"list --entities", chainText,
			map[string]int{perNode: chainNodes, "standard: 1 topic (/parameter_events); --all-entities shows them": 1, "PID 31404 rosgraph  jazzy": 1},
			[]string{"/topic_7", "Node::on_log", "subscription  /rosout", "/rosout   -     9 standard  /node_8"}, []string{"/node_0/get_parameters", "TimeSource", "publisher  /rosout"},
		},
		{
			"graph", ask("graph", dir),
			map[string]int{perNode: chainNodes, "standard: 90 communications (/parameter_events, /rosout); --all-entities shows them": 1, "node /node_0  (PID 31404 rosgraph)": 1},
			[]string{"/topic_7", "Node::on_log", "Node::tick"}, []string{"/node_0/get_parameters", "TimeSource", "publisher     /rosout"},
		},
		{
			"graph --dot", ask("graph", dir, "--dot"), map[string]int{undrawn: 1, `label="PID 31404 rosgraph"`: 1},
			[]string{`"node 0" -> "topic /topic_0"`, `"topic /rosout" -> "node 8"`}, []string{`-> "topic /rosout"`, "/parameter_events", "get_parameters"},
		},
		{
			"graph --mermaid", ask("graph", dir, "--mermaid"), map[string]int{undrawn: 1},
			[]string{`["/topic_7"]`, `["/rosout"]`}, []string{"/parameter_events", "get_parameters"},
		},
		{
			"list --entities --dot", drawn, map[string]int{undrawn: 1},
			[]string{`-> "topic /topic_0"`, `"topic /rosout" -> `}, []string{`-> "topic /rosout"`, "/parameter_events", "get_parameters"},
		},
		{
			"info", ask("info", dir, "-n", "100"),
			map[string]int{
				"standard: 72 callbacks, executed 72 times in 72.00 µs, counted in all other tables; `info --all-entities` lists them":                      1,
				"standard: 1 topic (/parameter_events), published 9 times, received 9 times, counted in all other tables; `info --all-entities` lists them": 1,
				"busiest callbacks (10 of 10):": 1, "busiest topics (10 of 10):": 1, "busiest nodes (9 of 9):": 1,
			},
			[]string{"Node::on_message", "/topic_7", "/rosout"}, []string{"TimeSource", "ParameterService"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			folded, whole := c.of(false), c.of(true)
			t.Logf("%d lines, %d with all entities", strings.Count(folded, "\n"), strings.Count(whole, "\n"))
			for line, times := range c.lines {
				if n := strings.Count(folded, line); n != times {
					t.Errorf("%q is there %d times, want %d, in\n%s", line, n, times, folded)
				}
			}
			for _, own := range c.own {
				if !strings.Contains(squeeze(folded), squeeze(own)) {
					t.Errorf("no %q in\n%s", own, folded)
				}
			}
			for _, text := range c.folded {
				if strings.Contains(squeeze(folded), squeeze(text)) {
					t.Errorf("%q in\n%s", text, folded)
				}
				if !strings.Contains(squeeze(whole), squeeze(text)) {
					t.Errorf("with all entities there is no %q in\n%s", text, whole)
				}
			}
			if strings.Contains(whole, "--all-entities") || strings.Contains(whole, "standard") {
				t.Errorf("with all entities something is folded:\n%s", whole)
			}
		})
	}
}

// What programs read has everything, whether it is asked for or not.
func TestFormsForProgramsHaveAllEntities(t *testing.T) {
	dir := chainDataset(t)
	for _, arguments := range [][]string{
		{"graph", dir, "--json"}, {"info", dir, "--json"}, {"info", dir, "--part", "callbacks", "--csv"}, {"info", dir, "--part", "topics", "--json"},
	} {
		_, out, _ := runCommand(arguments...)
		_, all, _ := runCommand(append(arguments, "--all-entities")...)
		if out != all || !strings.Contains(out, "/parameter_events") {
			t.Errorf("%v lacks something:\n%s", arguments, out)
		}
	}
	whole, err := json.Marshal(chainProcesses(true))
	if err != nil || strings.Count(string(whole), "get_parameters") == 0 || strings.Contains(string(whole), "standard") {
		t.Errorf("%v in %s", err, whole)
	}
}

// A service that every node has is drawn where somebody calls it.
func TestCalledStandardServicesAreDrawn(t *testing.T) {
	p := liveProcess{PID: 1}
	rows := chainRows()
	rows.Clients = []trace.Client{{ClientHandle: 8, NodeHandle: rows.Nodes[0].NodeHandle, ServiceName: "/node_1/set_parameters"}}
	p.add(rows)
	var text bytes.Buffer
	printDot(&text, drawEntities(foldStandard([]liveProcess{p}), false))
	if strings.Count(text.String(), `"service /node_1/set_parameters" -> `) != 1 || !strings.Contains(text.String(), "62 services without a client here") {
		t.Errorf("in\n%s", text.String())
	}
}

func TestAllEntitiesGoWithEntities(t *testing.T) {
	if code, _, problems := runCommand("list", "--all-entities"); code != exitUsage || !strings.Contains(problems, "--entities") {
		t.Errorf("exit code %d: %s", code, problems)
	}
}

func TestProcessesAreNamedByPIDAndCommand(t *testing.T) {
	var out bytes.Buffer
	plan := &probes.Plan{Process: target.Identity{BootID: "93b7ec3e", PID: 31404, StartTime: 6793090000000}, Distro: "jazzy"}
	printPlan(newConsole(&out, io.Discard, os.Getenv), plan, "rosgraph\x1b[2J")
	if want := "PID 31404 rosgraph\\x1b[2J: jazzy, -\n"; !strings.HasPrefix(out.String(), want) {
		t.Errorf("%q does not begin with %q", out.String(), want)
	}
	if got := describeProcess(7, ""); got != "PID 7" {
		t.Errorf("a process of unknown command is %q", got)
	}
}

// A service whose callback is not known is shown all the same.
func TestGraphShowsServicesWithoutCallback(t *testing.T) {
	if _, out, _ := runCommand("graph", relayDataset(t)); !strings.Contains(squeeze(out), "service /reset -") {
		t.Errorf("no service in\n%s", out)
	}
}
