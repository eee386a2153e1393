package system_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

func writeArchitecture(t testing.TB, a *system.Architecture) (text string, omitted []string) {
	t.Helper()
	var out bytes.Buffer
	omitted, err := system.Write(&out, a)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), omitted
}

func TestArchitectureFileOfADataset(t *testing.T) {
	got, omitted := writeArchitecture(t, loadArchitecture(t, robotDataset(t)))
	golden := filepath.Join("testdata", "robot.yaml")
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("differs from %s:\n%s", golden, got)
	}
	if want := []string{
		"callback /camera/callback_0: it is unknown what calls it",
		"node /planner of process 100: another node has its name",
	}; !slices.Equal(sortedStrings(omitted), want) {
		t.Errorf("omitted %q, want %q", omitted, want)
	}
}

func sortedStrings(list []string) []string {
	return slices.Sorted(slices.Values(list))
}

func TestArchitectureFileIsReadAsItWasWritten(t *testing.T) {
	for _, file := range []string{"robot.yaml", "chain.yaml"} {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		a, err := system.Read(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if got, omitted := writeArchitecture(t, a); got != string(text) || len(omitted) > 0 {
			t.Errorf("%s became (omitted %q)\n%s", file, omitted, got)
		}
	}
}

// A file that names callbacks of another node as those of a publisher could not be read.
func TestPublishesOfOtherNodes(t *testing.T) {
	a := loadArchitecture(t, robotDataset(t))
	foreign := a.FindNodes("/camera")[0].Callbacks
	var publisher *system.Publisher
	for _, n := range a.Nodes {
		if n.Name != "/camera" && len(n.Publishers) > 0 {
			publisher = n.Publishers[0]
		}
	}
	publisher.Callbacks = append(publisher.Callbacks, foreign...)
	text, omitted := writeArchitecture(t, a)
	if _, err := system.Read(strings.NewReader(text)); err != nil {
		t.Error(err)
	}
	for _, c := range foreign {
		if !slices.ContainsFunc(omitted, func(what string) bool { return strings.Contains(what, "such as "+c.Name) }) {
			t.Errorf("%s is left out without a word: %q", c.Name, omitted)
		}
	}
}

// A subscription without a callback is no part of the file, and neither are the paths through it.
func TestPathsThroughWhatIsLeftOut(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "chain.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	const callback = "\n        callback_name: /fusion/callback_1\n"
	changed := strings.Replace(string(text), callback, "\n        callback_name: UNDEFINED\n", 1)
	a, err := system.Read(strings.NewReader(changed))
	if err != nil || changed == string(text) || len(a.NamedPaths) != 2 {
		t.Fatalf("%v, %d paths", err, len(a.NamedPaths))
	}
	written, omitted := writeArchitecture(t, a)
	if want := []string{
		`a subscription of /fusion to "/points": its callback is unknown`,
		"path missing: a part of it in /fusion is left out",
		"path objects: a part of it in /fusion is left out",
	}; !slices.Equal(sortedStrings(omitted), want) {
		t.Errorf("omitted %q, want %q", omitted, want)
	}
	if again, err := system.Read(strings.NewReader(written)); err != nil || len(again.NamedPaths) > 0 {
		t.Errorf("what was written has paths or cannot be read: %v\n%s", err, written)
	}
}

// caret_analyze's export leaves the construction orders out of message contexts; the callbacks tell them.
func TestContextsWithoutConstructionOrders(t *testing.T) {
	const exported = `named_paths: []
executors: []
nodes:
- node_name: /relay
  callbacks:
  - {callback_name: c0, callback_type: subscription_callback, topic_name: /in, symbol: s}
  - {callback_name: c1, callback_type: subscription_callback, topic_name: /in, symbol: s, construction_order: 1}
  publishes:
  - {topic_name: /out, callback_names: [c0]}
  - {topic_name: /out, callback_names: [c1], construction_order: 1}
  subscribes:
  - {topic_name: /in, callback_name: c0}
  - {topic_name: /in, callback_name: c1, construction_order: 1}
  message_contexts:
  - {context_type: callback_chain, subscription_topic_name: /in, publisher_topic_name: /out, callbacks: [c0]}
  - {context_type: callback_chain, subscription_topic_name: /in, publisher_topic_name: /out, callbacks: [c1]}
`
	a, err := system.Read(strings.NewReader(exported))
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range a.Nodes[0].MessageContexts {
		if c.Subscription.ConstructionOrder != i || c.Publisher.ConstructionOrder != i {
			t.Errorf("context %d is from subscription %d to publisher %d", i, c.Subscription.ConstructionOrder, c.Publisher.ConstructionOrder)
		}
	}
}

func TestReadArchitectureRefuses(t *testing.T) {
	const frame = "named_paths: []\nexecutors: []\nnodes:\n- node_name: /a\n  callbacks:\n  - {callback_name: c0, callback_type: timer_callback, period_ns: 1, symbol: s}\n"
	for name, text := range map[string]string{
		"what is no YAML":                        "\t{",
		"a list":                                 "- 1\n",
		"a file without nodes":                   "named_paths: []\nexecutors: []\n",
		"two nodes of one name":                  frame + "- node_name: /a\n",
		"a timer without a period":               "named_paths: []\nexecutors: []\nnodes:\n- node_name: /a\n  callbacks:\n  - {callback_name: c0, callback_type: timer_callback, symbol: s}\n",
		"an unknown type of callback":            "named_paths: []\nexecutors: []\nnodes:\n- node_name: /a\n  callbacks:\n  - {callback_name: c0, callback_type: action, symbol: s}\n",
		"two callbacks of one name":              frame + "  - {callback_name: c0, callback_type: timer_callback, period_ns: 1, symbol: s}\n",
		"a publisher in an unknown callback":     frame + "  publishes:\n  - {topic_name: /t, callback_names: [c1]}\n",
		"a subscription of an unknown callback":  frame + "  subscribes:\n  - {topic_name: /t, callback_name: c1}\n",
		"a variable passing to nowhere":          frame + "  variable_passings:\n  - {callback_name_write: c0, callback_name_read: c1}\n",
		"a context of an unknown type":           frame + "  message_contexts:\n  - {context_type: magic, subscription_topic_name: /t, publisher_topic_name: /u}\n",
		"a context of an unknown subscription":   frame + "  message_contexts:\n  - {context_type: tilde, subscription_topic_name: /t, publisher_topic_name: /u}\n",
		"a path through an unknown node":         strings.Replace(frame, "named_paths: []", "named_paths:\n- path_name: p\n  node_chain: [{node_name: /b}]", 1),
		"a path between nodes without a topic":   strings.Replace(frame, "named_paths: []", "named_paths:\n- path_name: p\n  node_chain: [{node_name: /a}, {node_name: /a}]", 1),
		"a callback group of unknown callbacks":  frame + "  callback_groups:\n  - {callback_group_type: reentrant, callback_group_name: g, callback_names: [c1]}\n",
		"a path without a name":                  strings.Replace(frame, "named_paths: []", "named_paths:\n- node_chain: [{node_name: /a}]", 1),
		"a node without a name, as a wrong type": "named_paths: []\nexecutors: []\nnodes:\n- [1]\n",
	} {
		if _, err := system.Read(strings.NewReader(text)); !errors.Is(err, system.ErrArchitectureFile) {
			t.Errorf("%s: error %v, want ErrArchitectureFile", name, err)
		}
	}
}

func FuzzReadArchitecture(f *testing.F) {
	for _, file := range []string{"robot.yaml", "chain.yaml"} {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := system.Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		if _, _, err := a.Paths(t.Context(), system.PathQuery{Limit: 10, Nodes: 5, Undefined: true}); err != nil {
			t.Error(err)
		}
		written, _ := writeArchitecture(t, a)
		if _, err := system.Read(strings.NewReader(written)); err != nil {
			t.Errorf("what was written cannot be read: %v\n%s", err, written)
		}
	})
}

