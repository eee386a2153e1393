package target

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"

	"github.com/caret-bpf/caret-bpf/elffile"
	"github.com/caret-bpf/caret-bpf/quota"
)

// costlyFile writes an ELF file whose table of symbols is so large, and that of their names as large. Its holes cost
// whoever writes it nothing.
func costlyFile(t *testing.T, size int64) string {
	t.Helper()
	const headers, names, tables = 64, 1 << 10, 1 << 12
	header := elf.Header64{
		Type: uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64), Version: 1, Ehsize: 64, Phentsize: 56,
		Shoff: headers, Shentsize: 64, Shnum: 4, Shstrndx: 3,
	}
	copy(header.Ident[:], elf.ELFMAG+"\x02\x01\x01")
	var text bytes.Buffer
	for _, part := range []any{header, []elf.Section64{
		{},
		{Type: uint32(elf.SHT_SYMTAB), Off: tables, Size: uint64(size), Link: 2, Entsize: 24},
		{Type: uint32(elf.SHT_STRTAB), Off: uint64(tables + size), Size: uint64(size)},
		{Type: uint32(elf.SHT_STRTAB), Off: names, Size: 1},
	}} {
		if err := binary.Write(&text, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "libcostly.so")
	if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, tables+2*size); err != nil {
		t.Fatal(err)
	}
	return path
}

// heapObjects is how many bytes of memory are taken, garbage that was not collected included.
func heapObjects() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// TestFilesOfOneUserTakeHisShareOfMemory: what is left of files that were costly is collected before more is taken.
func TestFilesOfOneUserTakeHisShareOfMemory(t *testing.T) {
	const share, room = 32 << 20, 8 << 20
	finder := newFakeProcess(t).finderWith(quota.Memory, 2*share)
	account := finder.quota.Of(attacker)
	path := costlyFile(t, 10<<20)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // nobody collects for another reason
	runtime.GC()
	before := heapObjects()
	for round := range 10 {
		opened, err := finder.opened.openPath(account, path, trust)
		if err != nil {
			t.Fatal(err)
		}
		file, err := opened.ELF(account.With(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Lookup("missing"); err == nil || file.Refused() != nil {
			t.Fatalf("round %d: %v, refused: %v", round, err, file.Refused())
		}
		file.Close()
		opened.Release()
		if taken := heapObjects() - before; taken > share+room {
			t.Fatalf("%d MiB are taken after %d files", taken>>20, round+1)
		}
	}
	opened, err := finder.opened.openPath(account, costlyFile(t, 20<<20), trust)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Release()
	file, err := opened.ELF(account.With(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Lookup("missing"); file.Refused() == nil {
		t.Errorf("a file that takes more than the share is read: %v", err)
	}
}

// TestAFileIsAsLongAsItClaimsBeforeMemoryIsTaken: the claim alone costs nothing.
func TestAFileIsAsLongAsItClaimsBeforeMemoryIsTaken(t *testing.T) {
	finder := newFakeProcess(t).finderWith(quota.Memory, 1<<30)
	account := finder.quota.Of(attacker)
	path := costlyFile(t, 100<<20)
	if err := os.Truncate(path, 50<<20); err != nil {
		t.Fatal(err)
	}
	opened, err := finder.opened.openPath(account, path, trust)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Release()
	file, err := elffile.NewMetered(opened, newMeter(account.With(t.Context())))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	before := heapObjects()
	if _, err := file.Lookup("missing"); err == nil {
		t.Error("no error")
	}
	if taken := heapObjects() - before; taken > 8<<20 {
		t.Errorf("%d MiB are taken", taken>>20)
	}
}
