package probes

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/caret-bpf/caret-bpf/elffile"
)

// Costs are what hits of sites take from a traced thread. They depend on the kernel and the processor.
type Costs struct {
	// Instructions are the costs of hits whose program returns at once, by the kind of instruction that the site is on:
	// the Emulation of a site that the kernel emulates, else one of KindEndbr64 and the like.
	Instructions map[string]time.Duration `json:"instructions_ns"`
	// Program is what a program that records adds to a hit.
	Program time.Duration `json:"program_ns"`
	// Measured says that they were measured on this machine; others are the built-in defaults.
	Measured bool `json:"measured"`
}

// Kinds of instructions that kernels step through. The names of those that they emulate are Emulation.Name of elffile.
const (
	KindEndbr64 = "endbr64" // x86-64: a function's first instruction
	KindBTI     = "bti"     // ARM64: the same, and paciasp
	KindMove    = "mov"     // stands for all that have no other name
	KindSub     = "sub"     // of the stack pointer
	KindRet     = "ret"     // x86-64: ARM64's is emulated
)

// Kinds of emulated instructions that the planner asks for by name.
const (
	kindCall = "call"
	kindNop  = "nop"
)

// Default costs: for bare metal 0.32 and 0.91 µs are published figures, for virtual machines both were measured on
// Linux 6.18.
const (
	defaultEmulated             = 300 * time.Nanosecond
	defaultSingleStepped        = 900 * time.Nanosecond
	defaultEmulatedVirtual      = 600 * time.Nanosecond
	defaultSingleSteppedVirtual = 14 * time.Microsecond
	defaultProgram              = 200 * time.Nanosecond
)

// DefaultCosts are those of a machine that was not calibrated: rough, but of the right order for bare metal or a
// virtual machine, whichever it is.
func DefaultCosts() *Costs { return defaultCosts() }

var defaultCosts = sync.OnceValue(func() *Costs {
	cpuinfo, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		cpuinfo = nil // then it is taken for bare metal
	}
	return defaultCostsOn(isVirtual(string(cpuinfo)))
})

func defaultCostsOn(virtual bool) *Costs {
	emulated, singleStepped := defaultEmulated, defaultSingleStepped
	if virtual {
		emulated, singleStepped = defaultEmulatedVirtual, defaultSingleSteppedVirtual
	}
	return &Costs{
		Instructions: map[string]time.Duration{kindNop: emulated, KindMove: singleStepped}, Program: defaultProgram,
	}
}

// isVirtual reads the flag of /proc/cpuinfo by which hypervisors tell x86 systems of themselves.
func isVirtual(cpuinfo string) bool {
	for line := range strings.Lines(cpuinfo) {
		if name, flags, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "flags" {
			for flag := range strings.FieldsSeq(flags) {
				if flag == "hypervisor" {
					return true
				}
			}
			return false
		}
	}
	return false
}

// Usual returns what a hit of most sites costs, its program included: of an instruction that the kernel emulates.
func (c *Costs) Usual() time.Duration { return c.ofKind(elffile.ClassEmulated, kindNop) + c.Program }

// Of returns what a hit of the site costs, its program included.
func (c *Costs) Of(site Site) time.Duration { return c.ofKind(site.Class, site.kind()) + c.Program }

// ofKind is the cost of a kind of instruction; one that was not measured costs what the dearest of its class does.
func (c *Costs) ofKind(class elffile.Class, kind string) (cost time.Duration) {
	if known, ok := c.Instructions[kind]; ok {
		return known
	}
	for kind, known := range c.Instructions {
		if isSteppedKind(kind) == (class != elffile.ClassEmulated) {
			cost = max(cost, known)
		}
	}
	return cost
}

func isSteppedKind(kind string) bool {
	switch kind {
	case KindEndbr64, KindBTI, KindMove, KindSub, KindRet:
		return true
	}
	return false
}

// KindOf returns the kind of the instruction that a site is on: a key of Costs.Instructions.
func KindOf(site elffile.Site) string { return Site{}.at(site).kind() }

func (s Site) kind() string {
	if s.Emulation != "" {
		return s.Emulation
	}
	return steppedKind(runtime.GOARCH, s.Instruction)
}

// steppedKind names the kind of an instruction that is stepped through, given in hexadecimal.
func steppedKind(architecture, instruction string) string {
	if architecture == "arm64" {
		return steppedKindARM64(instruction)
	}
	type beginning struct{ bytes, kind string }
	for _, b := range []beginning{{"f30f1efa", KindEndbr64}, {"c3", KindRet}, {"4883ec", KindSub}, {"4881ec", KindSub}} {
		if strings.HasPrefix(instruction, b.bytes) {
			return b.kind
		}
	}
	return KindMove
}

func steppedKindARM64(instruction string) string {
	code, err := hex.DecodeString(instruction)
	if err != nil || len(code) != 4 {
		return KindMove
	}
	switch word := binary.LittleEndian.Uint32(code); {
	case word == 0xd503245f, word == 0xd503233f: // bti c, paciasp
		return KindBTI
	case word&0xff8003ff == 0xd10003ff: // sub sp, sp, #n
		return KindSub
	}
	return KindMove
}

// clearlyCheaper reports whether one cost is less than another by more than a measurement can err.
func clearlyCheaper(one, other time.Duration) bool { return one < other-other/5 }

// FormatCost is such as "0.62 µs".
func FormatCost(d time.Duration) string { return fmt.Sprintf("%.2f µs", float64(d.Nanoseconds())/1e3) }
