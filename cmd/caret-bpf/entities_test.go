package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/report"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// listedRows are the entities of two nodes that talk to each other.
func listedRows() trace.Batch {
	const talker, listener, group, executor = 0x10, 0x20, 0x30, 0x40
	return trace.Batch{
		Nodes: []trace.Node{
			{NodeHandle: talker, NodeName: "talker", Namespace: "/"}, {NodeHandle: listener, NodeName: "listener", Namespace: "/demo"},
		},
		Publishers: []trace.Publisher{{
			PublisherHandle: 1, NodeHandle: talker, TopicName: "/chatter", MessageType: "std_msgs/msg/String", QueueDepth: trace.Some(uint64(7)),
		}},
		Subscriptions: []trace.Subscription{
			{SubscriptionHandle: 2, NodeHandle: listener, TopicName: "/chatter", Callback: 3, IsIntraProcess: trace.Some(false), CallbackGroup: group},
			{SubscriptionHandle: 2, NodeHandle: listener, TopicName: "/chatter", IsIntraProcess: trace.Some(true), Capacity: trace.Some(uint64(9))},
			{SubscriptionHandle: 4, NodeHandle: listener, TopicName: "/parameter_events"},
		},
		Timers:         []trace.Timer{{TimerHandle: 5, NodeHandle: talker, Period: trace.Some(int64(5e8)), Callback: 6}},
		ServiceServers: []trace.ServiceServer{{ServiceHandle: 7, NodeHandle: listener, ServiceName: "/reset", ServiceType: "std_srvs/srv/Empty"}},
		Clients:        []trace.Client{{ClientHandle: 8, NodeHandle: talker, ServiceName: "/reset"}},
		CallbackInfos:  []trace.CallbackInfo{{Callback: 3, Symbol: "Listener::on_text"}, {Callback: 6, Symbol: "Talker::tick\x1b[2J"}},
		CallbackGroups: []trace.CallbackGroup{{CallbackGroup: group, GroupTypeName: trace.Reentrant, NodeHandle: listener, Executor: executor}},
		Executors:      []trace.Executor{{Executor: executor, ExecutorType: "multi_threaded_executor", ThreadCount: trace.Some(uint64(4))}},
	}
}

func listedProcess() liveProcess {
	p := liveProcess{PID: 77, Command: "demo", Distro: "humble", RMW: "rmw_cyclonedds_cpp"}
	p.add(listedRows())
	return p
}

func TestEntitiesAsText(t *testing.T) {
	var text bytes.Buffer
	printEntities(&output{stream: &text}, foldStandard([]liveProcess{listedProcess()}))
	for _, wanted := range []string{
		"PID 77 demo  humble  rmw_cyclonedds_cpp", "node /demo/listener", "node /talker", "publisher  /chatter  std_msgs/msg/String  depth 7",
		"intra-process capacity 9  g1     Listener::on_text", "500ms", `Talker::tick\x1b[2J`,
		"executor 0x40  multi_threaded_executor, 4 threads\n    group g1: reentrant of /demo/listener", "/chatter  std_msgs/msg/String  /talker",
	} {
		if !strings.Contains(text.String(), wanted) {
			t.Errorf("no %q in\n%s", wanted, text.String())
		}
	}
	if strings.ContainsRune(text.String(), '\x1b') {
		t.Error("a control character reaches the terminal")
	}
	if n := strings.Count(text.String(), "Listener::on_text"); n != 1 {
		t.Errorf("the subscription is listed %d times", n)
	}
}

func TestEntitiesAsDot(t *testing.T) {
	var text bytes.Buffer
	printDot(&text, drawEntities(foldStandard([]liveProcess{listedProcess()}), false))
	for _, wanted := range []string{
		`"node 77 0x10" -> "topic /chatter";`, `"topic /chatter" -> "node 77 0x20";`, `"node 77 0x10" -> "service /reset" [style=dashed];`,
		`"node 77 0x20" [label="/demo/listener"];`,
	} {
		if !strings.Contains(text.String(), wanted) {
			t.Errorf("no %s in\n%s", wanted, text.String())
		}
	}
	if strings.Contains(text.String(), "parameter_events") {
		t.Error("the topic of all nodes is drawn")
	}
}

func TestDotNamesAreQuoted(t *testing.T) {
	if got := quoteDot(`a"b\c`); got != `"a\"b\\c"` {
		t.Errorf("got %s", got)
	}
	if got := quoteDot("line\nbreak"); strings.Contains(got, "\n") {
		t.Errorf("got %s", got)
	}
}

func TestEntitiesAsJSON(t *testing.T) {
	var text bytes.Buffer
	if err := report.WriteJSON(&text, []liveProcess{listedProcess()}); err != nil {
		t.Fatal(err)
	}
	var back []map[string]any
	if err := json.Unmarshal(text.Bytes(), &back); err != nil || len(back) != 1 {
		t.Fatalf("%v in %s", err, text.String())
	}
	nodes := back[0]["nodes"].([]any)
	if len(nodes) != 2 || nodes[0].(map[string]any)["name"] != "/demo/listener" {
		t.Errorf("nodes %v", nodes)
	}
}

// TestListEntitiesOfARunningProcess compares what is listed of a process, without recording it, with its ground truth.
func TestListEntitiesOfARunningProcess(t *testing.T) {
	requireRoot(t)
	requireHostProcessIDs(t)
	node := standin.StartReady(t, standin.Config{
		Distro: standin.Humble, RMW: standin.FastDDS, Stripped: true, Arguments: []string{"--nodes", "2", "--service-rate", "5", "--intra-process"},
	})
	list := func(format ...string) string {
		var out bytes.Buffer
		arguments := append([]string{"list", "--entities", "-p", strconv.Itoa(node.PID())}, format...)
		if err := run(t.Context(), newConsole(&out, io.Discard, os.Getenv), arguments); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	text, dot, asJSON := list(), list("--dot"), list("--json")
	truth := node.Stop()
	var names []string
	for _, row := range truth.Nodes {
		names = append(names, strings.TrimSuffix(row.Namespace, "/")+"/"+row.Name)
	}
	for _, row := range truth.Publishers {
		names = append(names, row.Topic)
	}
	for _, row := range truth.Services {
		names = append(names, row.Name)
	}
	if len(names) < 5 {
		t.Fatalf("the ground truth has only %v", names)
	}
	for _, name := range names {
		for format, listed := range map[string]string{"text": text, "dot": dot, "JSON": asJSON} {
			if !strings.Contains(listed, name) {
				t.Errorf("no %s as %s in\n%s", name, format, listed)
			}
		}
	}
	var processes []struct{ Nodes []any }
	if err := json.Unmarshal([]byte(asJSON), &processes); err != nil || len(processes) != 1 || len(processes[0].Nodes) != len(truth.Nodes) {
		t.Errorf("%v in %s", err, asJSON)
	}
}

func TestListRefusesContradictions(t *testing.T) {
	for name, arguments := range map[string][]string{
		"dot without entities": {"list", "--dot"}, "dot and JSON": {"list", "--entities", "--dot", "--json"},
		"PID and name": {"list", "-p", "1", "--name", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := run(t.Context(), newConsole(&out, &out, os.Getenv), arguments)
			if exitCode(err) != exitUsage {
				t.Errorf("%v", err)
			}
		})
	}
}
