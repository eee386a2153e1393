package elffile

import (
	"bufio"
	"bytes"
	"debug/elf"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// realLibraries are libraries as users have them, where installed.
func realLibraries(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{
		"/usr/lib/*-linux-gnu/libc.so.6",
		"/usr/lib/*-linux-gnu/libstdc++.so.6",
		"/usr/lib/*-linux-gnu/libfastrtps.so.2.*.*",
		"/usr/lib/*-linux-gnu/libddsc.so.0.*.*",
		"/opt/ros/*/lib/libddsc.so.*.*.*",
		"/opt/ros/*/lib/*-linux-gnu/libddsc.so.*.*.*",
		"/opt/ros/*/lib/libfastrtps.so.*.*.*",
		"/opt/ros/*/lib/librcl.so",
		"/opt/ros/*/lib/librclcpp.so",
		"/opt/ros/*/lib/libtracetools.so",
		"/opt/ros/*/lib/librmw_*_cpp.so",
	} {
		matches, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, matches...)
	}
	if len(found) == 0 {
		t.Skip("none of the known libraries is installed")
	}
	return found
}

func forEachRealLibrary(t *testing.T, check func(t *testing.T, path string, file *File)) {
	for _, path := range realLibraries(t) {
		t.Run(strings.TrimPrefix(path, "/"), func(t *testing.T) { check(t, path, openFile(t, path)) })
	}
}

// Every function that debug/elf reads in .dynsym is found by name, and its file offset is where the section
// headers put it. FileOffset goes by the program headers, so this is another computation.
func TestRealLibrarySymbolsAndOffsets(t *testing.T) {
	forEachRealLibrary(t, func(t *testing.T, path string, file *File) {
		reference, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer reference.Close()
		symbols, err := reference.DynamicSymbols()
		if err != nil {
			t.Fatal(err)
		}
		addresses := map[string]map[uint64]bool{}
		for _, symbol := range symbols {
			if elf.ST_TYPE(symbol.Info) == elf.STT_FUNC && symbol.Section != elf.SHN_UNDEF && symbol.Section < elf.SHN_LORESERVE {
				if addresses[symbol.Name] == nil {
					addresses[symbol.Name] = map[uint64]bool{}
				}
				addresses[symbol.Name][symbol.Value] = true

				section := reference.Sections[symbol.Section]
				offset, err := file.FileOffset(symbol.Value)
				if expected := section.Offset + symbol.Value - section.Addr; err != nil || offset != expected {
					t.Fatalf("%s: file offset %#x, %v; expected %#x", symbol.Name, offset, err, expected)
				}
				if back, err := file.AddressOf(offset); err != nil || back != symbol.Value {
					t.Fatalf("%s: address of file offset %#x is %#x, %v", symbol.Name, offset, back, err)
				}
			}
		}
		if len(addresses) == 0 {
			t.Skip("exports no functions")
		}
		for name, expected := range addresses {
			symbol, err := file.Lookup(name)
			// Of several versions the default one may be an indirect function (memcpy of glibc).
			if len(expected) == 1 && err != nil && !strings.Contains(path, "libc.so") {
				t.Errorf("%s: %v", name, err)
			}
			if err == nil && !expected[symbol.Address] {
				t.Errorf("%s: address %#x, expected one of %v", name, symbol.Address, expected)
			}
		}
		if _, err := file.Lookup("no_such_function"); err == nil {
			t.Error("found a function that does not exist")
		}
	})
}

