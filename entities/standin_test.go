package entities

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestStandIn asks the memory of the bundled stand-in for every entity that its ground truth lists.
func TestStandIn(t *testing.T) {
	for _, build := range []string{"humble", "humble-stripped", "jazzy", "jazzy-stripped"} {
		for _, rmw := range []string{"rmw_fastrtps_cpp", "rmw_cyclonedds_cpp"} {
			t.Run(build+"/"+rmw, func(t *testing.T) {
				truth, process := startStandIn(t, build, rmw)
				g := openGraph(t, process)
				nodes := make(map[trace.Address]string)
				seen := make(map[string]int)
				for _, line := range truth {
					seen[line.name]++
					if line.name == "node" {
						nodes[line.address("node")] = fullName(line.fields["namespace"], line.fields["name"])
					}
					checkStandInLine(t, g, line, nodes)
				}
				for _, name := range []string{"node", "publisher", "subscription", "timer", "service"} {
					if seen[name] == 0 {
						t.Errorf("the ground truth has no %s", name)
					}
				}
				if rows := g.Rows(true); len(rows.Nodes) != seen["node"] || len(rows.Publishers) != seen["publisher"] ||
					len(rows.Timers) != seen["timer"] || len(rows.Subscriptions) != 2*seen["subscription"] {
					t.Errorf("%d nodes, %d publishers, %d timers, %d subscription objects of %v",
						len(rows.Nodes), len(rows.Publishers), len(rows.Timers), len(rows.Subscriptions), seen)
				}
			})
		}
	}
}

func checkStandInLine(t *testing.T, g *Graph, line truthLine, nodes map[trace.Address]string) {
	t.Helper()
	switch line.name {
	case "node":
		got, ok := g.Node(line.address("node"), 1)
		if !ok || fullName(got.Namespace, got.NodeName) != nodes[line.address("node")] || got.RMWHandle != line.address("rmw_node") {
			t.Errorf("%v: %+v, %v", line, got, g.Unknown())
		}
	case "publisher":
		got, ok := g.Publisher(line.address("publisher"), 1)
		if !ok || got.TopicName != line.fields["topic"] || got.RMWPublisherHandle != line.address("rmw_publisher") ||
			got.QueueDepth != trace.Some(line.number("depth")) {
			t.Errorf("%v: %+v, %v", line, got, g.Unknown())
		}
	case "timer":
		got, ok := g.Callback(line.address("callback"), 1)
		if !ok || got.Kind != trace.KindTimer || got.OwnerHandle != line.address("timer") ||
			got.Period != trace.Some(int64(line.number("period"))) || got.Symbol == "" {
			t.Errorf("%v: %+v, %v", line, got, g.Unknown())
		}
	case "service":
		got, ok := g.Callback(line.address("callback"), 1)
		if !ok || got.Kind != trace.KindService || got.OwnerHandle != line.address("service") || got.TopicName != line.fields["name"] {
			t.Errorf("%v: %+v, %v", line, got, g.Unknown())
		}
	case "subscription":
		taken, ok := g.SubscriptionByRMW(line.address("rmw_subscription"), 1)
		if !ok || taken.TopicName != line.fields["topic"] {
			t.Errorf("%v: %+v, %v", line, taken, g.Unknown())
		}
		got, ok := g.Callback(line.address("callback"), 1)
		if !ok || got.Kind != trace.KindSubscription || got.OwnerHandle != line.address("subscription") ||
			got.TopicName != line.fields["topic"] || got.NodeName != nodes[line.address("node")] {
			t.Errorf("%v: %+v, %v", line, got, g.Unknown())
		}
		intra, ok := g.Callback(line.address("intra_callback"), 1)
		if !ok || intra.Kind != trace.KindIntraProcessSubscription || intra.TopicName != line.fields["topic"] {
			t.Errorf("%v: %+v, %v", line, intra, g.Unknown())
		}
		object, ok := g.objects.at(line.address("intra_object"), 1)
		if !ok || object.current.Buffer != line.address("buffer") {
			t.Errorf("%v: buffer of %+v", line, object)
		}
	}
}

// truthLine is a line of the stand-in's ground truth.
type truthLine struct {
	t      testing.TB
	name   string
	fields map[string]string
}

func (l truthLine) number(field string) uint64 {
	l.t.Helper()
	value, err := strconv.ParseUint(l.fields[field], 0, 64)
	if err != nil {
		l.t.Fatalf("%s of %s: %v", field, l.name, err)
	}
	return value
}

func (l truthLine) address(field string) trace.Address { return trace.Address(l.number(field)) }

func (l truthLine) String() string { return l.name + " " + l.fields["topic"] + l.fields["name"] }

// startStandIn runs the stand-in until the test ends, with flags beside the usual ones, and returns what it says that
// it has.
func startStandIn(t testing.TB, build, rmw string, flags ...string) ([]truthLine, *target.Process) {
	t.Helper()
	program := filepath.Join("..", "build", "testdata", build, "ros_node")
	if _, err := os.Stat(program); err != nil {
		t.Skipf("the stand-in is not built (make -C testdata): %v", err)
	}
	truthFile := filepath.Join(t.TempDir(), "truth")
	command := exec.Command(program, append([]string{"--domain", "73", "--ground-truth", truthFile, "--intra-process", "--nodes", "2",
		"--topics", "2", "--namespace", "/graph", "--rate", "1", "--service-rate", "1"}, flags...)...)
	command.Env = append(os.Environ(), "RMW_IMPLEMENTATION="+rmw)
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(output)
	t.Cleanup(func() {
		if err := command.Process.Signal(syscall.SIGINT); err != nil {
			t.Error(err)
		}
		for lines.Scan() { // it must not find its output closed
		}
		if err := command.Wait(); err != nil {
			t.Error(err)
		}
	})
	if !lines.Scan() || lines.Text() != "ready" {
		t.Fatalf("the stand-in says %q", lines.Text())
	}
	process, err := target.NewFinder().Open(t.Context(), int32(command.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { process.Close() })
	text, err := os.ReadFile(truthFile)
	if err != nil {
		t.Fatal(err)
	}
	var truth []truthLine
	for line := range strings.Lines(string(text)) {
		words := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		parsed := truthLine{t: t, name: words[0], fields: make(map[string]string)}
		for _, word := range words[1:] {
			name, value, _ := strings.Cut(word, "=")
			parsed.fields[name] = value
		}
		truth = append(truth, parsed)
	}
	return truth, process
}
