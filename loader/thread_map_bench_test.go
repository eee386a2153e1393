package loader

import (
	"errors"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/test/measure"
)

// lookUpsPerHit is large enough that a look-up shows beside the hit.
const lookUpsPerHit = 64

// BenchmarkThreadMap measures what it takes a program to find the state of its thread in each kind of map that could
// hold it, by programs that do nothing else, many times. What a hit takes without it is subtracted.
func BenchmarkThreadMap(b *testing.B) {
	skipWithout(b, Probe().UprobeMulti, 6, 6)
	library := buildMany(b)
	const size, threads = 4096, 65536
	hash := asm.Instructions{
		asm.FnGetCurrentPidTgid.Call(),
		asm.And.Imm(asm.R0, 0), // the key that is there
		asm.StoreMem(asm.RFP, -4, asm.R0, asm.Word),
		asm.LoadMapPtr(asm.R1, 0).WithReference("threads"),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -4),
		asm.FnMapLookupElem.Call(),
	}
	storage := asm.Instructions{
		asm.FnGetCurrentTaskBtf.Call(),
		asm.LoadMapPtr(asm.R1, 0).WithReference("threads"),
		asm.Mov.Reg(asm.R2, asm.R0),
		asm.Mov.Imm(asm.R3, 0),
		asm.Mov.Imm(asm.R4, unix.BPF_LOCAL_STORAGE_GET_F_CREATE),
		asm.FnTaskStorageGet.Call(),
	}
	for _, m := range []struct {
		name   string
		spec   ebpf.MapSpec
		lookUp asm.Instructions
	}{
		{"hash_not_preallocated", ebpf.MapSpec{Type: ebpf.Hash, MaxEntries: threads, Flags: unix.BPF_F_NO_PREALLOC}, hash},
		{"hash_preallocated", ebpf.MapSpec{Type: ebpf.Hash, MaxEntries: threads / 16}, hash},
		{"lru_hash", ebpf.MapSpec{Type: ebpf.LRUHash, MaxEntries: threads / 16}, hash},
		{"task_storage", ebpf.MapSpec{Type: ebpf.TaskStorage, Flags: unix.BPF_F_NO_PREALLOC}, storage},
	} {
		b.Run(m.name, func(b *testing.B) {
			m.spec.KeySize, m.spec.ValueSize = 4, size
			m.spec.Key = &btf.Int{Name: "int", Size: 4, Encoding: btf.Signed}
			m.spec.Value = &btf.Array{Index: m.spec.Key, Type: m.spec.Key, Nelems: size / 4}
			threads, err := ebpf.NewMap(&m.spec)
			if errors.Is(err, ebpf.ErrNotSupported) {
				b.Skip(err)
			}
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = threads.Close() }()
			if m.spec.Type != ebpf.TaskStorage { // which makes its element itself
				if err := threads.Put(uint32(0), make([]byte, size)); err != nil {
					b.Fatal(err)
				}
			}
			target := startTargetWith(b, library)
			once, often := lookUpProgram(b, threads, m.lookUp, 1), lookUpProgram(b, threads, m.lookUp, 1+lookUpsPerHit)
			var times []float64
			for b.Loop() {
				times = append(times, (target.timeWith(library, often)-target.timeWith(library, once))/2/lookUpsPerHit)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(measure.Median(times), "ns/look-up")
		})
	}
}

// lookUpProgram finds its thread's state that often.
func lookUpProgram(b *testing.B, threads *ebpf.Map, lookUp asm.Instructions, times int) *ebpf.Program {
	b.Helper()
	var instructions asm.Instructions
	for range times {
		instructions = append(instructions, lookUp...)
	}
	instructions = append(instructions, asm.Mov.Imm(asm.R0, 0), asm.Return())
	if err := instructions.AssociateMap("threads", threads); err != nil {
		b.Fatal(err)
	}
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.Kprobe, AttachType: ebpf.AttachTraceUprobeMulti, Instructions: instructions, License: "GPL",
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = program.Close() })
	return program
}

// timeWith is the target's time for a callback while the program is attached to its start and end.
func (c *target) timeWith(library string, program *ebpf.Program) float64 {
	c.t.Helper()
	executable, err := link.OpenExecutable(library)
	if err != nil {
		c.t.Fatal(err)
	}
	var offsets []uint64
	for _, site := range c.callbackSites(library) {
		offsets = append(offsets, site.Offset)
	}
	attached, err := executable.UprobeMulti(nil, program, &link.UprobeMultiOptions{Addresses: offsets, PID: uint32(c.pid)})
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = attached.Close() }()
	return c.callbackTime(1)
}