// Decoding finds the same instruction starts as objdump, in every exported function whose instructions it knows.
func TestRealLibraryInstructionStarts(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("objdump is asked for x86-64 code")
	}
	path, file := cycloneDDS(t)
	lines := disassemble(t, path)
	starts := map[uint64]string{}
	for address, text := range lines {
		starts[address] = text
	}
	symbols, err := file.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	var decoded, unknown, instructions int
	for _, symbol := range symbols {
		bounds, err := file.FunctionBounds(symbol)
		if err != nil {
			t.Errorf("%s: %v", symbol.Name, err)
			continue
		}
		code, err := file.Decode(bounds)
		if err != nil {
			t.Log(err)
			unknown++
			continue
		}
		decoded++
		for _, instruction := range code {
			instructions++
			text, found := starts[instruction.Address]
			if !found {
				t.Fatalf("%s: objdump knows no instruction at %#x", symbol.Name, instruction.Address)
			}
			checkFlow(t, instruction, text)
		}
	}
	t.Logf("%d functions with %d instructions, %d functions with unknown instructions", decoded, instructions, unknown)
	if decoded < 100 || unknown > decoded/50 {
		t.Errorf("only %d of %d functions decoded", decoded, decoded+unknown)
	}
}

var objdumpTarget = regexp.MustCompile(`^(?:data16 |rex.W |bnd |notrack )*(call|jmp|j[a-z]+)\s+([0-9a-f]+) <`)

// checkFlow compares a direct branch's target with objdump's.
func checkFlow(t *testing.T, instruction Instruction, text string) {
	t.Helper()
	match := objdumpTarget.FindStringSubmatch(text)
	isDirect := instruction.Flow == FlowCall || instruction.Flow == FlowJump || instruction.Flow == FlowConditional
	if (match != nil) != isDirect {
		t.Fatalf("%#x: flow %d for %q", instruction.Address, instruction.Flow, text)
	}
	if match == nil {
		return
	}
	target, err := strconv.ParseUint(match[2], 16, 64)
	if err != nil || target != instruction.Target {
		t.Fatalf("%#x: target %#x for %q", instruction.Address, instruction.Target, text)
	}
}

// The PLT entries are those that objdump labels.
func TestRealLibraryPLT(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("objdump is asked for x86-64 code")
	}
	path, file := cycloneDDS(t)
	expected := map[string]bool{}
	label := regexp.MustCompile(`^([0-9a-f]+) <([^@>]+)@plt>:$`)
	for line := range objdumpLines(t, path) {
		if match := label.FindStringSubmatch(line); match != nil {
			address, _ := strconv.ParseUint(match[1], 16, 64)
			expected[fmt.Sprintf("%x %s", address, match[2])] = true
		}
	}
	entries, err := file.PLT()
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		key := fmt.Sprintf("%x %s", entry.Address, entry.Name)
		if !expected[key] {
			t.Errorf("objdump does not know the PLT entry %s", key)
		}
		delete(expected, key)
	}
	for key := range expected {
		t.Errorf("PLT entry %s not found", key)
	}
	for _, name := range []string{entries[0].Name, entries[len(entries)/2].Name, "nothing"} {
		alone, err := file.readPLT(func(symbol string) bool { return symbol == name })
		var want []PLTEntry
		for _, entry := range entries {
			if entry.Name == name {
				want = append(want, entry)
			}
		}
		if err != nil || !slices.Equal(alone, want) {
			t.Errorf("%s alone: %v, %v, want %v", name, alone, err, want)
		}
	}
}

// What is proven of an address does not depend on what was asked for before.
func TestRealLibraryProofInAnyOrder(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("asks for x86-64 code")
	}
	_, file := cycloneDDS(t)
	symbol, err := file.Lookup("dds_write")
	if err != nil {
		t.Fatal(err)
	}
	bounds, err := file.FunctionBounds(symbol)
	if err != nil {
		t.Fatal(err)
	}
	var addresses []uint64
	for address := bounds.Start - 16; address < bounds.End+16; address++ {
		addresses = append(addresses, address)
	}
	descending := slices.Clone(addresses)
	slices.Reverse(descending)
	proof := codeProof{file: file}
	for _, address := range append(addresses, descending...) {
		fresh := codeProof{file: file}
		want, wantErr := fresh.instruction(address)
		got, err := proof.instruction(address)
		if got.Address != want.Address || !bytes.Equal(got.Bytes, want.Bytes) || (err == nil) != (wantErr == nil) {
			t.Fatalf("%#x: %#x, %v, want %#x, %v", address, got.Address, err, want.Address, wantErr)
		}
	}
}

