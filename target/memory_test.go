package target

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func openMemory(t *testing.T, process *Process) *Memory {
	t.Helper()
	memory, err := process.Memory()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { memory.Close() })
	return memory
}

func parseAddress(t *testing.T, text string) uint64 {
	t.Helper()
	address, err := strconv.ParseUint(text, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return address
}

func TestMemoryReads(t *testing.T) {
	executable, _ := buildROSProgram(t)
	program := start(t, executable)
	address := parseAddress(t, program.do("memory"))
	memory := openMemory(t, openProcess(t, NewFinder(), program.pid))
	page := uint64(os.Getpagesize())

	text := make([]byte, 16)
	if n, err := memory.ReadAt(address+8, text); n != len(text) || err != nil || string(text) != "/sensing/points\x00" {
		t.Errorf("%d bytes %q, %v", n, text, err)
	}

	for name, test := range map[string]struct {
		address uint64
		size    int
		read    int
	}{
		"up to an untouched page":  {address + page - 16, 32, 16},
		"an untouched page":        {address + page, 8, 0},
		"across no access":         {address + 2*page, 8, 0},
		"unmapped":                 {8, 8, 0},
		"beyond the address space": {1 << 63, 8, 0},
		"wrapping around":          {^uint64(0) - 3, 8, 0},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := memory.ReadAt(test.address, make([]byte, test.size))
			if n != test.read || !errors.Is(err, ErrNotResident) {
				t.Errorf("%d bytes, %v", n, err)
			}
		})
	}
	if n, err := memory.ReadAt(address, nil); n != 0 || err != nil {
		t.Errorf("empty read: %d, %v", n, err)
	}

	// Nothing of that has brought the untouched page in.
	var resident []Range
	for found, err := range memory.ResidentRanges(address, address+4*page) {
		if err != nil {
			t.Fatal(err)
		}
		resident = append(resident, found)
	}
	if expected := []Range{{address, address + page}, {address + 3*page, address + 4*page}}; !slices.Equal(resident, expected) {
		t.Errorf("resident %x, expected %x", resident, expected)
	}
}

func TestMemoryReadsLargeBlocks(t *testing.T) {
	executable, _ := buildROSProgram(t)
	program := start(t, executable)
	address := parseAddress(t, program.do("large"))
	memory := openMemory(t, openProcess(t, NewFinder(), program.pid))
	content := make([]byte, 3<<20)
	if n, err := memory.ReadAt(address, content); err != nil || n != len(content) {
		t.Fatalf("%d bytes, %v", n, err)
	}
	for i, value := range content {
		if expected := byte(i * 31 % 251); value != expected {
			t.Fatalf("byte %d is %d, expected %d", i, value, expected)
		}
	}
	var size uint64
	for found, err := range memory.ResidentRanges(address, address+uint64(len(content))) {
		if err != nil {
			t.Fatal(err)
		}
		size += found.End - found.Start
	}
	if size != uint64(len(content)) {
		t.Errorf("%d bytes resident of %d", size, len(content))
	}
	for range memory.ResidentRanges(address, address) {
		t.Error("an empty range has a resident part")
	}
}

func TestMemoryOfExitedProcess(t *testing.T) {
	executable, _ := buildROSProgram(t)
	program := start(t, executable)
	address := parseAddress(t, program.do("memory"))
	memory := openMemory(t, openProcess(t, NewFinder(), program.pid))
	program.stop()
	if n, err := memory.ReadAt(address, make([]byte, 8)); n != 0 || !errors.Is(err, ErrExited) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// The heap is among the mappings, with what is needed to scan it.
func TestMappingsForScanning(t *testing.T) {
	executable, _ := buildROSProgram(t)
	program := start(t, executable)
	address := parseAddress(t, program.do("memory"))
	mappings, err := openProcess(t, NewFinder(), program.pid).Mappings()
	if err != nil {
		t.Fatal(err)
	}
	find := func(address uint64) Mapping {
		for _, mapping := range mappings {
			if address >= mapping.Start && address < mapping.End {
				return mapping
			}
		}
		return Mapping{Perm: "----"}
	}
	page := uint64(os.Getpagesize())
	if mapping := find(address); !mapping.Anonymous() || !mapping.Readable() || !mapping.Writable() || mapping.Executable() {
		t.Errorf("mapping %+v", mapping)
	}
	if mapping := find(address + 2*page); mapping.Readable() || mapping.Writable() {
		t.Errorf("mapping without access %+v", mapping)
	}
	heap := slices.IndexFunc(mappings, func(m Mapping) bool { return m.Path == "[heap]" })
	if heap < 0 || !mappings[heap].Anonymous() {
		t.Error("no heap")
	}
	for _, mapping := range mappings {
		if strings.HasPrefix(mapping.Path, "/") && mapping.Anonymous() {
			t.Errorf("file mapping taken for anonymous: %+v", mapping)
		}
	}
}
