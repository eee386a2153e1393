package recording

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/trace"
)

// launchFile starts two nodes in processes of their own, and two in a container that loads them.
const launchFile = `
from launch import LaunchDescription
from launch_ros.actions import ComposableNodeContainer, Node
from launch_ros.descriptions import ComposableNode

def component(plugin, name):
    return ComposableNode(package='composition', plugin=plugin, name=name, remappings=[('chatter', 'composed')])

def generate_launch_description():
    return LaunchDescription([
        Node(package='demo_nodes_cpp', executable='talker', output='screen'),
        Node(package='demo_nodes_cpp', executable='listener', output='screen'),
        ComposableNodeContainer(
            name='container', namespace='', package='rclcpp_components', executable='component_container', output='screen',
            composable_node_descriptions=[component('composition::Talker', 'ctalker'), component('composition::Listener', 'clistener')]),
    ])
`

// launches is how often the launch file is launched in one recording.
const launches = 5

// requireCommands skips where the ros2 command is not installed.
func (ros rosEnvironment) requireCommands(t *testing.T) {
	t.Helper()
	script := fmt.Sprintf("source %s/setup.bash && ros2 launch --help && ros2 component load --help && ros2 pkg prefix composition", ros.Prefix)
	if out, err := exec.Command("bash", "-c", script).CombinedOutput(); err != nil {
		t.Skipf("the ros2 command is not installed: %v: %.200s", err, out)
	}
}