// The bounds by unwind information are those that readelf prints.
func TestRealLibraryFrameRanges(t *testing.T) {
	path, file := cycloneDDS(t)
	output, err := exec.Command("readelf", "--debug-dump=frames", "-W", path).Output()
	if err != nil {
		t.Skip("readelf: ", err)
	}
	frame := regexp.MustCompile(`FDE .* pc=([0-9a-f]+)\.\.([0-9a-f]+)`)
	var count int
	for _, match := range frame.FindAllStringSubmatch(string(output), -1) {
		start, _ := strconv.ParseUint(match[1], 16, 64)
		end, _ := strconv.ParseUint(match[2], 16, 64)
		for _, address := range []uint64{start, end - 1} {
			found, err := file.FrameRange(address)
			if err != nil || found != (Range{start, end}) {
				t.Fatalf("frame at %#x: %x, %v; expected %x-%x", address, found, err, start, end)
			}
		}
		count++
	}
	if count < 100 {
		t.Errorf("only %d frames compared", count)
	}
}

// In Debian's and ROS 2's Cyclone DDS, dds_write calls dds_time and then passes its result on as the third argument.
func TestRealLibraryCallAfter(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("x86-64 only")
	}
	for _, path := range realLibraries(t) {
		if strings.Contains(path, "libddsc.so") {
			t.Run(strings.TrimPrefix(path, "/"), func(t *testing.T) { checkCallAfter(t, path) })
		}
	}
}

func checkCallAfter(t *testing.T, path string) {
	file := openFile(t, path)
	site, err := file.CallAfter("dds_write", "dds_time")
	if err != nil {
		t.Fatal(err)
	}
	if len(site.ResultArguments) != 1 || site.ResultArguments[0] != 3 {
		t.Errorf("the result is in arguments %v, expected the third", site.ResultArguments)
	}
	if site.Class != ClassEmulated {
		t.Errorf("the call is %v", site.Class)
	}
	function := mustLookup(t, file, "dds_write")
	lines := disassemble(t, path)
	if text := lines[site.Address]; !strings.HasPrefix(text, "call") {
		t.Errorf("objdump shows %q at %#x", text, site.Address)
	}
	var previousCall string
	for address := function.Address; address < site.Address; address++ {
		if strings.HasPrefix(lines[address], "call") {
			previousCall = lines[address]
		}
	}
	if !strings.Contains(previousCall, "<dds_time") {
		t.Errorf("the call before is %q", previousCall)
	}
}

func cycloneDDS(t *testing.T) (string, *File) {
	t.Helper()
	for _, path := range realLibraries(t) {
		if strings.Contains(path, "libddsc.so") {
			return path, openFile(t, path)
		}
	}
	t.Skip("Cyclone DDS is not installed")
	return "", nil
}

// disassemble is objdump's text of every instruction.
func disassemble(t *testing.T, path string) map[uint64]string {
	t.Helper()
	instructions := map[uint64]string{}
	for line := range objdumpLines(t, path) {
		address, text, found := strings.Cut(strings.TrimSpace(line), ":\t")
		if number, err := strconv.ParseUint(address, 16, 64); found && err == nil {
			instructions[number] = text
		}
	}
	return instructions
}

func objdumpLines(t *testing.T, path string) func(yield func(string) bool) {
	t.Helper()
	if _, err := exec.LookPath("objdump"); err != nil {
		t.Skip("objdump is not installed")
	}
	return func(yield func(string) bool) {
		command := exec.Command("objdump", "-d", "--no-show-raw-insn", path)
		output, err := command.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			output.Close()
			command.Wait()
		}()
		scanner := bufio.NewScanner(output)
		for scanner.Scan() {
			if !yield(scanner.Text()) {
				return
			}
		}
	}
}
