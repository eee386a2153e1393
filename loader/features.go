package loader

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/features"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/attachguard"
)

// Features says what recording can use of the running kernel. A nil field is available; otherwise the error wraps
// ErrUnsupportedKernel or ErrPermission, or says what went wrong when it was tried.
type Features struct {
	// RingBuffer: BPF ring buffers (5.8). Required.
	RingBuffer error
	// AttachCookies: a number of one's own at each attached site (5.15). Required.
	AttachCookies error
	// GrowingMaps: programs that trace may use hash maps which are not allocated beforehand (6.1). Before, such a program
	// loads with a warning in the kernel's log and can dead-lock the machine. Required.
	GrowingMaps error
	// BTF: the kernel describes its own types in /sys/kernel/btf/vmlinux. Required.
	BTF error
	// KernelMemory: programs may read the kernel's memory, as those do that follow processes. A kernel that is locked down
	// for confidentiality refuses it. Required.
	KernelMemory error
	// HostProcessIDs: the recorder sees the process ids that the kernel's programs see. Required.
	HostProcessIDs error
	// UprobeMulti: many sites in one link (6.6). The tracefs fallback does without.
	UprobeMulti error
	// UprobeMultiThreads: the process filter of such a link passes all threads of the process (6.10, or backported).
	// Without it links are made for every process and the programs filter.
	UprobeMultiThreads error
	// Tracefs: trace events can be created. Required only without UprobeMulti.
	Tracefs error
}

// Feature is one line of Features.
type Feature struct {
	// Name says what it is, Kernel the version of Linux that introduced it ("" where it is no question of the version).
	Name, Kernel string
	// Required is false where recording has a way around.
	Required bool
	// Err is nil when the feature is available.
	Err error
}

// List returns the features as a table.
func (f Features) List() []Feature {
	return []Feature{
		{"BPF ring buffer", "5.8", true, f.RingBuffer},
		{"attach cookies", "5.15", true, f.AttachCookies},
		{"hash maps without preallocation", "6.1", true, f.GrowingMaps},
		{"kernel BTF", "", true, f.BTF},
		{"kernel lockdown (" + lockdownMode() + ")", "", true, f.KernelMemory},
		{"initial PID namespace", "", true, f.HostProcessIDs},
		{"uprobe_multi links", "6.6", false, f.UprobeMulti},
		{"uprobe_multi filter by process", "6.10", false, f.UprobeMultiThreads},
		{"uprobe events in tracefs", "3.5", f.UprobeMulti != nil, f.Tracefs},
	}
}

// Missing returns what recording cannot do without, nil when it can begin. Where permission is missing, that is all:
// the rest cannot be known.
func (f Features) Missing() error {
	var missing []error
	for _, feature := range f.List() {
		if !feature.Required || feature.Err == nil {
			continue
		}
		err := fmt.Errorf("%s: %w", feature.Name, feature.Err)
		if errors.Is(err, ErrPermission) {
			return err
		}
		missing = append(missing, err)
	}
	return errors.Join(missing...)
}

// Probe finds out what the running kernel can do, by doing it. The answer does not change while this process runs: it
// is found once.
func Probe() Features { return probeOnce() }

var probeOnce = sync.OnceValue(probeFeatures)

func probeFeatures() Features {
	f := Features{
		RingBuffer:     explainFeature("creating a BPF ring buffer", "5.8", features.HaveMapType(ebpf.RingBuf)),
		AttachCookies:  explainFeature("loading a BPF program", "5.15", features.HaveProgramHelper(ebpf.Kprobe, asm.FnGetAttachCookie)),
		GrowingMaps:    explainFeature("using a hash map without preallocation", "6.1", probeGrowingMaps()),
		BTF:            probeBTF(),
		KernelMemory:   explainKernelMemory(features.HaveProgramHelper(ebpf.Kprobe, asm.FnProbeReadKernel)),
		HostProcessIDs: CheckPIDNamespace(),
	}
	_, f.Tracefs = findTracefs()
	// What follows attaches, before there is a recording.
	if guard, err := attachguard.Start(func(string) {}); err == nil {
		defer guard.Close()
	}
	f.UprobeMulti = explainFeature("creating a uprobe_multi link", "6.6", features.HaveBPFLinkUprobeMulti())
	if f.UprobeMulti != nil {
		f.UprobeMultiThreads = f.UprobeMulti
	} else {
		f.UprobeMultiThreads = explainFeature("attaching a uprobe_multi link", "6.10", probeUprobeMultiThreads())
	}
	return f
}

// explainFeature turns what the kernel said into one of this package's errors.
func explainFeature(action, kernel string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ebpf.ErrNotSupported), errors.Is(err, ErrUnsupportedKernel):
		return fmt.Errorf("%w: needs Linux %s, this is %s", ErrUnsupportedKernel, kernel, kernelRelease())
	case isPermission(err):
		return permissionError(action, err, capBPF, capPerfmon)
	}
	return fmt.Errorf("%s: %w", action, err)
}

// explainKernelMemory is explainFeature for the reading of the kernel's memory. What every kernel since 5.5 can do, it
// refuses only where it is locked down for confidentiality: it has no such helper then, nor the one that kernels before
// had. The mode "integrity" forbids nothing that recording does.
func explainKernelMemory(err error) error {
	lacks := errors.Is(err, ebpf.ErrNotSupported) || errors.Is(err, unix.EINVAL)
	if lacks && !olderThan(kernelRelease(), 5, 5) {
		return fmt.Errorf("%w: the kernel is locked down, and refuses BPF programs that read its memory, as those that follow processes do: "+
			"boot with lockdown=integrity (kernel_lockdown(7))", ErrPermission)
	}
	return explainFeature("loading a BPF program", "5.5", err)
}

