package elffile

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Whatever the bytes are: no panic, no endless work, and a site is only ever inside an executable segment.
func FuzzFile(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x7fELF"))
	if _, err := exec.LookPath("gcc"); err == nil {
		source := strings.Replace(writerSource, "MIDDLE", "result = write_impl(w, data, now(), 0);", 1)
		for _, options := range [][]string{{"-O2"}, {"-O2", "-fcf-protection=full", "-Wl,--hash-style=sysv"}} {
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
			file.PointerAt(symbol.Address)
			site, err := file.FunctionSite(symbol)
			if err != nil {
				continue
			}
			if !file.executable(site.Address) || site.FileOffset >= uint64(len(content)) {
				t.Errorf("site %+v is not in the code", site)
			}
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
