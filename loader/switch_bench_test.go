package loader

import (
	"runtime"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/bpf"
	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/test/measure"
)

// BenchmarkSwitch measures what it adds to a switch of threads, with the waking that leads to it, when the time of
// callbacks is split: to threads that are not recorded, to those that are, and to those of which each time off the CPU
// has a record. Empty programs at the same tracepoints are the floor. What one program alone takes, that of the switch,
// tells what it would save to do without the other one.
func BenchmarkSwitch(b *testing.B) {
	requireRoot(b)
	split := loadForSwitches(b, Options{RingBytes: 4096})
	var empty []*ebpf.Program
	for _, name := range schedulingTracepoints {
		program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
			Type: ebpf.Tracing, AttachType: ebpf.AttachTraceRawTp, AttachTo: name, License: "GPL",
			Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
		})
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = program.Close() }()
		empty = append(empty, program)
	}
	watchedBy := func(kernel *ebpf.Collection) func() error {
		return func() error { return scripted(kernel, abi.EventCallbackStart) }
	}
	added := map[string][]float64{}
	for b.Loop() {
		const roomForAll = 64 << 20
		full := loadForSwitches(b, Options{RingBytes: roomForAll, SchedRecords: true})
		for _, way := range []struct {
			name     string
			programs []*ebpf.Program
			begin    func() error
		}{
			{"floor", empty, func() error { return nil }},
			{"floor_of_one_program", empty[:1], func() error { return nil }},
			{"foreign", switchPrograms(split), func() error { return nil }},
			{"foreign_of_one_program", switchPrograms(split)[:1], func() error { return nil }},
			{"recorded", switchPrograms(split), watchedBy(split)},
			{"kept", switchPrograms(full), watchedBy(full)},
		} {
			without, with := timeSwitches(b, nil, way.begin), timeSwitches(b, way.programs, way.begin)
			added[way.name] = append(added[way.name], with-without)
		}
		full.Close()
	}
	b.ReportMetric(0, "ns/op")
	for name, times := range added {
		b.ReportMetric(measure.Median(times), "ns/"+name+"_switch")
	}
}

// loadForSwitches loads the kernel side with the tests' entrance and an open gate.
func loadForSwitches(b *testing.B, options Options) *ebpf.Collection {
	b.Helper()
	kernel, err := ebpf.NewCollection(schedulingSpec(b, options))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(kernel.Close)
	if err := kernel.Variables[bpf.CaretVarGate].Set(abi.GateOpen); err != nil {
		b.Fatal(err)
	}
	return kernel
}

func switchPrograms(kernel *ebpf.Collection) (programs []*ebpf.Program) {
	for _, name := range schedulingTracepoints {
		programs = append(programs, kernel.Programs["on_"+name])
	}
	return programs
}

// timeSwitches returns how many nanoseconds it takes from one thread to another that it wakes, on one CPU. Each calls
// begin first.
func timeSwitches(b *testing.B, programs []*ebpf.Program, begin func() error) float64 {
	b.Helper()
	for _, program := range programs {
		attached, err := link.AttachTracing(link.TracingOptions{Program: program})
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = attached.Close() }()
	}
	const rounds = 20_000
	var pipes [2][2]int
	for i := range pipes {
		if err := unix.Pipe2(pipes[i][:], unix.O_CLOEXEC); err != nil {
			b.Fatal(err)
		}
		defer func() { _, _ = unix.Close(pipes[i][0]), unix.Close(pipes[i][1]) }()
	}
	times := make(chan time.Duration, 2)
	failures := make(chan error, 2)
	for side := range 2 {
		go func() {
			runtime.LockOSThread() // and never unlocks it: the thread ends with its CPU
			var cpu unix.CPUSet
			cpu.Set(0)
			err := unix.SchedSetaffinity(0, &cpu)
			if err == nil {
				err = begin()
			}
			message := []byte{0}
			start := time.Now()
			for i := 0; i < rounds && err == nil; i++ {
				if side == 0 {
					_, err = unix.Write(pipes[0][1], message)
				}
				if err == nil {
					_, err = unix.Read(pipes[1-side][0], message)
				}
				if side == 1 && err == nil {
					_, err = unix.Write(pipes[1][1], message)
				}
			}
			times <- time.Since(start)
			failures <- err
		}()
	}
	for range 2 {
		if err := <-failures; err != nil {
			b.Fatal(err)
		}
	}
	return float64(max(<-times, <-times).Nanoseconds()) / rounds / 2
}
