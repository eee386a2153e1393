package loader

import (
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// Words of the map of a slow program.
const (
	slowHasBegun = iota
	slowHasEnded
)

// newSlowProgram makes a program that runs for some tenths of a second, and notes in the map when it has begun, and
// when it is about to end.
func newSlowProgram(t *testing.T) (*ebpf.Program, *ebpf.Map) {
	t.Helper()
	notes, err := ebpf.NewMap(&ebpf.MapSpec{Name: "slow_notes", Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = notes.Close() })
	const rounds = 1 << 22
	integer := &btf.Int{Name: "int", Size: 4, Encoding: btf.Signed}
	main := &btf.Func{Name: "slow", Type: &btf.FuncProto{Return: integer, Params: []btf.FuncParam{{Name: "context", Type: &btf.Pointer{Target: &btf.Void{}}}}}, Linkage: btf.GlobalFunc}
	round := &btf.Func{Name: "round", Linkage: btf.StaticFunc, Type: &btf.FuncProto{Return: integer, Params: []btf.FuncParam{
		{Name: "index", Type: integer}, {Name: "context", Type: &btf.Pointer{Target: &btf.Void{}}},
	}}}
	note := func(word int32) asm.Instructions {
		return asm.Instructions{
			asm.Mov.Imm(asm.R1, word), asm.StoreMem(asm.RFP, -4, asm.R1, asm.Word),
			asm.Mov.Imm(asm.R1, 1), asm.StoreMem(asm.RFP, -16, asm.R1, asm.DWord),
			asm.LoadMapPtr(asm.R1, notes.FD()), asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, -4),
			asm.Mov.Reg(asm.R3, asm.RFP), asm.Add.Imm(asm.R3, -16), asm.Mov.Imm(asm.R4, 0), asm.FnMapUpdateElem.Call(),
		}
	}
	var code asm.Instructions
	code = append(code, note(slowHasBegun)...)
	code = append(code,
		asm.Mov.Imm(asm.R1, rounds), asm.Instruction{OpCode: asm.LoadImmOp(asm.DWord), Dst: asm.R2, Src: asm.PseudoFunc, Constant: -1}.WithReference("round"),
		asm.Mov.Imm(asm.R3, 0), asm.Mov.Imm(asm.R4, 0), asm.FnLoop.Call(),
	)
	code = append(code, note(slowHasEnded)...)
	code = append(code, asm.Mov.Imm(asm.R0, 0), asm.Return())
	code = append(code, btf.WithFuncMetadata(asm.FnKtimeGetNs.Call(), round).WithSymbol("round"), asm.FnKtimeGetNs.Call(), asm.Mov.Imm(asm.R0, 0), asm.Return())
	code[0] = btf.WithFuncMetadata(code[0], main).WithSymbol("slow")
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "slow", Type: ebpf.SchedCLS, License: "GPL", Instructions: code})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	return program, notes
}

// Whoever waits for programs waits for one that runs.
func TestProgramBarrier(t *testing.T) {
	requireRoot(t)
	barrier, err := newProgramBarrier()
	if err != nil {
		t.Fatal(err)
	}
	defer barrier.close()
	program, notes := newSlowProgram(t)
	has := func(word uint32) bool {
		var noted uint64
		if err := notes.Lookup(word, &noted); err != nil {
			t.Fatal(err)
		}
		return noted != 0
	}
	for range 10 { // it may be over before anybody looks
		if err := notes.Put(uint32(slowHasBegun), uint64(0)); err != nil {
			t.Fatal(err)
		}
		if err := notes.Put(uint32(slowHasEnded), uint64(0)); err != nil {
			t.Fatal(err)
		}
		ran := make(chan error, 1)
		go func() {
			_, err := program.Run(&ebpf.RunOptions{Data: make([]byte, 64)})
			ran <- err
		}()
		for !has(slowHasBegun) && len(ran) == 0 {
			time.Sleep(time.Millisecond)
		}
		waited := !has(slowHasEnded)
		if err := barrier.wait(); err != nil {
			t.Fatal(err)
		}
		if waited && !has(slowHasEnded) {
			t.Error("the program still runs")
		}
		if err := <-ran; err != nil {
			t.Fatal(err)
		}
		if waited {
			return
		}
	}
	t.Skip("it was too fast each time")
}