func kernelRelease() string {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return "of unknown version"
	}
	return unix.ByteSliceToString(name.Release[:])
}

func probeBTF() error {
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); err != nil {
		return fmt.Errorf("%w: %w; the kernel must be built with CONFIG_DEBUG_INFO_BTF=y", ErrUnsupportedKernel, err)
	}
	return nil
}

// initialPIDNamespace is PROC_PID_INIT_INO, the inode of the first PID namespace (linux/include/linux/proc_ns.h).
const initialPIDNamespace = "pid:[4026531836]"

// CheckPIDNamespace returns ErrPIDNamespace unless this process runs in the host's PID namespace. It needs no
// privileges.
func CheckPIDNamespace() error {
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return fmt.Errorf("reading the PID namespace: %w", err)
	}
	if namespace != initialPIDNamespace {
		return fmt.Errorf("%w: the kernel would report other process ids than those seen here; run it on the host, or in a container "+
			"that was started with --pid=host", ErrPIDNamespace)
	}
	return nil
}

// probeGrowingMaps loads a sleepable program that uses a hash map which is not allocated beforehand. The kernel began
// to accept that when allocating became safe in all tracing programs; those that cannot sleep it only ever warned of,
// so they tell nothing.
func probeGrowingMaps() error {
	growing, err := ebpf.NewMap(&ebpf.MapSpec{
		Name: "probe_growing", Type: ebpf.Hash, KeySize: 4, ValueSize: 4, MaxEntries: 1, Flags: unix.BPF_F_NO_PREALLOC,
	})
	if err != nil {
		return err
	}
	defer func() { _ = growing.Close() }()
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name:  "probe_growing",
		Type:  ebpf.Kprobe,
		Flags: unix.BPF_F_SLEEPABLE,
		Instructions: asm.Instructions{
			asm.StoreImm(asm.RFP, -4, 0, asm.Word),
			asm.Mov.Reg(asm.R2, asm.RFP),
			asm.Add.Imm(asm.R2, -4),
			asm.LoadMapPtr(asm.R1, growing.FD()),
			asm.FnMapLookupElem.Call(),
			asm.Mov.Imm(asm.R0, 0),
			asm.Return(),
		},
		License: "Dual MIT/GPL",
	})
	return closeProbe(program, err)
}

// closeProbe closes a program that was loaded to see whether the kernel takes it. A refusal for want of privileges says
// nothing of that.
func closeProbe(program *ebpf.Program, err error) error {
	switch {
	case err == nil:
		return program.Close()
	case isPermission(err):
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnsupportedKernel, err)
}

// probeUprobeMultiThreads counts the hits of two threads of this process under a link with this process's id. Before
// 6.10 the kernel took the id for a thread's, and there is nothing else to tell such kernels by: the fix was backported
// here and there.
func probeUprobeMultiThreads() error {
	counter, err := ebpf.NewMap(&ebpf.MapSpec{Name: "probe_hits", Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		return err
	}
	defer func() { _ = counter.Close() }()
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name:         "probe_threads",
		Type:         ebpf.Kprobe,
		AttachType:   ebpf.AttachTraceUprobeMulti,
		Instructions: countingProgram(counter),
		License:      "Dual MIT/GPL",
	})
	if err != nil {
		return err
	}
	defer func() { _ = program.Close() }()

	offset, err := probeSiteOffset()
	if err != nil {
		return err
	}
	executable, err := link.OpenExecutable("/proc/self/exe")
	if err != nil {
		return err
	}
	attached, err := executable.UprobeMulti(nil, program, &link.UprobeMultiOptions{
		Addresses: []uint64{offset},
		PID:       uint32(os.Getpid()),
	})
	if err != nil {
		return err
	}
	hitFromTwoThreads()
	if err := attached.Close(); err != nil {
		return err
	}

	var hits uint64
	if err := counter.Lookup(uint32(0), &hits); err != nil {
		return err
	}
	if hits != 2 {
		return fmt.Errorf("%w: %d of 2 threads passed the filter", ErrUnsupportedKernel, hits)
	}
	return nil
}

// hitFromTwoThreads calls the probe site once from each of two threads of which at most one is the process's first.
func hitFromTwoThreads() {
	var locked, done sync.WaitGroup
	locked.Add(2)
	for range 2 {
		done.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			locked.Done()
			locked.Wait()
			hitProbeSite()
		})
	}
	done.Wait()
}

// countingProgram adds one to the counter's only element.
func countingProgram(counter *ebpf.Map) asm.Instructions {
	return asm.Instructions{
		asm.StoreImm(asm.RFP, -4, 0, asm.Word),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -4),
		asm.LoadMapPtr(asm.R1, counter.FD()),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "return"),
		asm.Mov.Imm(asm.R1, 1),
		asm.AddAtomic.Mem(asm.R0, asm.R1, asm.DWord, 0),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("return"),
		asm.Return(),
	}
}

// probeSiteOffset returns the probe site's offset in the recorder's executable.
func probeSiteOffset() (uint64, error) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return 0, err
	}
	address := uint64(probeSiteAddress())
	for line := range strings.Lines(string(maps)) {
		m, ok := parseMapping(line)
		if ok && m.start <= address && address < m.end && m.inode != 0 {
			return address - m.start + m.offset, nil
		}
	}
	return 0, errors.New("the recorder's own text is not mapped from a file")
}
