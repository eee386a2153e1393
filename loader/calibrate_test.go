package loader

import (
	"bytes"
	"debug/elf"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/elffile"
	"github.com/caret-bpf/caret-bpf/probes"
)

// Each function begins with the instruction of which it is the example.
func TestStubsAreWhatTheyAreCalled(t *testing.T) {
	sites, err := calibrationSites()
	if err != nil {
		t.Fatal(err)
	}
	executable, err := elffile.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer executable.Close()
	content, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	file, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	for i, site := range sites {
		kind := strings.TrimPrefix(stubKinds[i], "other ")
		address := uint64(0)
		for _, segment := range file.Progs {
			if segment.Type == elf.PT_LOAD && segment.Flags&elf.PF_X != 0 && site.Offset >= segment.Off && site.Offset < segment.Off+segment.Filesz {
				address = site.Offset - segment.Off + segment.Vaddr
			}
		}
		found, err := executable.FunctionSite(elffile.Symbol{Name: kind, Address: address}, elffile.SiteRequest{
			Entry: true, Kernel: elffile.KernelVersion{Major: 6, Minor: 13},
		})
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		if got := probes.KindOf(found); got != kind {
			t.Errorf("%s begins with %s: % x", kind, got, found.Instruction)
		}
	}
}

// Unprobed, every function returns, whatever it begins with.
func TestStubsReturn(t *testing.T) {
	var addresses [len(stubKinds)]uintptr
	stubAddresses(&addresses)
	for i, address := range addresses {
		if address == 0 {
			t.Fatalf("%s has no address", stubKinds[i])
		}
		runStub(address, 1000)
	}
}

func TestCalibrate(t *testing.T) {
	requireRoot(t)
	costs, err := Calibrate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%v, program %v", costs.Instructions, costs.Program)
	if len(costs.Instructions) != len(stubKinds)-1 || !costs.Measured {
		t.Errorf("%+v", costs)
	}
	for kind, cost := range costs.Instructions {
		if cost <= 0 {
			t.Errorf("%s costs %v", kind, cost)
		}
	}
}

func TestCostsOfTimings(t *testing.T) {
	costs := costsOf(timings{"push": 2, "mov": 3, endNop: 1}, timings{"push": 602, "mov": 2, endNop: 500}, 300)
	if costs.Instructions["push"] != 600 || costs.Instructions["mov"] != 1 || len(costs.Instructions) != 2 || costs.Program != 150 || !costs.Measured {
		t.Errorf("%+v", costs)
	}
	if costs := costsOf(timings{}, timings{}, -time.Second); costs.Program != 0 {
		t.Errorf("%+v", costs)
	}
}

func TestBecomeCalibratedAnswersEachLine(t *testing.T) {
	var out strings.Builder
	if err := BecomeCalibrated(strings.NewReader(measureCallbacks+"\nnothing\n"), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], callback) || lines[1] != "{}" {
		t.Errorf("%q", lines)
	}
}
