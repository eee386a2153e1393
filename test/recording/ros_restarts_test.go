package recording

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	// restarts is how often a node is started in one recording, reloads how often a component is loaded.
	restarts = 5
	reloads  = 3
)

// published counts the messages that a talker has said it publishes.
func published(said string) int { return strings.Count(said, "Publishing: ") }

// saidBefore is how long before it is interrupted a talker has said that it publishes a message, which it does then. It
// publishes once a second.
const saidBefore = 300 * time.Millisecond

// waitForMessages waits until a talker has said that it publishes so many messages.
func waitForMessages(t *testing.T, output *programOutput, count int) {
	t.Helper()
	for deadline := time.Now().Add(patience); published(output.String()) < count; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no %d messages:\n%s", count, output.String())
		}
	}
}

// TestROSRestarts: a node that is started again and again, and a container whose components come and go, are recorded
// by name. Each of them is there from its first event to its last.
func TestROSRestarts(t *testing.T) {
	forEachROS(t, func(t *testing.T, ros rosEnvironment) {
		ros.requireCommands(t)
		container, said := ros.startHeard(t, "rclcpp_components", "component_container")
		r := record(t, session.Configuration{Name: "demo_nodes_cpp/talker|component_container$", Prefixes: []string{ros.Prefix}})
		talkers := map[int]int{} // messages by PID
		for range restarts {
			c, output := ros.command(t, "demo_nodes_cpp", "talker"), &programOutput{}
			c.Stdout, c.Stderr = output, output
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Process.Kill() })
			waitForMessages(t, output, 2)
			time.Sleep(saidBefore)
			if err := c.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			if err := c.Wait(); err != nil {
				t.Logf("talker: %v", err)
			}
			talkers[c.Process.Pid] = published(output.String())
		}
		for i := range reloads {
			ros.load(t, "composition composition::Talker")
			waitForMessages(t, said, published(said.String())+2)
			ros.runScript(t, fmt.Sprintf("ros2 component unload --no-daemon --spin-time 3 /ComponentManager %d", i+1))
		}
		data := r.stopWithoutLoss()
		if data.Session.Unarmed != 0 {
			t.Errorf("%d files were mapped and not probed", data.Session.Unarmed)
		}
		for pid, want := range talkers {
			requireInitEvents(t, data, pid)
			if got := messagesOf(data, pid, "/talker"); got != want || want < 2 {
				t.Errorf("PID %d: %d messages, %d were published", pid, got, want)
			}
		}
		if got, want := messagesOf(data, container, "/talker"), published(said.String()); got != want || want < 2*reloads {
			t.Errorf("the container: %d messages, %d were published", got, want)
		}
		if got := loadedTalkers(data, container); got != reloads {
			t.Errorf("%d components are known from their first event on, of %d", got, reloads)
		}
	})
}

// loadedTalkers counts the nodes of a container that came while it was recorded.
func loadedTalkers(data *oracle.Dataset, container int) int {
	return countRows(data.Nodes, func(n trace.Node) bool {
		return int(n.PID) == container && n.NodeName == "talker" && n.InitTimestamp.Valid
	})
}
