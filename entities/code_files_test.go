package entities

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/quota"
	"github.com/caret-bpf/caret-bpf/target"
)

// mappedCode maps the code of files into this very process, which does not keep them open.
type mappedCode struct {
	t         *testing.T
	directory string
	finder    *target.Finder
	process   *target.Process
}

func newMappedCode(t *testing.T) mappedCode {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can open mapped files: run the tests with sudo")
	}
	finder := target.NewFinder()
	process, err := finder.Inspect(t.Context(), int32(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { process.Close() })
	return mappedCode{t, t.TempDir(), finder, process}
}

// textOffset is where the code of all files is, in the file and in its address space.
const textOffset = 0x1000

// mapFile maps the code of a file, and returns its address.
func (m mappedCode) mapFile(path string) uint64 {
	m.t.Helper()
	file, err := os.Open(path)
	if err != nil {
		m.t.Fatal(err)
	}
	defer file.Close()
	const size = 0x1000
	at, err := unix.MmapPtr(int(file.Fd()), textOffset, nil, size, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = unix.MunmapPtr(at, size) })
	return uint64(uintptr(at))
}

// library makes a library that has one function, and returns the address of that.
func (m mappedCode) library(name string) uint64 {
	m.t.Helper()
	path := filepath.Join(m.directory, name+".so")
	command := exec.Command("gcc", "-shared", "-nostdlib", "-O2", "-Wl,--section-start=.text=0x1000", "-x", "c", "-", "-o", path)
	command.Stdin = strings.NewReader("void " + name + "(void) {}")
	if output, err := command.CombinedOutput(); err != nil {
		m.t.Skipf("gcc: %v: %s", err, output)
	}
	return m.mapFile(path)
}

// hostile makes a file that takes 16 KB of the disk and claims hundreds of megabytes of symbols and their names.
func (m mappedCode) hostile(name string) uint64 {
	m.t.Helper()
	const symbols, strings, sections = 24 << 20, 128 << 20, 0x2000
	names := "\x00.symtab\x00.strtab\x00.shstrtab\x00"
	header := func(name string, kind elf.SectionType, offset, size uint64) elf.Section64 {
		return elf.Section64{Name: uint32(max(0, bytes.Index([]byte(names), []byte(name+"\x00")))), Type: uint32(kind), Off: offset, Size: size, Link: 2, Entsize: 24}
	}
	file, err := os.Create(filepath.Join(m.directory, name))
	if err != nil {
		m.t.Fatal(err)
	}
	defer file.Close()
	for _, part := range []struct {
		offset int64
		value  any
	}{
		{0, elf.Header64{
			Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1},
			Type:  uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64), Phoff: 64, Phentsize: 56, Phnum: 1,
			Shoff: sections, Shentsize: 64, Shnum: 4, Shstrndx: 3,
		}},
		{64, elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Off: textOffset, Vaddr: textOffset, Filesz: 0x1000, Memsz: 0x1000}},
		{sections, []elf.Section64{
			{}, header(".symtab", elf.SHT_SYMTAB, 0x10000, symbols), header(".strtab", elf.SHT_STRTAB, 0x10000+symbols, strings),
			header(".shstrtab", elf.SHT_STRTAB, 0x3000, uint64(len(names))),
		}},
		{0x3000, []byte(names)},
	} {
		if err := binary.Write(io.NewOffsetWriter(file, part.offset), binary.LittleEndian, part.value); err != nil {
			m.t.Fatal(err)
		}
	}
	if err := file.Truncate(0x10000 + symbols + strings); err != nil {
		m.t.Fatal(err)
	}
	return m.mapFile(file.Name())
}

func (m mappedCode) open() *ProcessMemory {
	m.t.Helper()
	memory, err := OpenMemory(m.t.Context(), m.process)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { memory.Close() })
	return memory
}

// openFiles counts the files that are kept open.
func (m mappedCode) openFiles() (count int) {
	m.t.Helper()
	descriptors, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		m.t.Fatal(err)
	}
	for _, descriptor := range descriptors {
		if path, err := os.Readlink("/proc/self/fd/" + descriptor.Name()); err == nil && filepath.Dir(path) == m.directory {
			count++
		}
	}
	return count
}

