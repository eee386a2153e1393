package loader

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/rlimit"

	"github.com/caret-bpf/caret-bpf/bpf"
)

// Options are the settings of a recording. They are constants to the kernel's verifier, which removes what is not used.
type Options struct {
	// RingBytes is the size of the ring buffer, rounded up to a power of two of at least a page and at most 1 GiB; 0 means
	// 16 MiB.
	RingBytes int
	// Raw adds a record of every hit to the merged records.
	Raw bool
	// FilterProcesses records only the processes that AddProcess listed. Meant for sites attached for every process. It
	// holds for what is attached before a change of all links: BeginChange says it of the new ones.
	FilterProcesses bool
	// FollowChildren lists the children of listed processes.
	FollowChildren bool
	// ReportAllExecs reports every program that starts on the machine, not only in listed processes, and the children of
	// these.
	ReportAllExecs bool
	// FilterAddresses drops records of the objects that Ignore named.
	FilterAddresses bool
	// MessageStamps reads header.stamp of the messages of the entities that SetHeaderOffset named.
	MessageStamps bool
	// Scheduling adds to records of callbacks what their threads were off the CPU for.
	Scheduling bool
	// SchedRecords adds, with Scheduling, a record of each time that a thread was off the CPU.
	SchedRecords bool
	// OnlyListed says that of the threads that are watched for it only those of listed processes are recorded.
	OnlyListed bool
	// NoIntraProcess says that enqueues and dequeues of intra-process buffers will not be probed.
	NoIntraProcess bool
	// ForceTracefs attaches through tracefs also where the kernel has uprobe_multi.
	ForceTracefs bool
	// Tell is called, from another goroutine, with what hindered attaching or detaching and was done about it. It may not
	// wait for a call of Detach or Close.
	Tell func(error)
}

const (
	defaultRingBytes = 16 << 20
	maxRingBytes     = 1 << 30
)

// ringSize returns the size of ring buffer that the kernel accepts for a wish.
func ringSize(wish int) uint32 {
	switch {
	case wish <= 0:
		wish = defaultRingBytes
	case wish > maxRingBytes:
		wish = maxRingBytes
	}
	wish = max(wish, os.Getpagesize())
	return 1 << bits.Len(uint(wish-1))
}

// wakeupBytes returns how full the ring buffer is when the reader is woken: late enough for one wake-up to serve many
// records, early enough for the reader to be there before the ring is full.
func wakeupBytes(ring uint32) uint64 { return min(64<<10, uint64(ring)/8) }

// mode is what New decided about the way to attach.
type mode struct {
	tracefsRoot     string // "" with uprobe_multi
	filterInProgram bool
}

func chooseMode(features Features, options Options) (mode, error) {
	if err := features.Missing(); err != nil {
		return mode{}, err
	}
	if features.UprobeMulti == nil && !options.ForceTracefs {
		return mode{filterInProgram: features.UprobeMultiThreads != nil}, nil
	}
	root, err := findTracefs()
	if err != nil {
		return mode{}, err
	}
	return mode{tracefsRoot: root}, nil
}

// loadCollection loads programs and maps with the recording's settings.
func loadCollection(ctx context.Context, options Options, m mode) (*ebpf.Collection, error) {
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, permissionError("raising the limit of locked memory (RLIMIT_MEMLOCK)", err, capSysResource)
	}
	spec, err := bpf.LoadCaret()
	if err != nil {
		return nil, fmt.Errorf("reading the embedded BPF object: %w", err)
	}
	if err := configure(spec, options, m); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	collection, err := ebpf.NewCollection(spec)
	if err != nil {
		return nil, explainLoadError(err)
	}
	return collection, nil
}

// configure applies the settings to the specification and takes out what this recording does not need.
func configure(spec *ebpf.CollectionSpec, options Options, m mode) error {
	ring := ringSize(options.RingBytes)
	settings, err := offsets()
	if err != nil {
		return fmt.Errorf("where ROS 2's objects have their members: %w", err)
	}
	maps.Copy(settings, map[string]any{
		bpf.CaretVarLinks:           [2]uint32{newLinkSet(0, options.FilterProcesses || m.filterInProgram).rule()},
		bpf.CaretVarFollowChildren:  options.FollowChildren,
		bpf.CaretVarReportAllExecs:  options.ReportAllExecs,
		bpf.CaretVarRawRecords:      options.Raw,
		bpf.CaretVarFilterAddresses: options.FilterAddresses,
		bpf.CaretVarMessageStamps:   options.MessageStamps,
		bpf.CaretVarIntraProcess:    !options.NoIntraProcess,
		bpf.CaretVarScheduling:      options.Scheduling,
		bpf.CaretVarSchedRecords:    options.SchedRecords,
		bpf.CaretVarOnlyListed:      options.OnlyListed,
		bpf.CaretVarWakeupBytes:     wakeupBytes(ring),
	})
	for name, value := range settings {
		variable := spec.Variables[name]
		if variable == nil {
			return fmt.Errorf("the BPF object has no setting %s", name)
		}
		if err := variable.Set(value); err != nil {
			return fmt.Errorf("setting %s: %w", name, err)
		}
	}
	spec.Maps[bpf.CaretMapRecords].MaxEntries = ring
	for name, program := range spec.Programs {
		// The tests' entrances, and what was not asked for.
		if program.Type == ebpf.Syscall || watchesScheduler(name) && !options.Scheduling {
			delete(spec.Programs, name)
		}
	}
	if !options.FollowChildren && !options.ReportAllExecs {
		delete(spec.Programs, "on_sched_process_fork")
	}
	if m.tracefsRoot != "" {
		// Programs for uprobe_multi links cannot be linked to perf events.
		for _, program := range spec.Programs {
			if program.AttachType == ebpf.AttachTraceUprobeMulti {
				program.AttachType = ebpf.AttachNone
			}
		}
	}
	return nil
}

// explainLoadError prints a verifier's rejection whole, and names what is missing when privileges are.
func explainLoadError(err error) error {
	var rejection *ebpf.VerifierError
	if errors.As(err, &rejection) && len(rejection.Log) > 0 {
		return fmt.Errorf("%w: the kernel's verifier rejects a program: %w\n%+v", ErrUnsupportedKernel, err, rejection)
	}
	if isPermission(err) {
		return permissionError("loading the BPF programs", err, capBPF, capPerfmon)
	}
	return fmt.Errorf("loading the BPF programs: %w", err)
}
