package recording

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/test/rosinstall"
	"github.com/caret-bpf/caret-bpf/trace"
)

// The tests in this file record real ROS 2 programs, of the distributions that are installed under /opt/ros.

// rosEnvironment is an installed distribution with an RMW implementation.
type rosEnvironment struct{ rosinstall.Installation }

func forEachROS(t *testing.T, test func(t *testing.T, ros rosEnvironment)) {
	requireRoot(t)
	requireLong(t)
	rosinstall.ForEach(t, func(t *testing.T, ros rosinstall.Installation) { test(t, rosEnvironment{ros}) })
}

// program returns the path of a program of a package.
func (ros rosEnvironment) program(t *testing.T, pkg, program string) string {
	t.Helper()
	path := filepath.Join(ros.Prefix, "lib", pkg, program)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s is not installed", path)
	}
	return path
}

// start starts a program of a package, which ends with the test.
func (ros rosEnvironment) start(t *testing.T, pkg, program string, arguments ...string) int {
	t.Helper()
	pid, _ := ros.startHeard(t, pkg, program, arguments...)
	return pid
}

// startUntil starts a program of a package, which ends with the test, and returns when it has said something that
// contains a text.
func (ros rosEnvironment) startUntil(t *testing.T, text, pkg, program string, arguments ...string) int {
	t.Helper()
	pid, output := ros.startHeard(t, pkg, program, arguments...)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if strings.Contains(output.String(), text) {
			return pid
		}
	}
	t.Fatalf("%s does not say %q", program, text)
	return 0
}

// startHeard starts a program of a package, which ends with the test, and returns also what it says as long as it runs.
func (ros rosEnvironment) startHeard(t *testing.T, pkg, program string, arguments ...string) (int, *programOutput) {
	t.Helper()
	output := &programOutput{}
	c := ros.command(t, pkg, program, arguments...)
	c.Stdout, c.Stderr = output, output
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGINT)
		ended := time.AfterFunc(20*time.Second, func() { _ = c.Process.Kill() })
		defer ended.Stop()
		_ = c.Wait()
		if t.Failed() {
			t.Logf("%s:\n%s", program, output.String())
		}
	})
	return c.Process.Pid, output
}

// programOutput is what a program has said so far. It may be read while the program goes on.
type programOutput struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write appends to the output.
func (o *programOutput) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(text)
}

// String returns the output so far.
func (o *programOutput) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// command returns the command of a program of a package.
func (ros rosEnvironment) command(t *testing.T, pkg, program string, arguments ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command(ros.program(t, pkg, program), arguments...)
	c.Env = os.Environ()
	for name, value := range ros.Variables() {
		c.Env = append(c.Env, name+"="+value)
	}
	return c
}

// export puts what programs need into the environment of the test, for those that a recording starts.
func (ros rosEnvironment) export(t *testing.T) {
	t.Helper()
	for name, value := range ros.Variables() {
		t.Setenv(name, value)
	}
}

// run runs a program of a package to its end and returns what it said.
func (ros rosEnvironment) run(t *testing.T, pkg, program string, arguments ...string) string {
	t.Helper()
	c := ros.command(t, pkg, program, arguments...)
	var output bytes.Buffer
	c.Stdout, c.Stderr = &output, &output
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	overdue := time.AfterFunc(60*time.Second, func() { _ = c.Process.Kill() })
	defer overdue.Stop()
	if err := c.Wait(); err != nil {
		t.Fatalf("%s %v: %v\n%s", program, arguments, err, output.String())
	}
	return output.String()
}

