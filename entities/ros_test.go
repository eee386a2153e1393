package entities

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"
	"github.com/cilium/ebpf/rlimit"

	"github.com/caret-bpf/caret-bpf/elffile"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestRunningROS attaches to programs of each distribution that is installed, after they started, and compares what
// memory says of the addresses that their tracepoints pass with what is known of the programs.
func TestRunningROS(t *testing.T) {
	for _, distro := range []string{"humble", "jazzy"} {
		for _, rmw := range []string{"rmw_fastrtps_cpp", "rmw_cyclonedds_cpp"} {
			t.Run(distro+"/"+rmw, func(t *testing.T) {
				prefix := "/opt/ros/" + distro + "-stripped"
				talker := startROS(t, prefix, rmw, "demo_nodes_cpp/talker")
				listener := startROS(t, prefix, rmw, "demo_nodes_cpp/listener")
				intra := startROS(t, prefix, rmw, "caret_targets/intra_nodes")
				t.Run("talker", func(t *testing.T) { checkTalker(t, talker) })
				t.Run("listener", func(t *testing.T) { checkListener(t, listener) })
				t.Run("intra_nodes", func(t *testing.T) { checkIntraProcess(t, intra) })
			})
		}
	}
}

func checkTalker(t *testing.T, process *target.Process) {
	g := openGraph(t, process)
	hits := observe(t, process, "callback_start", "rcl_publish")
	chatter := 0
	for _, hit := range hits["rcl_publish"] {
		got, ok := g.Publisher(hit.First, 1)
		if !ok || got.TopicName == "/rosout" {
			continue // librcl publishes it with a copy of the handle on its stack
		}
		chatter++
		if got.RMWPublisherHandle == 0 || got.TopicName != "/chatter" || got.QueueDepth != trace.Some(uint64(7)) {
			t.Errorf("publisher %v: %+v, %v", hit.First, got, g.Unknown())
		}
		if byRMW, ok := g.PublisherByRMW(got.RMWPublisherHandle, 1); !ok || byRMW != got {
			t.Errorf("by rmw handle: %+v, %v", byRMW, ok)
		}
	}
	if chatter == 0 {
		t.Errorf("no publish of /chatter among %d: %v", len(hits["rcl_publish"]), g.Unknown())
	}
	var timers int
	for _, hit := range hits["callback_start"] {
		got, ok := g.Callback(hit.First, 1)
		if !ok {
			t.Errorf("callback %v: %v", hit.First, g.Unknown())
			continue
		}
		if got.Kind == trace.KindTimer {
			timers++
			if got.Period != trace.Some(int64(time.Second)) || !strings.Contains(got.Symbol, "Talker") {
				t.Errorf("timer callback %+v", *got)
			}
		}
	}
	if timers == 0 {
		t.Errorf("no timer callback among %d", len(hits["callback_start"]))
	}
}

func checkListener(t *testing.T, process *target.Process) {
	g := openGraph(t, process)
	hits := observe(t, process, "callback_start", "rmw_take")
	for _, hit := range hits["rmw_take"] {
		// rmw_fastrtps takes discovery messages for itself, from a topic that is not one of ROS.
		if got, ok := g.SubscriptionByRMW(hit.First, 1); ok && got.TopicName == "" {
			t.Errorf("subscription %+v", *got)
		}
	}
	var subscriptions int
	for _, hit := range hits["callback_start"] {
		got, ok := g.Callback(hit.First, 1)
		if !ok {
			t.Errorf("callback %v: %v", hit.First, g.Unknown())
			continue
		}
		if got.Kind == trace.KindSubscription && got.TopicName == "/chatter" {
			subscriptions++
			if got.NodeName != "/listener" || got.OwnerHandle == 0 {
				t.Errorf("subscription callback %+v", *got)
			}
		}
	}
	if subscriptions == 0 {
		t.Errorf("no subscription callback among %d", len(hits["callback_start"]))
	}
	rows := g.Rows(true)
	chatter := slices.DeleteFunc(rows.Subscriptions, func(s trace.Subscription) bool { return s.TopicName != "/chatter" })
	if len(chatter) != 1 || chatter[0].RMWSubscriptionHandle == 0 || !chatter[0].QueueDepth.Valid || chatter[0].NodeName != "/listener" {
		t.Errorf("subscriptions of /chatter: %+v", chatter)
	}
	if len(rows.Nodes) != 1 || rows.Nodes[0].NodeName != "listener" || rows.Nodes[0].Namespace != "/" {
		t.Errorf("nodes %+v", rows.Nodes)
	}
}

func checkIntraProcess(t *testing.T, process *target.Process) {
	g := openGraph(t, process)
	hits := observe(t, process, "callback_start")
	kinds := make(map[trace.CallbackKind]int)
	for _, hit := range hits["callback_start"] {
		got, ok := g.Callback(hit.First, 1)
		if !ok {
			t.Errorf("callback %v: %v", hit.First, g.Unknown())
			continue
		}
		kinds[got.Kind]++
		if isIntra := hit.Second&0xff != 0; isIntra != (got.Kind == trace.KindIntraProcessSubscription) {
			t.Errorf("callback_start says intra-process: %v, memory says %s", isIntra, got.Kind)
		}
	}
	if kinds[trace.KindIntraProcessSubscription] == 0 {
		t.Errorf("callbacks %v", kinds)
	}
	for _, row := range g.Rows(true).Subscriptions {
		if row.IsIntraProcess.Value && (row.Buffer == 0 || !isTopic(row.TopicName)) {
			t.Errorf("intra-process subscription %+v", row)
		}
	}
}