// leave takes all that the user may have of a kind, but so much.
func (m mappedCode) leave(kind quota.Kind, amount int64) {
	account := m.process.Account()
	for size := int64(1) << 40; size > 0; size /= 2 {
		for account.Take(kind, size) == nil {
		}
	}
	account.Give(kind, amount)
}

// refused is how often the user was refused more of a kind.
func (m mappedCode) refused(kind quota.Kind) uint64 {
	for _, refusal := range m.finder.Quota().Refusals() {
		if refusal.User == m.process.Account().User() && refusal.Kind == kind {
			return refusal.Count
		}
	}
	return 0
}

// Files that are costly to read for names are read as far as the share of the process's user goes. That is told, and
// the names of others are found.
func TestCodeIsPaidFor(t *testing.T) {
	for name, test := range map[string]struct {
		kind quota.Kind
		room int64
	}{"memory": {quota.Memory, 16 << 20}, "work": {quota.Work, 16 << 20}, "files": {quota.Files, 1}} {
		t.Run(name, func(t *testing.T) {
			code := newMappedCode(t)
			memory := code.open()
			honest := code.library("honest")
			hostile := []uint64{code.hostile("a.so"), code.hostile("b.so"), code.hostile("c.so")}
			code.leave(test.kind, test.room)
			before, user := code.refused(test.kind), fmt.Sprint("user ", code.process.Account().User())
			if function, ok := memory.FunctionAt(honest); !ok || !slices.Equal(function.Names, []string{"honest"}) {
				t.Errorf("%+v, %t", function, ok)
			}
			for _, address := range hostile {
				if _, err := memory.PassedMember(address, callbackStart); !errors.Is(err, quota.ErrUsedUp) || !strings.Contains(err.Error(), user) {
					t.Errorf("%v", err)
				}
				if function, ok := memory.FunctionAt(address); ok {
					t.Errorf("%+v", function)
				}
			}
			if told := code.refused(test.kind) - before; told == 0 {
				t.Error("nothing is told")
			}
			memory.code.close()
			if err := code.process.Account().Take(test.kind, test.room); err != nil && test.kind != quota.Work {
				t.Errorf("not given back: %v", err)
			}
		})
	}
}

// A process has as many files with functions as it likes. Few of them are kept, and not for long.
func TestFewFilesOfCodeAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		code := newMappedCode(t)
		memory := code.open()
		functions := map[string]uint64{}
		for i := range 3 * maxCodeFiles {
			name := fmt.Sprint("function", i)
			functions[name] = code.library(name)
		}
		for name, address := range functions {
			if function, ok := memory.FunctionAt(address); !ok || !slices.Equal(function.Names, []string{name}) {
				t.Errorf("%+v, %t", function, ok)
			}
		}
		if count := code.openFiles(); count == 0 || count > maxCodeFiles {
			t.Errorf("%d files are open", count)
		}
		time.Sleep(codeFilesKept + time.Second)
		if count := code.openFiles(); count > 0 {
			t.Errorf("%d files are still open", count)
		}
	})
}

// When a user is short of memory, the files of his other processes are let go of: they can be read anew.
func TestCodeIsLetGoOfWhenMemoryIsShort(t *testing.T) {
	code := newMappedCode(t)
	const room = 16 << 20
	idle, asking := code.open(), code.open()
	honest := code.library("honest")
	large := code.hostile("large.so")
	before := code.refused(quota.Memory)
	if function, ok := idle.FunctionAt(honest); !ok {
		t.Fatalf("%+v", function)
	}
	code.leave(quota.Memory, room)
	_, _ = asking.PassedMember(large, callbackStart) // takes more than there is
	if code.refused(quota.Memory) == before {
		t.Fatal("memory is not short")
	}
	if count := len(idle.code.open); count > 0 {
		t.Errorf("%d files are still kept", count)
	}
	if function, ok := idle.FunctionAt(honest); !ok || !slices.Equal(function.Names, []string{"honest"}) {
		t.Errorf("%+v, %t", function, ok)
	}
}
