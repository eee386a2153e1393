package elffile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"testing"
)

func TestOpenRefusesWhatIsNoLibrary(t *testing.T) {
	directory := t.TempDir()
	text := filepath.Join(directory, "text")
	empty := filepath.Join(directory, "empty")
	fifo := filepath.Join(directory, "fifo")
	for path, content := range map[string]string{text: "#!/bin/sh\nexit 0\n", empty: ""} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{text, empty, fifo, directory, "/dev/zero"} {
		if _, err := Open(path); !errors.Is(err, ErrNotELF) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := Open(filepath.Join(directory, "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent file: %v", err)
	}
}

func TestDynamicInformation(t *testing.T) {
	file := buildLibrary(t, "library.c", "int f(void) { return 1; }",
		"-Wl,-soname,libexample.so.2", "-Wl,--build-id=0x0123456789abcdef", "-Wl,--no-as-needed", "-lm")
	if soname, err := file.Soname(); err != nil || soname != "libexample.so.2" {
		t.Errorf("soname %q, %v", soname, err)
	}
	if needed, err := file.Needed(); err != nil || !slices.Contains(needed, "libm.so.6") || !slices.Contains(needed, "libc.so.6") {
		t.Errorf("needed %q, %v", needed, err)
	}
	if id, err := file.BuildID(); err != nil || id != "0123456789abcdef" {
		t.Errorf("build-id %q, %v", id, err)
	}
}

func TestNoBuildID(t *testing.T) {
	file := buildLibrary(t, "library.c", "int f(void) { return 1; }", "-Wl,--build-id=none")
	if id, err := file.BuildID(); err != nil || id != "" {
		t.Errorf("build-id %q, %v", id, err)
	}
	if soname, err := file.Soname(); err != nil || soname != "" {
		t.Errorf("soname %q, %v", soname, err)
	}
}

func TestBuildIDAgainstReadelf(t *testing.T) {
	for _, path := range realLibraries(t) {
		output, err := exec.Command("readelf", "-n", path).Output()
		if err != nil {
			t.Skip("readelf: ", err)
		}
		match := regexp.MustCompile(`Build ID: ([0-9a-f]+)`).FindSubmatch(output)
		expected := ""
		if match != nil {
			expected = string(match[1])
		}
		if id, err := openFile(t, path).BuildID(); err != nil || id != expected {
			t.Errorf("%s: build-id %q, %v; readelf says %q", path, id, err, expected)
		}
	}
}

func TestReadAtStaysInSegments(t *testing.T) {
	file := buildLibrary(t, "library.c", "int f(void) { return 1; }")
	function := mustLookup(t, file, "f")
	buffer := make([]byte, 1<<20)
	n, err := file.ReadAt(function.Address, buffer)
	if !errors.Is(err, ErrNotMapped) || n == 0 || n == len(buffer) {
		t.Errorf("read %d bytes past the segment: %v", n, err)
	}
	if n, err := file.ReadAt(1<<40, buffer); n != 0 || !errors.Is(err, ErrNotMapped) {
		t.Errorf("read %d bytes outside: %v", n, err)
	}
	if _, err := file.FileOffset(^uint64(0)); !errors.Is(err, ErrNotMapped) {
		t.Errorf("file offset of the last address: %v", err)
	}
	for _, section := range file.Sections() {
		if section.Name != ".rodata" && section.Name != ".dynamic" {
			continue
		}
		if _, err := file.FileOffset(section.Address); !errors.Is(err, ErrNotMapped) {
			t.Errorf("%s counts as code: %v", section.Name, err)
		}
	}
}

// sparse is a reader of endless zeros behind a given start.
type sparse struct{ start []byte }

func (s sparse) ReadAt(buffer []byte, offset int64) (int, error) {
	clear(buffer)
	if offset < int64(len(s.start)) {
		copy(buffer, s.start[offset:])
	}
	return len(buffer), nil
}

func TestClaimsAreLimited(t *testing.T) {
	header := func(change func(*elf.Header64)) io.ReaderAt {
		h := elf.Header64{
			Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1},
			Type:  uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64), Phentsize: 56, Shentsize: 64,
		}
		change(&h)
		var buffer bytes.Buffer
		if err := binary.Write(&buffer, binary.LittleEndian, h); err != nil {
			t.Fatal(err)
		}
		return sparse{buffer.Bytes()}
	}
	for name, test := range map[string]struct {
		change func(*elf.Header64)
		err    error
	}{
		"32 bit":            {func(h *elf.Header64) { h.Ident[elf.EI_CLASS] = byte(elf.ELFCLASS32) }, ErrUnsupported},
		"big endian":        {func(h *elf.Header64) { h.Ident[elf.EI_DATA] = byte(elf.ELFDATA2MSB) }, ErrUnsupported},
		"program headers":   {func(h *elf.Header64) { h.Phoff, h.Phnum = 64, 0xffff }, ErrTooLarge},
		"program header":    {func(h *elf.Header64) { h.Phoff, h.Phnum, h.Phentsize = 64, 1, 8 }, ErrMalformed},
		"far headers":       {func(h *elf.Header64) { h.Phoff, h.Phnum = ^uint64(0)-8, 1 }, ErrMalformed},
		"section name":      {func(h *elf.Header64) { h.Shoff, h.Shnum, h.Shstrndx = 64, 2, 2 }, ErrMalformed},
		"nothing in it":     {func(h *elf.Header64) {}, nil},
		"large section tab": {func(h *elf.Header64) { h.Shoff, h.Shnum, h.Shentsize = 64, 0xffff, 0xffff }, ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := New(header(test.change)); !errors.Is(err, test.err) {
				t.Errorf("error %v, expected %v", err, test.err)
			}
		})
	}
}

// A symbol table in which every symbol's name is the same long string would cost the product of both sizes.
func TestOverlappingNamesAreRefused(t *testing.T) {
	table := &symbolTable{
		raw:     make([]byte, 20000*symbolSize),
		strings: append(bytes.Repeat([]byte{'a'}, 100000), 0),
	}
	if err := new(File).checkNames(table); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
}

// Where a malformed file's segments overlap, code is read where its file offset leads to.
func TestOverlappingSegments(t *testing.T) {
	requireX86(t)
	content := []byte{0xcc, 0xcc, 0xcc, 0xcc, 0x55, 0xc3, 0xc3, 0xc3}
	file := &File{
		reader: bytes.NewReader(content),
		header: elf.Header64{Machine: uint16(elf.EM_X86_64)},
		segments: []Segment{
			{Address: 0x1000, Offset: 0, FileSize: 4, Flags: elf.PF_R},
			{Address: 0x1000, Offset: 4, FileSize: 4, Flags: elf.PF_R | elf.PF_X},
		},
	}
	site, err := file.FunctionSite(Symbol{Name: "f", Address: 0x1000, Size: 4}, SiteRequest{})
	if err != nil || site.FileOffset != 4 || !bytes.Equal(site.Instruction, content[4:5]) {
		t.Errorf("%+v, %v", site, err)
	}
}
