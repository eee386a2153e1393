package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// relayDataset has a talker whose timer publishes /chatter and a relay that publishes /relayed in the callback of
// /chatter.
func relayDataset(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	key := trace.ProcessKey{BootID: "boot", PID: 77, ProcessStart: 1}
	tracetest.AddSegment(t, dir, 0, []trace.Process{{ProcessKey: key, Command: "relay", Distro: "jazzy"}})
	tracetest.AddSegment(t, dir, 0, []trace.Node{
		{ProcessKey: key, NodeHandle: 0x10, NodeName: "talker", Namespace: "/"}, {ProcessKey: key, NodeHandle: 0x20, NodeName: "relay", Namespace: "/"},
	})
	tracetest.AddSegment(t, dir, 0, []trace.Publisher{
		{ProcessKey: key, PublisherHandle: 0x11, NodeHandle: 0x10, TopicName: "/chatter"}, {ProcessKey: key, PublisherHandle: 0x21, NodeHandle: 0x20, TopicName: "/relayed"},
	})
	tracetest.AddSegment(t, dir, 0, []trace.Subscription{{ProcessKey: key, SubscriptionHandle: 0x22, NodeHandle: 0x20, TopicName: "/chatter", Subscription: 0x23, Callback: 0x24}})
	tracetest.AddSegment(t, dir, 0, []trace.Timer{{ProcessKey: key, TimerHandle: 0x12, NodeHandle: 0x10, Callback: 0x13, Period: trace.Some(int64(100e6))}})
	tracetest.AddSegment(t, dir, 0, []trace.Client{{ProcessKey: key, ClientHandle: 0x14, NodeHandle: 0x10, ServiceName: "/reset"}})
	tracetest.AddSegment(t, dir, 0, []trace.ServiceServer{{ProcessKey: key, ServiceHandle: 0x25, NodeHandle: 0x20, ServiceName: "/reset"}})
	tracetest.AddSegment(t, dir, 0, []trace.CallbackInfo{{ProcessKey: key, Callback: 0x24, Symbol: `Relay::on("message")`}})
	tracetest.AddSegment(t, dir, 0, []trace.Publish{
		{ProcessKey: key, PublisherHandle: 0x11, Callback: 0x13, CallbackStartTimestamp: trace.Some(int64(5))},
		{ProcessKey: key, PublisherHandle: 0x21, Callback: 0x24, CallbackStartTimestamp: trace.Some(int64(6))},
	})
	tracetest.AddSegment(t, dir, 0, []trace.Sched{
		{ProcessKey: key, Kind: trace.SchedPreempted, SchedOutTimestamp: 7, SchedInTimestamp: 8, Callback: 0x24, CallbackStartTimestamp: trace.Some(int64(6)), OtherCommand: "hog"},
	})
	tracetest.AddSession(t, dir, trace.NewSession())
	return dir
}

func TestGraph(t *testing.T) {
	dir := relayDataset(t)
	for form, wanted := range map[string][]string{
		"":          {"node /relay  (PID 77 relay)", "subscription  /chatter", `Relay::on("message")`, "TOPIC     FROM     TO"},
		"--dot":     {`"node 0" -> "topic /relayed";`, `"topic /chatter" -> "node 0";`, `"node 1" -> "service /reset" [style=dashed];`, `label="PID 77 relay"`},
		"--mermaid": {"flowchart LR", `n0(["/relay"])`, "n1 --> t2", "n1 -.-> s4"},
		"--yaml":    {"node_name: /talker", "context_type: callback_chain"},
		"--json":    {`"published_topic_names": [`, `"publish_node_name": "/talker"`},
	} {
		t.Run("form "+form, func(t *testing.T) {
			arguments := []string{"graph", dir}
			if form != "" {
				arguments = append(arguments, form)
			}
			code, out, problems := runCommand(arguments...)
			if code != exitSuccess {
				t.Fatalf("exit code %d: %s", code, problems)
			}
			for _, text := range wanted {
				if !strings.Contains(out, text) {
					t.Errorf("no %q in\n%s", text, out)
				}
			}
		})
	}
}

func TestGraphWritesWhatItReads(t *testing.T) {
	dir := relayDataset(t)
	_, yaml, _ := runCommand("graph", dir, "--yaml")
	if _, err := system.Read(strings.NewReader(yaml)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "architecture.yaml")
	named := strings.Replace(yaml, "named_paths: []", "named_paths:\n- path_name: all\n  node_chain:\n  - {node_name: /talker, publish_topic_name: /chatter}\n  - {node_name: /relay, subscribe_topic_name: /chatter}", 1)
	if err := os.WriteFile(file, []byte(named), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, problems := runCommand("graph", dir, "--architecture", file)
	if code != exitSuccess || !strings.Contains(out, "path all: [/talker]-[/chatter]-[/relay]") || problems != "" {
		t.Errorf("exit code %d, %s\n%s", code, problems, out)
	}
}

// TestArchitectureWithALease has a file whose owner would have each open of it wait.
func TestArchitectureWithALease(t *testing.T) {
	file := filepath.Join(t.TempDir(), "architecture.yaml")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		t.Skipf("the file system gives no leases: %v", err)
	}
	code, _, problems := runCommand("graph", relayDataset(t), "--architecture", file)
	if code != exitFailure || !strings.Contains(problems, trace.ErrLeased.Error()) {
		t.Errorf("exit code %d, %s", code, problems)
	}
}

