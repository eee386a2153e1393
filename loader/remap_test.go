package loader

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/probes"
	ros "github.com/caret-bpf/caret-bpf/target"
)

// remapper is the environment variable that makes the test binary a process that maps files, one in the place of the
// other.
const remapper = "LOADER_TEST_REMAPPER"

// runRemapper maps the text of each file that it reads the path of where the one before was.
func runRemapper() int {
	page := uintptr(os.Getpagesize())
	// Two pages: the ELF header's, and the text's.
	at, err := unix.MmapPtr(-1, 0, nil, 2*page, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		file, err := os.Open(lines.Text())
		if err == nil {
			_, err = unix.MmapPtr(int(file.Fd()), 0, at, 2*page, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_FIXED)
			file.Close()
		}
		if err != nil {
			fmt.Println(err)
			return 1
		}
		fmt.Println("ok")
	}
	return 0
}

func startRemapper(t *testing.T) *target {
	t.Helper()
	command := exec.Command("/proc/self/exe")
	command.Env = append(os.Environ(), remapper+"=1")
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	process := &target{t, command, stdin, bufio.NewReader(stdout), int32(command.Process.Pid)}
	t.Cleanup(process.kill)
	return process
}

// disguised builds two libraries of the same bytes of text. In the one, a tracepoint begins where in the other an
// instruction has its immediate value.
func disguised(t *testing.T) (victim, crafted string) {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("on arm64 every fourth byte begins an instruction")
	}
	folder := t.TempDir()
	build := func(name, soname, function string, start int) string {
		bytes := []string{"0xb8", "0x55", "0xc3", "0x90", "0x90", "0xc3"} // mov $0x9090c355,%eax; ret
		label := fmt.Sprintf(".globl %[1]s\n.type %[1]s,@function\n%[1]s:\n", function)
		source := fmt.Sprintf(".text\n.byte %s\n%s.byte %s\n.size %s,.-%s\n.section .note.GNU-stack,\"\",@progbits\n",
			strings.Join(bytes[:start], ","), label, strings.Join(bytes[start:], ","), function, function)
		if start == 0 {
			source = strings.Replace(source, ".byte \n", "", 1)
		}
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path+".s", []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		arguments := []string{"-shared", "-nostdlib", "-Wl,--build-id=none", "-Wl,-z,separate-code", "-o", path, path + ".s"}
		if soname != "" {
			arguments = append(arguments, "-Wl,-soname,"+soname)
		}
		if out, err := exec.Command("gcc", arguments...).CombinedOutput(); err != nil {
			t.Fatalf("gcc: %v\n%s", err, out)
		}
		return path
	}
	return build("libvictim.so", "", "check", 0), build("libcrafted.so", "libtracetools.so", "ros_trace_callback_start", 1)
}

// TestRemappedFilesAreNotProbed: a process that maps another file between one look and the next gets no probe into that
// file, whatever it has shown before.
func TestRemappedFilesAreNotProbed(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		victim, crafted := disguised(t)
		for name, shown := range map[string][]string{
			"the victim behind the crafted file": {crafted},
			"the victim before and behind it":    {victim, crafted},
		} {
			t.Run(name, func(t *testing.T) {
				attacker, bystander := startRemapper(t), startRemapper(t)
				bystander.do(victim)
				before := bystander.text(victim)
				finder := ros.NewFinder()
				attacker.do(shown[0])
				process, err := finder.Inspect(t.Context(), attacker.pid)
				if err != nil {
					t.Fatal(err)
				}
				defer process.Close()
				for _, path := range shown[1:] {
					attacker.do(path)
					if _, err := process.Refresh(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				plan, err := probes.NewPlan(t.Context(), process, probes.Options{})
				if plan == nil || len(plan.Sites) == 0 {
					t.Fatalf("the crafted file has no site: %v", err)
				}
				attacker.do(victim)

				r := newRecording(t, w)
				for i := range plan.Sites {
					plan.Sites[i].Required = false
				}
				_, problems, err := r.loader.Attach(t.Context(), 0, plan.Sites)
				t.Log(problems, err)
				if text := bystander.text(victim); !bytes.Equal(text, before) {
					t.Error("there is a breakpoint in another process's file, where no instruction begins")
				}
				if text := attacker.text(victim); !bytes.Equal(text, before) {
					t.Error("there is a breakpoint in the file that is mapped now")
				}
				if _, err := process.Refresh(t.Context()); err != nil {
					t.Fatal(err)
				}
				if module, found := process.FindModule("libtracetools.so"); found {
					t.Errorf("the victim's file is taken for the crafted one: %+v", module)
				}
				plan, err = probes.NewPlan(t.Context(), process, probes.Options{})
				if !errors.Is(err, probes.ErrRequiredMissing) || len(plan.Sites) > 0 {
					t.Errorf("the victim's file has sites: %+v, %v", plan.Sites, err)
				}
			})
		}
	})
}
