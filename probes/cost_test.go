package probes

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/elffile"
)

func TestCostsOfSites(t *testing.T) {
	measured := &Costs{Measured: true, Program: 100, Instructions: map[string]time.Duration{
		"call": 700, "push": 600, KindEndbr64: 15000, KindMove: 14000, KindRet: 16000,
	}}
	for name, test := range map[string]struct {
		costs *Costs
		site  Site
		want  time.Duration
	}{
		"measured kind":              {measured, Site{Class: elffile.ClassEmulated, Emulation: "push"}, 700},
		"emulated, never measured":   {measured, Site{Class: elffile.ClassEmulated, Emulation: "address"}, 800},
		"stepped, never measured":    {measured, Site{Class: elffile.ClassSingleStepped, Instruction: "4883ec08"}, 16100},
		"landing pad":                {measured, Site{Class: elffile.ClassSingleStepped, Instruction: "f30f1efa"}, 15100},
		"return":                     {measured, Site{Class: elffile.ClassSingleStepped, Instruction: "c3"}, 16100},
		"any other":                  {measured, Site{Class: elffile.ClassSingleStepped, Instruction: "4989c0"}, 14100},
		"emulated on bare metal":     {defaultCostsOn(false), Site{Class: elffile.ClassEmulated, Emulation: "push"}, 500},
		"stepped on bare metal":      {defaultCostsOn(false), Site{Class: elffile.ClassSingleStepped, Instruction: "f30f1efa"}, 1100},
		"emulated in a virtual one":  {defaultCostsOn(true), Site{Class: elffile.ClassEmulated, Emulation: "call"}, 800},
		"stepped in a virtual one":   {defaultCostsOn(true), Site{Class: elffile.ClassSingleStepped, Instruction: "c3"}, 14200},
		"an emulated return (ARM64)": {defaultCostsOn(false), Site{Class: elffile.ClassEmulated, Emulation: "return"}, 500},
	} {
		t.Run(name, func(t *testing.T) {
			requireAMD64(t)
			if got := test.costs.Of(test.site); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

func TestSteppedKinds(t *testing.T) {
	for name, test := range map[string]struct{ architecture, instruction, want string }{
		"endbr64":      {"amd64", "f30f1efa", KindEndbr64},
		"small frame":  {"amd64", "4883ec18", KindSub},
		"large frame":  {"amd64", "4881ec00010000", KindSub},
		"bti":          {"arm64", "5f2403d5", KindBTI},
		"paciasp":      {"arm64", "3f2303d5", KindBTI},
		"arm64 frame":  {"arm64", "ff4300d1", KindSub},
		"other sub":    {"arm64", "e04300d1", KindMove},
		"c3 elsewhere": {"arm64", "c3000091", KindMove},
		"none":         {"amd64", "", KindMove},
	} {
		if got := steppedKind(test.architecture, test.instruction); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestIsVirtual(t *testing.T) {
	for text, want := range map[string]bool{
		"processor\t: 0\nflags\t\t: fpu vme hypervisor lahf_lm\n": true,
		"flags\t\t: fpu vme hypervisors\n":                        false,
		"Features\t: fp asimd hypervisor\n":                       false,
		"":                                                        false,
	} {
		if got := isVirtual(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestCPUModel(t *testing.T) {
	for text, want := range map[string]string{
		"processor : 0\nmodel name\t: AMD EPYC\nprocessor : 1\nmodel name : other\n":                          "AMD EPYC",
		"processor\t: 0\nCPU implementer\t: 0x41\nCPU variant\t: 0x1\nCPU part\t: 0xd0c\nCPU revision\t: 1\n": "0x41 0x1 0xd0c 1",
		"nothing": "",
	} {
		if got := cpuModel(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestCalibrationIsKept(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "cache")
	machine := Machine{Kernel: "6.18.1", CPU: "a model"}
	if _, err := LoadCalibration(folder, machine, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("without one: %v", err)
	}
	stored := &Calibration{machine, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Costs{
		Instructions: map[string]time.Duration{"push": 600, KindMove: 14000}, Program: 200, Measured: true,
	}}
	path, err := stored.Store(folder, nil)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := LoadCalibration(folder, machine, nil)
	if err != nil || !reflect.DeepEqual(loaded, stored) {
		t.Errorf("%+v, %v, stored %+v", loaded, err, stored)
	}
	for _, other := range []Machine{{"6.18.2", "a model"}, {"6.18.1", "another"}} {
		if _, err := LoadCalibration(folder, other, nil); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%+v: %v", other, err)
		}
	}
	// A file that was moved to another machine's name is not believed.
	other := Machine{Kernel: "6.18.2", CPU: "a model"}
	if err := os.Rename(path, filepath.Join(folder, other.file())); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadCalibration(folder, other, nil); !errors.Is(err, ErrCalibration) {
		t.Errorf("of another machine: %v", err)
	}
}

// Under sudo the folder may be that of a user, who may put links to files of others into it.
func TestKeepingACalibrationFollowsNoLink(t *testing.T) {
	folder, victim := t.TempDir(), filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	machine := Machine{Kernel: "6.18.1", CPU: "a model"}
	for _, ending := range []string{"", ".tmp"} {
		if err := os.Symlink(victim, filepath.Join(folder, machine.file()+ending)); err != nil {
			t.Fatal(err)
		}
	}
	costs := Costs{Instructions: map[string]time.Duration{"push": 600, KindMove: 14000}, Program: 200}
	if _, err := (&Calibration{Machine: machine, Costs: costs}).Store(folder, nil); err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(victim); string(content) != "precious" {
		t.Errorf("the victim is %q, %v", content, err)
	}
	if _, err := LoadCalibration(folder, machine, nil); err != nil {
		t.Error(err)
	}
}

func TestDecodeCalibrationRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":               `{`,
		"nothing":               `{}`,
		"a negative cost":       `{"costs":{"instructions_ns":{"push":-1,"mov":5}}}`,
		"no cost":               `{"costs":{"instructions_ns":{"push":0,"mov":5}}}`,
		"a cost of minutes":     `{"costs":{"instructions_ns":{"push":60000000000,"mov":5}}}`,
		"an impossible program": `{"costs":{"instructions_ns":{"push":1,"mov":5},"program_ns":-5}}`,
		"one class only":        `{"costs":{"instructions_ns":{"push":600,"call":700}}}`,
	} {
		if c, err := decodeCalibration([]byte(text)); !errors.Is(err, ErrCalibration) {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}

func FuzzDecodeCalibration(f *testing.F) {
	f.Add([]byte(`{"kernel":"6.1","cpu":"x","costs":{"instructions_ns":{"push":600,"mov":14000},"program_ns":200}}`))
	f.Add([]byte(`{"costs":{"instructions_ns":{"":1}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := decodeCalibration(text)
		if err != nil {
			return
		}
		for _, class := range []elffile.Class{elffile.ClassEmulated, elffile.ClassSingleStepped} {
			if cost := c.Costs.Of(Site{Class: class}); cost <= 0 || cost > 2*maxCost {
				t.Errorf("a hit of class %v costs %v", class, cost)
			}
		}
	})
}

// What was measured decides: where the kernel steps through nothing dearly, bodies are as good as callers.
func TestMeasuredCostsChooseSites(t *testing.T) {
	requireAMD64(t)
	for name, test := range map[string]struct {
		stepped time.Duration
		want    map[abi.Role]int
	}{
		"stepping is dear":  {14000, map[abi.Role]int{abi.RoleBody: 1, abi.RoleCaller: 1}},
		"stepping is cheap": {600, map[abi.Role]int{abi.RoleFunction: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, t.TempDir(), stubs(), rclOfHumble, user("libuser.so", ""))
			costs := &Costs{Measured: true, Instructions: map[string]time.Duration{"push": 600, "call": 620, KindMove: test.stepped, KindEndbr64: test.stepped}}
			plan, err := NewPlan(t.Context(), p.process, Options{Callers: true, Costs: costs})
			if err != nil {
				t.Fatal(err)
			}
			if got := roles(plan, abi.EventCallbackStart); !reflect.DeepEqual(got, test.want) {
				t.Errorf("%v, want %v", got, test.want)
			}
			for _, site := range plan.Sites {
				if site.Cost != costs.Of(site) {
					t.Errorf("%s costs %v, not %v", site.Event, site.Cost, costs.Of(site))
				}
			}
		})
	}
}