// runScript runs a shell script in the distribution's environment.
func (ros rosEnvironment) runScript(t *testing.T, script string) {
	t.Helper()
	c := exec.Command("timeout", "60", "bash", "-c", fmt.Sprintf("source %s/setup.bash && %s", ros.Prefix, script))
	c.Env = os.Environ()
	for name, value := range ros.Variables() {
		if name != "AMENT_PREFIX_PATH" && name != "LD_LIBRARY_PATH" {
			c.Env = append(c.Env, name+"="+value)
		}
	}
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// TestROSLaunchFile records what ros2 launch starts, again and again in one recording: every node's init events, names
// and messages are there, from the first one on.
func TestROSLaunchFile(t *testing.T) {
	forEachROS(t, func(t *testing.T, ros rosEnvironment) {
		ros.requireCommands(t)
		folder := t.TempDir()
		file := filepath.Join(folder, "nodes.launch.py")
		if err := os.WriteFile(file, []byte(launchFile), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("ROS_DOMAIN_ID", fmt.Sprint(ros.Domain))
		script := fmt.Sprintf("source %s/setup.bash; export RMW_IMPLEMENTATION=%s ROS_LOCALHOST_ONLY=1; "+
			"for i in $(seq %d); do timeout -s INT 10 ros2 launch %s > %s/$i.txt 2>&1; done", ros.Prefix, ros.RMW, launches, file, folder)
		r := record(t, session.Configuration{Command: []string{"bash", "-c", script}, Prefixes: []string{ros.Prefix}})
		data := r.wait()
		for kind, count := range data.Lost() {
			t.Errorf("%d %s records lost", count, kind)
		}
		for _, loss := range data.Losses {
			if loss.Reason == trace.LossUnarmed {
				t.Errorf("mapped and not probed for %v: %+v", time.Duration(loss.ToTimestamp-loss.FromTimestamp), loss)
			}
		}
		launched := map[string][]int{} // PIDs, in order, by command
		for _, p := range data.Processes {
			launched[p.Command] = append(launched[p.Command], int(p.PID))
		}
		for i := range launches {
			text, err := os.ReadFile(fmt.Sprintf("%s/%d.txt", folder, i+1))
			if err != nil {
				t.Fatal(err)
			}
			requireLaunched(t, data, ros.Distro, launched, i, string(text))
		}
		if t.Failed() {
			t.Logf("processes: %v", launched)
		}
	})
}

// requireLaunched compares one launch with the sources of its nodes, and with what they have said.
func requireLaunched(t *testing.T, data *oracle.Dataset, distro string, launched map[string][]int, i int, said string) {
	t.Helper()
	const container = "component_conta" // as much of a name as the kernel keeps
	for _, command := range []string{"talker", "listener", container} {
		if len(launched[command]) != launches {
			t.Fatalf("%d processes of %s\n%s", len(launched[command]), command, said)
		}
	}
	talks := expectedNode{publishers: []string{"/chatter std_msgs/msg/String"}, timers: []time.Duration{time.Second}}
	hears := expectedNode{subscriptions: []string{"/chatter std_msgs/msg/String"}}
	for command, nodes := range map[string][]expectedNode{
		"talker":   {named("/talker", talks)},
		"listener": {named("/listener", hears)},
		container: {
			{name: "/container", unparameterized: true, services: []string{
				"/container/_container/load_node composition_interfaces/srv/LoadNode",
				"/container/_container/unload_node composition_interfaces/srv/UnloadNode",
				"/container/_container/list_nodes composition_interfaces/srv/ListNodes",
			}},
			{name: "/ctalker", publishers: []string{"/composed std_msgs/msg/String"}, timers: []time.Duration{time.Second}},
			{name: "/clistener", subscriptions: []string{"/composed std_msgs/msg/String"}},
		},
	} {
		pid := launched[command][i]
		requireEntitiesOf(t, entitiesOf(data, pid, true), distro, pid, nodes...)
		requireInitEvents(t, data, pid)
	}
	for node, what := range map[string]string{"talker": "Publishing", "listener": "I heard", "ctalker": "Publishing", "clistener": "I heard"} {
		want := len(regexp.MustCompile(`(?m)\[`+node+`\]: `+what+`: `).FindAllString(said, -1))
		got := 0
		for _, pid := range []int{launched["talker"][i], launched["listener"][i], launched[container][i]} {
			got += messagesOf(data, pid, "/"+node)
		}
		if want < 2 || got != want {
			t.Errorf("launch %d: %d messages of %s, which has said of %d\n%s", i, got, node, want, said)
		}
	}
}

func named(name string, node expectedNode) expectedNode {
	node.name = name
	return node
}

// messagesOf is how many messages of the topics of these nodes one of them has published or received.
func messagesOf(data *oracle.Dataset, pid int, node string) (count int) {
	isOfTopic := func(topic string) bool { return topic == "/chatter" || topic == "/composed" }
	for _, p := range data.Publishes {
		if int(p.PID) == pid && p.NodeName == node && isOfTopic(p.TopicName) {
			count++
		}
	}
	for _, c := range data.Callbacks {
		if int(c.PID) == pid && c.NodeName == node && isOfTopic(c.TopicName) {
			count++
		}
	}
	return count
}

// requireInitEvents demands that the entities of a process are known from their init events.
func requireInitEvents(t *testing.T, data *oracle.Dataset, pid int) {
	t.Helper()
	check := func(row trace.ProcessKey, init trace.Optional[int64], what string) {
		if int(row.PID) == pid && !init.Valid {
			t.Errorf("PID %d: no init event of %s", pid, what)
		}
	}
	for _, row := range data.Nodes {
		check(row.ProcessKey, row.InitTimestamp, "node "+row.NodeName)
	}
	for _, row := range data.Publishers {
		check(row.ProcessKey, row.InitTimestamp, "publisher "+row.TopicName)
	}
	for _, row := range data.Subscriptions {
		if row.TopicName != trace.DiscoveryTopic { // the middleware makes it without rcl
			check(row.ProcessKey, row.InitTimestamp, "subscription "+row.TopicName)
		}
	}
	for _, row := range data.ServiceServers {
		check(row.ProcessKey, row.InitTimestamp, "service "+row.ServiceName)
	}
	for _, row := range data.Timers {
		check(row.ProcessKey, row.InitTimestamp, "timer "+strings.TrimSpace(row.NodeName))
	}
}