// recordRunning records processes that have been running for a while, and has the recording drawn for Perfetto.
func recordRunning(t *testing.T, seconds time.Duration, pids ...int) *oracle.Dataset {
	t.Helper()
	time.Sleep(5 * time.Second)
	r := record(t, session.Configuration{PIDs: strings.Trim(fmt.Sprint(pids), "[]")})
	time.Sleep(seconds * time.Second)
	data := r.stopWithoutLoss()
	d, err := trace.Open(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	checkPerfetto(t, d)
	return data
}

// stopWithoutLoss ends the recording, which must lack nothing.
func (r *recording) stopWithoutLoss() *oracle.Dataset {
	r.t.Helper()
	data := r.stop()
	for kind, count := range data.Lost() {
		r.t.Errorf("%d %s records lost", count, kind)
	}
	return data
}

// byTopic returns the publishes and the callbacks of a topic.
func byTopic(data *oracle.Dataset, topic string) (publishes []trace.Publish, callbacks []trace.Callback) {
	for _, row := range data.Publishes {
		if row.TopicName == topic {
			publishes = append(publishes, row)
		}
	}
	for _, row := range data.Callbacks {
		if row.TopicName == topic {
			callbacks = append(callbacks, row)
		}
	}
	return publishes, callbacks
}

// requireTopic checks the whole way of a topic's messages: every publish in order through its layers, in a callback,
// and every subscription callback fed by the message of a publish.
func requireTopic(t *testing.T, data *oracle.Dataset, topic string, least int) {
	t.Helper()
	publishes, callbacks := byTopic(data, topic)
	if len(publishes) < least || len(callbacks) < least {
		t.Fatalf("%s: %d publishes, %d callbacks, want at least %d of each", topic, len(publishes), len(callbacks), least)
	}
	bySource := map[int64]*trace.Publish{}
	for i := range publishes {
		p := &publishes[i]
		if !p.SourceTimestamp.Valid || p.Status != trace.PublishComplete {
			t.Fatalf("incomplete publish %+v", *p)
		}
		if p.PublisherHandle == 0 || p.Callback == 0 || !p.CallbackStartTimestamp.Valid {
			t.Errorf("publish without publisher or callback %+v", *p)
		}
		at := p.CallbackStartTimestamp.Value
		for _, layer := range []trace.Optional[int64]{
			p.RclcppPublishTimestamp, p.RclPublishTimestamp, p.RMWPublishTimestamp, p.DDSBindAddrToStampTimestamp,
		} {
			if !layer.Valid || layer.Value < at {
				t.Errorf("layers out of order: %+v", *p)
			}
			at = layer.Value
		}
		if bySource[p.SourceTimestamp.Value] != nil {
			t.Errorf("two publishes with source timestamp %d", p.SourceTimestamp.Value)
		}
		bySource[p.SourceTimestamp.Value] = p
	}
	matched := 0
	for _, c := range callbacks {
		if c.Status != trace.CallbackComplete || !c.SourceTimestamp.Valid || c.Kind != trace.KindSubscription {
			t.Errorf("callback that is no complete execution fed by a take: %+v", c)
			continue
		}
		p := bySource[c.SourceTimestamp.Value]
		if p == nil {
			continue // published just before the recording
		}
		matched++
		way := []int64{
			p.RclcppPublishTimestamp.Value, c.RMWTakeTimestamp.Value, c.CallbackStartTimestamp.Value, c.CallbackEndTimestamp.Value,
		}
		if !slices.IsSorted(way) {
			t.Errorf("received before it was published: %+v after %+v", c, *p)
		}
	}
	if matched < least || len(callbacks)-matched > 2*len(data.Publishers) {
		t.Errorf("%s: %d of %d callbacks were fed by one of %d recorded publishes", topic, matched, len(callbacks), len(publishes))
	}
	t.Logf("%s: %d publishes, %d callbacks, %d joined by source timestamp", topic, len(publishes), len(callbacks), matched)
}

func requireTimers(t *testing.T, data *oracle.Dataset, period int64, least int) {
	t.Helper()
	count := 0
	for _, c := range data.Callbacks {
		if c.Kind == trace.KindTimer && c.Period.Valid && c.Period.Value == period {
			count++
		}
	}
	if count < least {
		t.Errorf("%d callbacks of timers with period %d, want at least %d", count, period, least)
	}
}

func TestROSTalkerAndListener(t *testing.T) {
	forEachROS(t, func(t *testing.T, ros rosEnvironment) {
		talker := ros.start(t, "demo_nodes_cpp", "talker")
		listener := ros.start(t, "demo_nodes_cpp", "listener")
		data := recordRunning(t, 6, talker, listener)
		requireTopic(t, data, "/chatter", 4)
		requireTimers(t, data, int64(time.Second), 4)
		for _, p := range data.Processes {
			if p.Distro != ros.Distro || p.RMWImplementation != ros.RMW {
				t.Errorf("process %d is %s with %s, want %s with %s", p.PID, p.Distro, p.RMWImplementation, ros.Distro, ros.RMW)
			}
		}
	})
}

func TestROSMultiThreadedExecutor(t *testing.T) {
	forEachROS(t, func(t *testing.T, ros rosEnvironment) {
		data := recordRunning(t, 4, ros.start(t, "examples_rclcpp_multithreaded_executor", "multithreaded_executor"))
		requireTopic(t, data, "/topic", 4)
		threads := map[int32]bool{}
		for _, c := range data.Callbacks {
			threads[c.TID] = true
		}
		t.Logf("callbacks ran on %d threads", len(threads))
	})
}

func TestROSComponents(t *testing.T) {
	forEachROS(t, func(t *testing.T, ros rosEnvironment) {
		data := recordRunning(t, 6, ros.start(t, "composition", "dlopen_composition",
			filepath.Join(ros.Prefix, "lib", "libtalker_component.so"), filepath.Join(ros.Prefix, "lib", "liblistener_component.so")))
		requireTopic(t, data, "/chatter", 4)
		requireTimers(t, data, int64(time.Second), 4)
	})
}

// TestROSLaunched records a talker from its first event: what the init events say must name everything.
func TestROSLaunched(t *testing.T) {
	forEachROS(t, func(t *testing.T, ros rosEnvironment) {
		ros.export(t)
		r := record(t, session.Configuration{Command: []string{ros.program(t, "demo_nodes_cpp", "talker")}})
		time.Sleep(6 * time.Second)
		data := r.stop()
		publishes, _ := byTopic(data, "/chatter")
		if len(publishes) < 2 {
			t.Errorf("%d publishes on /chatter", len(publishes))
		}
		for _, p := range publishes {
			if p.NodeName != "/talker" {
				t.Errorf("publish of node %q", p.NodeName)
			}
		}
		named := false
		for _, node := range data.Nodes {
			named = named || node.NodeName == "talker" && node.Provenance == trace.FromTracepoint && node.InitTimestamp.Valid
		}
		if !named {
			t.Errorf("the node is not known from its init event: %+v", data.Nodes)
		}
	})
}

// TestROSLaunchedByAScript launches nodes at once from a script that sets ROS 2 up itself. The libraries of what is
// installed are probed before: nothing of any node is missing, from its init event on.
func TestROSLaunchedByAScript(t *testing.T) {
	forEachROS(t, func(t *testing.T, ros rosEnvironment) {
		const pairs = 3
		lines := []string{fmt.Sprintf("source %s/setup.bash", ros.Prefix), "export RMW_IMPLEMENTATION=" + ros.RMW, fmt.Sprintf("export ROS_DOMAIN_ID=%d", ros.Domain)}
		for i := range pairs {
			for _, name := range []string{"talker", "listener"} {
				lines = append(lines, fmt.Sprintf("%s --ros-args -r __node:=%s%d -r chatter:=chatter%d &", ros.program(t, "demo_nodes_cpp", name), name, i, i))
			}
		}
		// So that --prefix is not needed for a folder beside the usual ones.
		r := record(t, session.Configuration{Command: []string{"bash", "-c", strings.Join(append(lines, "wait"), "\n")}, Prefixes: []string{ros.Prefix}})
		time.Sleep(6 * time.Second)
		data := r.stop()
		if data.Session.Unarmed != 0 {
			t.Errorf("%d files were mapped and not probed", data.Session.Unarmed)
		}
		initialized := map[string]bool{}
		for _, node := range data.Nodes {
			if node.Provenance == trace.FromTracepoint && node.InitTimestamp.Valid {
				initialized[node.NodeName] = true
			}
		}
		for i := range pairs {
			for _, name := range []string{"talker", "listener"} {
				if name += fmt.Sprint(i); !initialized[name] {
					t.Errorf("the init event of %s is missing", name)
				}
			}
			publishes, takes := byTopic(data, fmt.Sprintf("/chatter%d", i))
			if len(publishes) < 2 || len(takes) == 0 {
				t.Errorf("%d publishes and %d takes on /chatter%d", len(publishes), len(takes), i)
			}
		}
	})
}