func TestPathsCommand(t *testing.T) {
	dir := relayDataset(t)
	code, out, problems := runCommand("paths", dir, "--from", "/chatter", "--to", "/relayed", "--json")
	var rows []map[string]any
	if err := json.Unmarshal([]byte(out), &rows); code != exitSuccess || err != nil || len(rows) != 1 {
		t.Fatalf("exit code %d, %v, %s\n%s", code, err, problems, out)
	}
	if want := "[/talker]-[/chatter]-[/relay]-[/relayed]"; rows[0]["path"] != want || rows[0]["undefined_nodes"] != 0.0 {
		t.Errorf("%v, want the path %s", rows[0], want)
	}
	for name, test := range map[string]struct {
		arguments []string
		code      int
	}{
		"no dataset":       {[]string{"paths"}, exitUsage},
		"unknown topic":    {[]string{"paths", dir, "--from", "/nowhere"}, exitUsage},
		"two forms":        {[]string{"paths", dir, "--json", "--csv"}, exitUsage},
		"no paths at all":  {[]string{"paths", dir, "--limit", "0"}, exitUsage},
		"two graph forms":  {[]string{"graph", dir, "--dot", "--yaml"}, exitUsage},
		"no architecture":  {[]string{"graph", dir, "--architecture", filepath.Join(dir, trace.SessionFile)}, exitFailure},
		"no dataset there": {[]string{"graph", t.TempDir()}, exitDataset},
	} {
		if code, _, problems := runCommand(test.arguments...); code != test.code {
			t.Errorf("%s: exit code %d, want %d: %s", name, code, test.code, problems)
		}
	}
}

// In the relay's system the talker also receives what the relay publishes: everything follows from something.
func TestPathsInACircle(t *testing.T) {
	dir := relayDataset(t)
	key := trace.ProcessKey{BootID: "boot", PID: 77, ProcessStart: 1}
	tracetest.AddSegment(t, dir, 1, []trace.Subscription{{ProcessKey: key, SubscriptionHandle: 0x15, NodeHandle: 0x10, TopicName: "/relayed", Subscription: 0x16, Callback: 0x17}})
	tracetest.AddSegment(t, dir, 1, []trace.Publish{{ProcessKey: key, PublisherHandle: 0x11, Callback: 0x17, CallbackStartTimestamp: trace.Some(int64(7))}})
	for name, test := range map[string]struct {
		arguments []string
		out, told string
	}{
		"nothing named": {[]string{"--undefined"}, "", "name both with --from and --to"},
		"both named":    {[]string{"--undefined", "--from", "/talker", "--to", "/relayed"}, "[/talker]-[/chatter]-[/relay]", ""},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, problems := runCommand(append([]string{"paths", dir}, test.arguments...)...)
			if code != exitSuccess || !strings.Contains(out, test.out) || !strings.Contains(problems, test.told) {
				t.Errorf("exit code %d, %s\n%s", code, problems, out)
			}
		})
	}
}

func TestMermaidLabelsAreQuoted(t *testing.T) {
	if got := quoteMermaid("a\"b#c<d>\n"); strings.ContainsAny(strings.Trim(got, `"`), "\"<>\n") {
		t.Errorf("got %s", got)
	}
	var text bytes.Buffer
	printMermaid(&text, drawEntities(foldStandard([]liveProcess{listedProcess()}), false))
	if !strings.Contains(text.String(), `(["/demo/listener"])`) {
		t.Errorf("no listener in\n%s", text.String())
	}
}

// A node has a further subscription of the topic, of which nothing tells that its messages lead to what the node
// publishes. The path that `paths` lists is the one that its text means.
func TestPathThatIsListed(t *testing.T) {
	dir := relayDataset(t)
	key := trace.ProcessKey{BootID: "boot", PID: 77, ProcessStart: 1}
	tracetest.AddSegment(t, dir, 1, []trace.Subscription{{ProcessKey: key, SubscriptionHandle: 0x32, NodeHandle: 0x20, TopicName: "/chatter", Subscription: 0x33, Callback: 0x34}})
	code, out, problems := runCommand("paths", dir, "--from", "/chatter", "--to", "/relayed", "--json")
	var listed []struct{ Path string }
	if err := json.Unmarshal([]byte(out), &listed); code != exitSuccess || err != nil || len(listed) != 1 {
		t.Fatalf("exit code %d, %v, %s\n%s", code, err, problems, out)
	}
	for _, question := range []string{"path", "response-time"} {
		for latest, test := range map[bool]struct {
			paths int
			says  string
		}{false: {1, "1 of the 2 paths"}, true: {2, ""}} {
			arguments := []string{"latency", question, dir, "--path", listed[0].Path, "--json"}
			if latest {
				arguments = append(arguments, "--use-latest-message")
			}
			code, out, problems := runCommand(arguments...)
			var rows []struct {
				Hop  int
				Case string
			}
			if err := json.Unmarshal([]byte(out), &rows); code != exitSuccess || err != nil {
				t.Fatalf("%v: exit code %d, %v, %s\n%s", arguments, code, err, problems, out)
			}
			paths := 0
			for _, row := range rows {
				if row.Case == "best" || row.Case == "" && row.Hop == 0 {
					paths++
				}
			}
			if paths != test.paths || !strings.Contains(problems, test.says) || test.says == "" && problems != "" {
				t.Errorf("%v: %d paths, %s\n%s", arguments, paths, problems, out)
			}
		}
	}
}
