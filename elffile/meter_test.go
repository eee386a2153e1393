package elffile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

var errMetered = errors.New("no more of it")

// testMeter refuses what goes beyond a number of questions, and counts what is kept.
type testMeter struct {
	questions, kept int
}

func (m *testMeter) Examine(int) error {
	if m.questions--; m.questions < 0 {
		return errMetered
	}
	return nil
}

func (m *testMeter) Keep(bytes int) error {
	if err := m.Examine(bytes); err != nil {
		return err
	}
	m.kept += bytes
	return nil
}

func (m *testMeter) Release(bytes int) { m.kept -= bytes }

// All work on a file ends as soon as its meter says so, and what was kept is given back.
func TestMeterEndsWork(t *testing.T) {
	requireX86(t)
	path := buildLibraryFile(t, "library.c", `
		extern void traced(void);
		void caller(void) { traced(); traced(); }
		void *get(void **object) { return object[3]; }`, "-shared", "-fPIC", "-O2")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	work := map[string]func(*File) error{
		"headers": func(*File) error { return nil },
		"soname":  func(f *File) error { _, err := f.Soname(); return err },
		"lookup":  func(f *File) error { _, err := f.Lookup("get"); return err },
		"absent": func(f *File) error {
			if _, err := f.Lookup("absent"); !errors.Is(err, ErrSymbolNotFound) {
				return err
			}
			return nil
		},
		"prefix":   func(f *File) error { _, err := f.LookupPrefix("ge"); return err },
		"exports":  func(f *File) error { _, err := f.Exports("get"); return err },
		"at":       func(f *File) error { _, err := f.SymbolsAt(0x1000); return err },
		"callers":  func(f *File) error { _, err := f.CallersOf([]string{"traced"}); return err },
		"build id": func(f *File) error { _, err := f.BuildID(); return err },
		"code": func(f *File) error {
			symbol, err := f.Lookup("get")
			if err == nil {
				_, err = f.SiteInFunction("get", symbol.Address)
			}
			return err
		},
	}
	for name, do := range work {
		t.Run(name, func(t *testing.T) {
			for allowed := 0; ; allowed++ {
				meter := &testMeter{questions: allowed}
				file, err := NewMetered(bytes.NewReader(content), meter)
				if err == nil {
					err = do(file)
					if meter.kept == 0 {
						t.Error("nothing is kept")
					}
					_ = file.Close()
				}
				if meter.kept != 0 {
					t.Fatalf("%d bytes were not given back after %d questions", meter.kept, allowed)
				}
				if err == nil && meter.questions >= 0 {
					return // it was allowed everything
				}
				if err != nil && !errors.Is(err, errMetered) {
					t.Fatalf("after %d questions: %v", allowed, err)
				}
				if allowed > 1000 {
					t.Fatal("no end")
				}
			}
		})
	}
}

// What a file says thousands of times about one long string is not kept thousands of times.
func TestRepeatedNamesAreLimited(t *testing.T) {
	const long = maxName - 1
	header := elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1},
		Type:  uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64), Phentsize: 56, Shentsize: 64,
	}
	encode := func(parts ...any) []byte {
		var buffer bytes.Buffer
		for _, part := range parts {
			if err := binary.Write(&buffer, binary.LittleEndian, part); err != nil {
				t.Fatal(err)
			}
		}
		return buffer.Bytes()
	}
	name := append(bytes.Repeat([]byte{'a'}, long), 0)
	t.Run("sections", func(t *testing.T) {
		h := header
		h.Shoff, h.Shnum = 64, maxSectionNames/long+2
		sections := make([]elf.Section64, h.Shnum)
		sections[0] = elf.Section64{Off: 64 + uint64(h.Shnum)*64, Size: uint64(len(name))}
		if _, err := New(bytes.NewReader(encode(h, sections, name))); !errors.Is(err, ErrTooLarge) {
			t.Error(err)
		}
	})
	t.Run("long section name", func(t *testing.T) {
		h := header
		h.Shoff, h.Shnum = 64, 1
		longer := append(bytes.Repeat([]byte{'a'}, maxName+1), 0)
		file, err := New(bytes.NewReader(encode(h, elf.Section64{Off: 128, Size: uint64(len(longer))}, longer)))
		if err != nil || file.Sections()[0].Name != "" {
			t.Error(err)
		}
	})
	t.Run("needed", func(t *testing.T) {
		h := header
		h.Phoff, h.Phnum = 64, 2
		entries := []uint64{uint64(elf.DT_STRTAB), 0, uint64(elf.DT_STRSZ), uint64(len(name))}
		for range 5000 {
			entries = append(entries, uint64(elf.DT_NEEDED), 0)
		}
		const headers = 64 + 2*56
		content := encode(h, []elf.Prog64{
			{Type: uint32(elf.PT_LOAD), Off: headers, Filesz: uint64(len(name))},
			{Type: uint32(elf.PT_DYNAMIC), Off: headers + uint64(len(name)), Filesz: uint64(8 * len(entries))},
		}, name, entries)
		file, err := New(bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Needed(); !errors.Is(err, ErrTooLarge) {
			t.Error(err)
		}
	})
	t.Run("versions", func(t *testing.T) {
		const record = 28 // Verdef and one Verdaux
		var data []byte
		for i := range maxSectionNames/long + 2 {
			entry := make([]byte, record)
			binary.LittleEndian.PutUint16(entry[4:], uint16(i))
			binary.LittleEndian.PutUint32(entry[12:], 20)
			binary.LittleEndian.PutUint32(entry[16:], record)
			data = append(data, entry...)
		}
		table := &versionTable{names: map[uint16]string{}}
		if err := new(File).readDefinitions(table, data, name); !errors.Is(err, ErrTooLarge) {
			t.Error(err)
		}
	})
}

// A file that is full of calls is refused as a whole, before they fill the memory.
func TestCallersAreLimited(t *testing.T) {
	requireX86(t)
	source := "extern void traced(void);\nvoid caller(void) {\n" + strings.Repeat("traced();\n", maxCallers+1) + "}\n"
	file := buildLibrary(t, "library.c", source, "-shared", "-fPIC", "-O1")
	if found, err := file.CallersOf([]string{"traced"}); !errors.Is(err, ErrTooLarge) || len(found.Known) > 0 {
		t.Errorf("%d callers, %v", len(found.Known), err)
	}
}

// Calls are found wherever the parts meet in which code is read.
func TestCallersAcrossParts(t *testing.T) {
	requireX86(t)
	for _, shift := range []int{0, 1, 2, 3, 4, 5} {
		source := fmt.Sprintf(`
			.text
			.globl caller
			.type caller, @function
		caller:
			.cfi_startproc
			.fill %d, 1, 0x90
			call traced@PLT
			ret
			.cfi_endproc
			.size caller, .-caller`, maxReadChunk-shift)
		file := buildLibrary(t, "library.s", source, "-shared", "-nostdlib")
		found, err := file.CallersOf([]string{"traced"})
		if err != nil || len(found.Known) != 1 {
			t.Errorf("%d bytes before the border: %d callers, %v", shift, len(found.Known), err)
		}
	}
}