func TestAdopt(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "chain.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := system.Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	// The recording numbers its callbacks differently.
	recorded := new(system.Architecture)
	node := &system.Node{Name: "/fusion", Process: robot}
	write := &system.Callback{Node: node, Name: "/fusion/callback_7", Kind: trace.KindSubscription, TopicName: "/points", Symbol: "Fusion::on_points(Points)"}
	read := &system.Callback{Node: node, Name: "/fusion/callback_3", Kind: trace.KindTimer, Period: trace.Some(int64(50_000_000)), Symbol: "Fusion::on_timer()"}
	node.Callbacks = []*system.Callback{read, write}
	node.Subscriptions = []*system.Subscription{{Node: node, TopicName: "/points", Callback: write}, {Node: node, TopicName: "/pose"}}
	node.Publishers = []*system.Publisher{{Node: node, TopicName: "/objects", Callbacks: []*system.Callback{read}}}
	recorded.Nodes = []*system.Node{node}

	missing := recorded.Adopt(file)
	if want := []string{
		"callback /fusion/callback_2 (Fusion::on_pose(Pose)) is not in the recording",
		`path missing: there is no node "/lidar" that subscribes to "UNDEFINED" and publishes "/points"`,
	}; !slices.Equal(sortedStrings(missing), want) {
		t.Errorf("missing %q, want %q", missing, want)
	}
	if len(node.VariablePassings) != 1 || node.VariablePassings[0] != (system.VariablePassing{Write: write, Read: read}) {
		t.Errorf("variable passings %+v", node.VariablePassings)
	}
	if got := names(node.CallbackChain(node.Subscriptions[0], node.Publishers[0])); !slices.Equal(got, []string{"/fusion/callback_7", "/fusion/callback_3"}) {
		t.Errorf("callback chain %v", got)
	}
	for topic, want := range map[string]system.ContextType{"/points": system.ContextCallbackChain, "/pose": system.ContextUseLatestMessage} {
		for _, s := range node.Subscriptions {
			if got := node.Context(s, node.Publishers[0]); s.TopicName == topic && got != want {
				t.Errorf("message context of %s is %s, want %s", topic, got, want)
			}
		}
	}
	if len(recorded.NamedPaths) != 1 || recorded.NamedPaths[0].Name != "objects" || recorded.NamedPaths[0].Nodes[0].Context != system.ContextCallbackChain {
		t.Errorf("named paths %+v", recorded.NamedPaths)
	}
}