// startROS runs a program of an installation until the test ends, and returns it once it has loaded its RMW
// implementation.
func startROS(t *testing.T, prefix, rmw, program string) *target.Process {
	t.Helper()
	if _, err := os.Stat(filepath.Join(prefix, "READY")); err != nil {
		t.Skipf("no ROS 2 in %s", prefix)
	}
	path := filepath.Join(prefix, "lib", program)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s is not installed", path)
	}
	command := exec.Command("bash", "-c", `source "$0/setup.bash" && exec "$1"`, prefix, path)
	command.Env = append(os.Environ(), "RMW_IMPLEMENTATION="+rmw, "ROS_LOCALHOST_ONLY=1", "ROS_DOMAIN_ID=72")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := command.Process.Signal(syscall.SIGINT); err != nil {
			t.Error(err)
		}
		if err := command.Wait(); err != nil {
			t.Logf("%s: %v", program, err)
		}
	})
	finder := target.NewFinder()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		process, err := finder.Open(t.Context(), int32(command.Process.Pid))
		if err != nil {
			continue // the shell, or a program that is being linked
		}
		if process.RMW == rmw {
			t.Cleanup(func() { process.Close() })
			return process
		}
		process.Close()
	}
	t.Fatalf("%s did not map %s", program, rmw)
	return nil
}

func openGraph(t *testing.T, process *target.Process) *Graph {
	t.Helper()
	memory, err := OpenMemory(t.Context(), process)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { memory.Close() })
	layout, err := LayoutOf(t.Context(), process)
	if err != nil {
		t.Fatal(err)
	}
	g := New(testKey)
	g.SetMemory(memory, layout)
	return g
}

// hit is a call of a tracepoint with its first two arguments.
type hit struct {
	Event  uint64 // index in the list of events observed
	First  trace.Address
	Second uint64
}

// observe returns the calls of tracepoints of a process that happen in a while.
func observe(t *testing.T, process *target.Process, events ...string) map[string][]hit {
	t.Helper()
	library, ok := process.FindModule("libtracetools.so")
	if !ok {
		t.Fatal("no libtracetools.so")
	}
	file, err := process.OpenModule(t.Context(), library)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	options := link.UprobeMultiOptions{PID: uint32(process.PID)}
	for i, event := range events {
		symbol, err := file.Lookup("ros_trace_" + event)
		if err != nil {
			t.Fatal(err)
		}
		site, err := file.FunctionSite(symbol, elffile.SiteRequest{})
		if err != nil {
			t.Fatal(err)
		}
		options.Addresses = append(options.Addresses, site.FileOffset)
		options.Cookies = append(options.Cookies, uint64(i))
	}
	program, records := observer(t)
	executable, err := link.OpenExecutable(library.OpenPath())
	if err != nil {
		t.Fatal(err)
	}
	attached, err := executable.UprobeMulti(nil, program, &options)
	if err != nil {
		t.Skipf("no uprobe_multi: %v", err)
	}
	time.Sleep(2500 * time.Millisecond)
	if err := attached.Close(); err != nil {
		t.Error(err)
	}
	return readHits(t, records, events)
}

func readHits(t *testing.T, records *ebpf.Map, events []string) map[string][]hit {
	t.Helper()
	reader, err := ringbuf.NewReader(records)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	reader.SetDeadline(time.Now())
	hits := make(map[string][]hit)
	for {
		record, err := reader.Read()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return hits
		}
		if err != nil {
			t.Fatal(err)
		}
		var h hit
		if err := binary.Read(bytes.NewReader(record.RawSample), binary.NativeEndian, &h); err != nil {
			t.Fatal(err)
		}
		hits[events[h.Event]] = append(hits[events[h.Event]], h)
	}
}

// observer loads a program that puts a hit into a ring buffer.
func observer(t *testing.T) (*ebpf.Program, *ebpf.Map) {
	t.Helper()
	if err := rlimit.RemoveMemlock(); err != nil {
		t.Skipf("no BPF: %v", err)
	}
	records, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.RingBuf, MaxEntries: 1 << 20})
	if err != nil {
		t.Skipf("no BPF: %v", err)
	}
	t.Cleanup(func() { records.Close() })
	// Where struct pt_regs keeps the first two arguments.
	first, second := int16(112), int16(104)
	if runtime.GOARCH == "arm64" {
		first, second = 0, 8
	}
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.Kprobe, AttachType: ebpf.AttachTraceUprobeMulti, License: "GPL",
		Instructions: asm.Instructions{
			asm.LoadMem(asm.R2, asm.R1, first, asm.DWord),
			asm.StoreMem(asm.RFP, -16, asm.R2, asm.DWord),
			asm.LoadMem(asm.R2, asm.R1, second, asm.DWord),
			asm.StoreMem(asm.RFP, -8, asm.R2, asm.DWord),
			asm.FnGetAttachCookie.Call(),
			asm.StoreMem(asm.RFP, -24, asm.R0, asm.DWord),
			asm.LoadMapPtr(asm.R1, records.FD()),
			asm.Mov.Reg(asm.R2, asm.RFP),
			asm.Add.Imm(asm.R2, -24),
			asm.Mov.Imm(asm.R3, 24),
			asm.Mov.Imm(asm.R4, 0),
			asm.FnRingbufOutput.Call(),
			asm.Mov.Imm(asm.R0, 0),
			asm.Return(),
		},
	})
	if err != nil {
		t.Skipf("no BPF: %v", err)
	}
	t.Cleanup(func() { program.Close() })
	return program, records
}
