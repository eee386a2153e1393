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
		extern void given(char *member);
		void give(char *object) { given(object + 8); traced(); }
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
		"passed": func(f *File) error {
			symbol, err := f.Lookup("give")
			if err == nil {
				_, err = f.PassedMember(symbol.Address, "given")
			}
			return err
		},
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
				refused := err
				if err == nil {
					err = do(file)
					refused = file.Refused()
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
				if !errors.Is(refused, errMetered) {
					t.Fatalf("after %d questions: %v, refused: %v", allowed, err, refused)
				}
				if allowed > 1000 {
					t.Fatal("no end")
				}
			}
		})
	}
}

// roomMeter has room for so many bytes that are kept.
type roomMeter struct{ left int }

func (m *roomMeter) Examine(int) error { return nil }

func (m *roomMeter) Keep(bytes int) error {
	if bytes > m.left {
		return errMetered
	}
	m.left -= bytes
	return nil
}

func (m *roomMeter) Release(bytes int) { m.left += bytes }

// What takes far more memory than the file's bytes that it is made of is refused where there is no room for it.
func TestMemoryIsCounted(t *testing.T) {
	requireX86(t)
	const room = 2 << 20
	passed := func(f *File) error {
		symbol, err := f.Lookup("give")
		if err == nil {
			_, err = f.PassedMember(symbol.Address, "given")
		}
		return err
	}
	for name, test := range map[string]struct {
		source string
		do     func(*File) error
	}{
		"a long function": {
			".text\n" + assemblyOf("long", ".fill 65536, 1, 0x90"),
			func(f *File) error {
				symbol, err := f.Lookup("long")
				if err == nil {
					_, err = f.Decode(Range{symbol.Address, symbol.Address + symbol.Size})
				}
				return err
			},
		},
		"a long function that another goes on in": {
			".text\n" + assemblyOf("give", "jmp part") + assemblyOf("part", ".fill 65536, 1, 0x90\n.hidden part"), passed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			content, err := os.ReadFile(buildLibraryFile(t, "library.s", test.source, "-shared", "-nostdlib", "-Wl,-z,norelro"))
			if err != nil {
				t.Fatal(err)
			}
			checkRefused(t, content, room, test.do)
		})
	}
}

// assemblyOf is that of a function.
func assemblyOf(name, code string) string {
	return fmt.Sprintf(".globl %[1]s\n.type %[1]s, @function\n%[1]s:\n.cfi_startproc\n%[2]s\nret\n.cfi_endproc\n.size %[1]s, .-%[1]s\n", name, code)
}

// A function with many paths, on which much lies on the stack, is not followed on all of them.
func TestPathsAreLimited(t *testing.T) {
	requireX86(t)
	source := ".text\n" + assemblyOf("give", "jmp part") +
		assemblyOf("part", ".hidden part\n.set place, 8\n.rept 9000\nmov %rdi, place(%rsp)\nje 1f\n.set place, place + 8\n.endr\n1:")
	file := buildLibrary(t, "library.s", source, "-shared", "-nostdlib")
	_, err := file.PassedMember(mustLookup(t, file, "give").Address, "given")
	if !errors.Is(err, ErrUnexpectedShape) || !strings.Contains(err.Error(), "too much is known") {
		t.Error(err)
	}
}

// checkRefused checks that a file is refused something for which there is no room, and gives back what it was given.
func checkRefused(t *testing.T, content []byte, room int, do func(*File) error) {
	t.Helper()
	meter := &roomMeter{left: room}
	file, err := NewMetered(bytes.NewReader(content), meter)
	if err != nil {
		t.Fatal(err)
	}
	if err := do(file); !errors.Is(err, errMetered) || !errors.Is(file.Refused(), errMetered) {
		t.Errorf("%v", err)
	}
	if file.Close(); meter.left != room {
		t.Errorf("%d of %d bytes are given back", meter.left, room)
	}
}

// Any number of relocations may name one long symbol.
func TestNamesOfRelocationsAreCounted(t *testing.T) {
	const count, room = 1 << 10, 1 << 20
	var relocations, symbols bytes.Buffer
	for i := range count {
		_ = binary.Write(&relocations, binary.LittleEndian, elf.Rela64{Off: uint64(8 * i), Info: elf.R_INFO(1, uint32(elf.R_X86_64_JMP_SLOT))})
	}
	_ = binary.Write(&symbols, binary.LittleEndian, []elf.Sym64{{}, {Name: 1}})
	content := craftedFile(t, []craftedSection{
		{".dynsym", elf.Section64{Type: uint32(elf.SHT_DYNSYM), Link: 2, Entsize: symbolSize}, symbols.Bytes()},
		{".dynstr", elf.Section64{Type: uint32(elf.SHT_STRTAB)}, []byte("\x00" + strings.Repeat("n", room/count) + "\x00")},
		{".rela.plt", elf.Section64{Type: uint32(elf.SHT_RELA), Link: 1, Entsize: relocationSize}, relocations.Bytes()},
	})
	checkRefused(t, content, room, func(f *File) error { _, err := f.PLT(); return err })
}

type craftedSection struct {
	name    string
	header  elf.Section64
	content []byte
}

// craftedFile is a file for x86-64 of sections that no linker need have made. The first has the number 1.
func craftedFile(t *testing.T, sections []craftedSection) []byte {
	t.Helper()
	names := []byte{0}
	headers := make([]elf.Section64, 1)
	var content bytes.Buffer
	const begin = 64
	for _, section := range append(sections, craftedSection{name: ".shstrtab", header: elf.Section64{Type: uint32(elf.SHT_STRTAB)}}) {
		section.header.Name = uint32(len(names))
		names = append(names, section.name+"\x00"...)
		if section.content == nil {
			section.content = names
		}
		section.header.Off, section.header.Size = uint64(begin+content.Len()), uint64(len(section.content))
		content.Write(section.content)
		headers = append(headers, section.header)
	}
	file := bytes.NewBuffer(nil)
	err := binary.Write(file, binary.LittleEndian, elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1},
		Type:  uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64), Phentsize: 56, Shentsize: 64,
		Shoff: uint64(begin + content.Len()), Shnum: uint16(len(headers)), Shstrndx: uint16(len(headers) - 1),
	})
	if err == nil {
		_, _ = content.WriteTo(file)
		err = binary.Write(file, binary.LittleEndian, headers)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// An address of which thousands of functions begin tells nothing.
func TestNamesOfOneAddressAreLimited(t *testing.T) {
	var source strings.Builder
	source.WriteString(".text\n")
	for i := range maxNames + 1 {
		fmt.Fprintf(&source, ".type f%[1]d, @function\nf%[1]d:\n", i)
	}
	source.WriteString("nop\n")
	file := buildLibrary(t, "library.s", source.String(), "-shared", "-nostdlib")
	if symbols, err := file.SymbolsAt(mustLookup(t, file, "f0").Address); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%d symbols, %v", len(symbols), err)
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
