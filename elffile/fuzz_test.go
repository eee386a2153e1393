package elffile

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// Whatever the bytes are: no panic, no endless work, and a site is only ever inside an executable segment.
func FuzzFile(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x7fELF"))
	if _, err := exec.LookPath("gcc"); err == nil {
		source := strings.Replace(writerSource, "MIDDLE", "result = write_impl(w, data, now(), 0);", 1)
		protection := map[string]string{"amd64": "-fcf-protection=full", "arm64": "-mbranch-protection=standard"}[runtime.GOARCH]
		for _, options := range [][]string{{"-O2"}, {"-O2", protection, "-Wl,--hash-style=sysv"}} {
			path := buildLibraryFile(f, "library.c", source, append(options, "-nostdlib", "-Wl,-z,noseparate-code", "-Wl,-z,max-page-size=16")...)
			content, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(content)
		}
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		file, err := New(bytes.NewReader(content))
		if err != nil {
			return
		}
		file.BuildID()
		file.Soname()
		file.Needed()
		file.PLT()
		file.Lookup("write_impl")
		file.Exports("writer")
		file.LookupPrefix("w")
		file.Match(func(name string) bool { return name == "f()" })
		symbols, _ := file.Symbols()
		for i, symbol := range symbols {
			if i > 100 {
				break
			}
			file.SymbolsAt(symbol.Address)
			file.FunctionBounds(symbol)
			file.ReturnedAddress(symbol)
			file.ReturnedMember(symbol)
			file.CopiedMember(symbol)
			file.PassedMember(symbol.Address, "now")
			file.PointerAt(symbol.Address)
			site, err := file.FunctionSite(symbol, SiteRequest{})
			if err != nil {
				continue
			}
			if !file.executable(site.Address) || site.FileOffset >= uint64(len(content)) {
				t.Errorf("site %+v is not in the code", site)
			}
			if proven, err := file.SiteInFunction(symbol.Name, site.Address); err == nil && proven.Address != site.Address {
				t.Errorf("site %+v is proven to be at %#x", site, proven.Address)
			}
			file.SiteAt(site.Address)
		}
		if site, err := file.CallAfter("writer", "now"); err == nil && !file.executable(site.Address) {
			t.Errorf("call site %+v is not in the code", site)
		}
	})
}

func FuzzDemangle(f *testing.F) {
	f.Add("_ZN6rclcpp13CallbackGroup9add_timerESt10shared_ptrINS_9TimerBaseEE")
	f.Add("N6rclcpp9WallTimerISt5_BindIFM1NFvvEPS2_EELPv0EEE")
	f.Fuzz(func(t *testing.T, name string) {
		if result := Demangle(name); len(result) > len(name)+2<<maxDemangledLengthAsBits {
			t.Errorf("%d bytes became %d", len(name), len(result))
		}
	})
}

// Whatever the code is: a site is an instruction that decoding from the function's start comes to, and none that may
// not be probed.
func FuzzFunctionSite(f *testing.F) {
	f.Add([]byte{0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0xc3}, false, uint8(0))
	f.Add([]byte{0x48, 0x83, 0xec, 0x18, 0x85, 0xff, 0x74, 0x00, 0xc3}, false, uint8(2))
	f.Add([]byte{0x0f, 0x1f, 0x44, 0x00, 0x00, 0xc3}, false, uint8(6))
	f.Add([]byte{0x5f, 0x24, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6}, true, uint8(1))
	f.Add([]byte{0xfd, 0x7b, 0xbe, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0x40, 0x00, 0x00, 0xb4}, true, uint8(0))
	f.Add([]byte{0x40, 0x00, 0x00, 0x5c, 0xc0, 0x03, 0x5f, 0xd6}, true, uint8(0)) // ldr d0, .+8
	f.Fuzz(func(t *testing.T, code []byte, isARM64 bool, arguments uint8) {
		machine := elf.EM_X86_64
		if isARM64 {
			machine = elf.EM_AARCH64
		}
		const start = 0x1000
		file := &File{
			reader:   bytes.NewReader(code),
			header:   elf.Header64{Machine: uint16(machine)},
			segments: []Segment{{Address: start, FileSize: uint64(len(code)), Flags: elf.PF_X}},
		}
		site, err := file.FunctionSite(Symbol{Name: "f", Address: start, Size: uint64(len(code))}, SiteRequest{Arguments: int(arguments % 7)})
		if err != nil {
			return
		}
		address := uint64(start)
		for address < site.Address {
			instruction, err := file.instructionAt(address)
			if err != nil || instruction.Flow != FlowNext {
				t.Fatalf("site %+v is not reached: %+v at %#x, %v", site, instruction, address, err)
			}
			address = instruction.End()
		}
		instruction, err := file.instructionAt(site.Address)
		if address != site.Address || err != nil || !bytes.Equal(instruction.Bytes, site.Instruction) {
			t.Errorf("site %+v is inside another instruction, %v", site, err)
		}
		if !isARM64 && isMultiByteNop(instruction) || isARM64 && isLiteralLoadARM64(instruction) || site.StackOffset < 0 || site.StackOffset%8 != 0 {
			t.Errorf("site %+v", site)
		}
		if site.Address != start && site.Class != ClassEmulated {
			t.Errorf("site %+v is no cheaper than the entry", site)
		}
	})
}
