package loader

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/bpf"
	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
)

func TestRingSize(t *testing.T) {
	page := uint32(os.Getpagesize())
	for wish, want := range map[int]uint32{
		-1: 16 << 20, 0: 16 << 20, 1: page, int(page): page, int(page) + 1: 2 * page, 1 << 20: 1 << 20, 1<<20 + 1: 2 << 20,
		1<<30 - 1: 1 << 30, 1 << 40: 1 << 30,
	} {
		if got := ringSize(wish); got != want {
			t.Errorf("%d bytes: %d, want %d", wish, got, want)
		}
	}
	if got := wakeupBytes(16 << 20); got != 64<<10 {
		t.Errorf("a ring of 16 MiB wakes its reader at %d bytes", got)
	}
	if got := wakeupBytes(4096); got != 512 {
		t.Errorf("a ring of a page wakes its reader at %d bytes", got)
	}
}

func loadSpec(t testing.TB) *ebpf.CollectionSpec {
	t.Helper()
	spec, err := bpf.LoadCaret()
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func TestSettingsReachThePrograms(t *testing.T) {
	spec := loadSpec(t)
	options := Options{RingBytes: 1 << 20, Raw: true, FollowChildren: true, FilterAddresses: true}
	if err := configure(spec, options, mode{filterInProgram: true}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"follow_children": true, "report_all_execs": false, "raw_records": true, "filter_addresses": true,
	} {
		var got bool
		if err := spec.Variables[name].Get(&got); err != nil || got != want {
			t.Errorf("%s is %v, want %v (%v)", name, got, want, err)
		}
	}
	var rules [2]uint32
	if err := spec.Variables["links"].Get(&rules); err != nil || rules != [2]uint32{abi.LinksFilter, 0} {
		t.Errorf("links do %v, want those of set 0 to filter (%v)", rules, err)
	}
	if got := spec.Maps[bpf.CaretMapRecords].MaxEntries; got != 1<<20 {
		t.Errorf("the ring has %d bytes", got)
	}
	for name, program := range spec.Programs {
		if program.Type == ebpf.Syscall {
			t.Errorf("%s, a program of tests, is loaded", name)
		}
	}
}

func TestProgramsNotNeededAreNotLoaded(t *testing.T) {
	spec := loadSpec(t)
	if err := configure(spec, Options{}, mode{tracefsRoot: "/sys/kernel/tracing"}); err != nil {
		t.Fatal(err)
	}
	if spec.Programs["on_sched_process_fork"] != nil {
		t.Error("the program at forks is loaded although nobody follows children")
	}
	for name, program := range spec.Programs {
		if program.AttachType == ebpf.AttachTraceUprobeMulti {
			t.Errorf("%s cannot be linked to a perf event", name)
		}
	}
}

func TestEveryEventHasItsProgram(t *testing.T) {
	spec := loadSpec(t)
	for _, entry := range probes.Catalogue() {
		if name := (probes.Site{Event: entry.Event}).Program(); spec.Programs[name] == nil {
			t.Errorf("%v: the BPF object has no program %s", entry.Event, name)
		}
	}
}

func TestEveryProgramsMissesHaveAKind(t *testing.T) {
	want := map[string]abi.Kind{
		"on_callback_start": abi.KindCallback, "on_callback_end": abi.KindCallback, "on_executor_execute": abi.KindCallback, "on_exception_caught": abi.KindCallback, "on_service_executed": abi.KindCallback,
		"on_request_sent": abi.KindService, "on_request_taken": abi.KindService, "on_response_sent": abi.KindService, "on_response_taken": abi.KindService,
		"on_rclcpp_publish": abi.KindPublish, "on_rcl_publish": abi.KindPublish, "on_rmw_publish": abi.KindPublish,
		"on_dds_bind_addr_to_stamp": abi.KindPublish, "on_rclcpp_intra_publish": abi.KindPublish,
		"on_rclcpp_ring_buffer_enqueue": abi.KindEnqueue, "on_rclcpp_ring_buffer_dequeue": abi.KindTake, "on_rmw_take": abi.KindTake,
		"on_init_event": abi.KindInit, "on_sched_process_fork": abi.KindProcess, "on_sched_process_exec": abi.KindProcess,
		"on_sched_process_exit": abi.KindProcess, "on_library_load": abi.KindProcess,
	}
	for kind := range abi.KindCount {
		want["on_"+kind.String()] = kind
	}
	for name, program := range loadSpec(t).Programs {
		if program.Type == ebpf.Syscall || watchesScheduler(name) {
			continue
		}
		if kind, known := want[name]; !known || kindOfProgram(name) != kind {
			t.Errorf("%s counts as %v, want %v", name, kindOfProgram(name), kind)
		}
	}
}

// TestNoProgramWaits: a program that waits for a page of the target waits for whoever serves it, and with it all that
// detach programs.
func TestNoProgramWaits(t *testing.T) {
	m, err := chooseMode(Features{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	spec := loadSpec(t)
	if err := configure(spec, Options{}, m); err != nil {
		t.Fatal(err)
	}
	for name, program := range spec.Programs {
		if program.Flags&unix.BPF_F_SLEEPABLE != 0 {
			t.Errorf("%s may sleep", name)
		}
	}
}

func TestChooseMode(t *testing.T) {
	all := Features{}
	if m, err := chooseMode(all, Options{}); err != nil || m != (mode{}) {
		t.Errorf("everything there: %+v, %v", m, err)
	}
	threads := Features{UprobeMultiThreads: ErrUnsupportedKernel}
	if m, err := chooseMode(threads, Options{}); err != nil || m != (mode{filterInProgram: true}) {
		t.Errorf("a filter that passes one thread: %+v, %v", m, err)
	}
	_, err := chooseMode(Features{RingBuffer: ErrUnsupportedKernel}, Options{})
	expectError(t, err, ErrUnsupportedKernel)
	_, err = chooseMode(Features{GrowingMaps: ErrUnsupportedKernel}, Options{})
	expectError(t, err, ErrUnsupportedKernel)
	for _, cause := range []error{ErrPermission, ErrNoTracefs} {
		_, err = chooseMode(Features{UprobeMulti: ErrUnsupportedKernel, Tracefs: cause}, Options{})
		expectError(t, err, cause)
	}
	if err := (Features{UprobeMulti: ErrUnsupportedKernel}).Missing(); err != nil {
		t.Errorf("uprobe_multi is not indispensable: %v", err)
	}
}

func TestExplainFeature(t *testing.T) {
	expectError(t, explainFeature("trying", "6.6", ebpf.ErrNotSupported), ErrUnsupportedKernel)
	expectError(t, explainFeature("trying", "6.6", unix.EPERM), ErrPermission)
	other := errors.New("other")
	expectError(t, explainFeature("trying", "6.6", other), other)
	if err := explainFeature("trying", "6.6", nil); err != nil {
		t.Error(err)
	}
	if err := explainFeature("trying", "6.6", ebpf.ErrNotSupported); !strings.Contains(err.Error(), "6.6") {
		t.Errorf("%q does not name the version", err)
	}
}

func TestProbe(t *testing.T) {
	requireRoot(t)
	features := Probe()
	skipWithout(t, features.RingBuffer, 5, 8)
	skipWithout(t, features.AttachCookies, 5, 15)
	skipWithout(t, features.GrowingMaps, 6, 1)
	if err := features.Missing(); err != nil {
		t.Error(err)
	}
	if again := Probe(); again.UprobeMultiThreads != features.UprobeMultiThreads {
		t.Error("the second answer differs")
	}
	t.Run("uprobe_multi", func(t *testing.T) { skipWithout(t, features.UprobeMulti, 6, 6) })
	t.Run("uprobe_multi passes all threads", func(t *testing.T) { skipWithout(t, features.UprobeMultiThreads, 6, 10) })
}

func TestVerifierRejectionIsPrintedWhole(t *testing.T) {
	requireRoot(t)
	_, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.Kprobe, License: "Dual MIT/GPL",
		// Nothing is in R5.
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Mov.Imm(asm.R1, 0), asm.Mov.Reg(asm.R0, asm.R5), asm.Return()},
	})
	err = explainLoadError(err)
	expectError(t, err, ErrUnsupportedKernel)
	for _, part := range []string{"R5 !read_ok", "r1 = 0"} {
		if err != nil && !strings.Contains(err.Error(), part) {
			t.Errorf("the verifier's %q is missing in %q", part, err)
		}
	}
}

func TestNewWithoutPrivileges(t *testing.T) {
	if os.Geteuid() == 0 {
		unprivileged := exec.Command("/proc/self/exe", "-test.run=^TestNewWithoutPrivileges$", "-test.v")
		unprivileged.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if out, err := unprivileged.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS: TestNewWithoutPrivileges") {
			t.Errorf("as nobody: %v\n%s", err, out)
		}
		return
	}
	_, err := New(t.Context(), Options{})
	expectError(t, err, ErrPermission)
	for _, word := range []string{"CAP_BPF", "sudo"} {
		if err != nil && !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not name %s", err, word)
		}
	}
}
