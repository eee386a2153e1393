package loader

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/caret-bpf/caret-bpf/probes"
)

// longestInstruction is the length of the longest x86-64 instruction.
const longestInstruction = 15

// checkSite refuses a site that is not in the text of the file, or whose instruction must not be replaced. The kernel
// checks less: it takes any offset within the file, and of a file that nobody has mapped yet it does not look at the
// bytes at all.
func checkSite(file *probedFile, site probes.Site, shadowStack bool) error {
	if site.BuildID != "" && file.buildID != "" && !strings.EqualFold(site.BuildID, file.buildID) {
		return fmt.Errorf("%w: build-id %s, planned %s", ErrFileChanged, file.buildID, site.BuildID)
	}
	segment, ok := file.segmentOf(site.Offset)
	if !ok {
		return fmt.Errorf("%w: offset %#x is not in the file's text", ErrUnsafeSite, site.Offset)
	}
	if address := segment.address + (site.Offset - segment.offset); site.Address != 0 && site.Address != address {
		return fmt.Errorf("%w: offset %#x has address %#x, planned %#x", ErrFileChanged, site.Offset, address, site.Address)
	}
	var instruction [longestInstruction]byte
	n, err := file.ReadAt(instruction[:], int64(site.Offset))
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the site: %w", err)
	}
	if n == 0 {
		return fmt.Errorf("%w: offset %#x is beyond the end of the file", ErrUnsafeSite, site.Offset)
	}
	if planned := site.Instruction; !strings.HasPrefix(hex.EncodeToString(instruction[:n]), planned) {
		return fmt.Errorf("%w: % x is at offset %#x, planned %s", ErrFileChanged, instruction[:min(n, len(planned)/2)], site.Offset, planned)
	}
	switch file.machine {
	case elf.EM_X86_64:
		return checkInstructionX86(instruction[:n], shadowStack)
	case elf.EM_AARCH64:
		if site.Offset%4 != 0 {
			return fmt.Errorf("%w: offset %#x is not the start of an instruction", ErrUnsafeSite, site.Offset)
		}
		return checkInstructionARM64(instruction[:n])
	}
	return fmt.Errorf("%w: %v code", ErrUnsafeSite, file.machine)
}

var (
	endbr64 = []byte{0xf3, 0x0f, 0x1e, 0xfa}
	// legacyPrefixes of x86 instructions, without lock, which the kernel refuses itself.
	legacyPrefixes = []byte{0x66, 0x67, 0xf2, 0xf3, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65}
)

// checkInstructionX86 refuses multi-byte nops: Linux 6.18 turns a probed one into a call that writes below the stack
// pointer, where leaf functions keep their locals. It refuses calls in threads with a shadow stack: an emulated call
// does not push onto it. A breakpoint (0xcc) is accepted: it is another tracer's.
func checkInstructionX86(instruction []byte, shadowStack bool) error {
	if bytes.HasPrefix(instruction, endbr64) {
		return nil
	}
	prefixes := 0
	for prefixes < len(instruction) && (slices.Contains(legacyPrefixes, instruction[prefixes]) || instruction[prefixes]&0xf0 == 0x40) {
		prefixes++
	}
	opcode := instruction[prefixes:]
	switch {
	case len(opcode) == 0:
		return fmt.Errorf("%w: % x is no instruction", ErrUnsafeSite, instruction)
	case prefixes > 0 && opcode[0] == 0x90, isNopOpcode(opcode):
		return fmt.Errorf("%w: % x is a multi-byte nop", ErrUnsafeSite, instruction)
	case opcode[0] == 0xe8 && shadowStack:
		return fmt.Errorf("%w: a call, and the process has a shadow stack", ErrUnsafeSite)
	}
	return nil
}

// checkInstructionARM64 refuses loads of literals: the kernel refuses some of them itself, but steps through copies of
// those that load vector registers, and a copy loads from another address.
func checkInstructionARM64(instruction []byte) error {
	const mask, literalLoad = 0x3b000000, 0x18000000
	if len(instruction) < 4 {
		return fmt.Errorf("%w: % x is no instruction", ErrUnsafeSite, instruction)
	}
	if binary.LittleEndian.Uint32(instruction)&mask == literalLoad {
		return fmt.Errorf("%w: % x loads a literal", ErrUnsafeSite, instruction[:4])
	}
	return nil
}

// isNopOpcode reports whether the opcode is one of the two-byte ones that take operands and do nothing (0f 19 … 0f 1f).
func isNopOpcode(opcode []byte) bool {
	return len(opcode) >= 2 && opcode[0] == 0x0f && opcode[1] >= 0x19 && opcode[1] <= 0x1f
}

// hasShadowStack reports whether the process's first thread has a user shadow stack, which its other threads inherit;
// for process 0, whether any process on the machine has one. The error is ErrProcessGone.
func (l *Loader) hasShadowStack(process int32) (bool, error) {
	if process != 0 {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", process))
		if err != nil || statusIsOfZombie(string(status)) {
			return false, fmt.Errorf("%w: PID %d", ErrProcessGone, process)
		}
		return statusHasShadowStack(string(status)), nil
	}
	if !l.shadowStacks {
		return false, nil // there can be hundreds of processes, and this is asked often
	}
	paths, _ := filepath.Glob("/proc/[0-9]*/status") // the pattern is well-formed
	for _, path := range paths {
		if status, err := os.ReadFile(path); err == nil && statusHasShadowStack(string(status)) {
			return true, nil
		}
	}
	return false, nil
}

// MayHaveShadowStacks reports whether the kernel lets processes have user shadow stacks (Linux 6.6): true where that is
// not known.
func MayHaveShadowStacks() bool {
	if runtime.GOARCH != "amd64" {
		return false // checkSite refuses nothing for their sake there
	}
	text, err := os.ReadFile("/proc/cpuinfo")
	return err != nil || cpuMayHaveShadowStacks(string(text))
}

// cpuMayHaveShadowStacks reads the flags of /proc/cpuinfo.
func cpuMayHaveShadowStacks(cpuinfo string) bool {
	for line := range strings.Lines(cpuinfo) {
		if flags, ok := strings.CutPrefix(line, "flags"); ok {
			return slices.Contains(strings.Fields(flags), "user_shstk")
		}
	}
	return true
}

func statusIsOfZombie(status string) bool {
	for line := range strings.Lines(status) {
		if state, ok := strings.CutPrefix(line, "State:"); ok {
			state = strings.TrimSpace(state)
			return strings.HasPrefix(state, "Z") || strings.HasPrefix(state, "X")
		}
	}
	return false
}

func statusHasShadowStack(status string) bool {
	for line := range strings.Lines(status) {
		if features, ok := strings.CutPrefix(line, "x86_Thread_features:"); ok {
			return slices.Contains(strings.Fields(features), "shstk")
		}
	}
	return false
}
