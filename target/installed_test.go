package target

import (
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/elffile"
)

// A node of an installed ROS 2 is recognised, and its libraries are in memory where the ELF files say.
func TestInstalledNodes(t *testing.T) {
	ready, err := filepath.Glob("/opt/ros/*/READY")
	if err != nil || len(ready) == 0 {
		t.Skip("no complete ROS 2 is installed in /opt/ros")
	}
	for _, marker := range ready {
		prefix := filepath.Dir(marker)
		distro, _, _ := strings.Cut(filepath.Base(prefix), "-")
		for _, rmw := range []string{"rmw_fastrtps_cpp", "rmw_cyclonedds_cpp"} {
			t.Run(filepath.Base(prefix)+"/"+rmw, func(t *testing.T) {
				process := startTalker(t, prefix, rmw)
				if string(process.Distro) != distro {
					t.Errorf("distribution %v because %s", process.Distro, process.DistroEvidence)
				}
				if process.RMW != rmw {
					t.Errorf("RMW %q", process.RMW)
				}
				for _, library := range []string{"librcl.so", "libtracetools.so", "librclcpp.so", "lib" + rmw + ".so"} {
					checkExportedFunctions(t, process, library)
				}
			})
		}
	}
}

// startTalker starts a node and waits until it has an RMW implementation and all that this needs.
func startTalker(t *testing.T, prefix, rmw string) *Process {
	t.Helper()
	command := exec.Command("bash", "-c", `source "$0/setup.bash" && exec "$0/lib/demo_nodes_cpp/talker"`, prefix)
	command.Env = append(command.Environ(), "RMW_IMPLEMENTATION="+rmw, "ROS_LOCALHOST_ONLY=1", "ROS_DOMAIN_ID=93", "ROS_DISTRO=")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		command.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		command.Process.Kill()
		<-ended
	})
	finder := NewFinder()
	for {
		process, err := finder.Open(t.Context(), int32(command.Process.Pid))
		if err == nil && process.RMW != "" && !expectsMiddleware(t, process) {
			t.Cleanup(func() { process.Close() })
			return process
		}
		if err == nil {
			process.Close()
		} else if !errors.Is(err, ErrNotROS2) {
			t.Fatal(err)
		}
		select {
		case <-ended:
			t.Fatal("the node has ended")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func expectsMiddleware(t *testing.T, process *Process) bool {
	t.Helper()
	libraries, err := process.Expected(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(libraries, func(l ExpectedLibrary) bool { return l.Kind != KindComponent })
}

// checkExportedFunctions compares the start of every function in the process's memory with the file.
func checkExportedFunctions(t *testing.T, process *Process, library string) {
	t.Helper()
	module, found := process.FindModule(library)
	if !found || module.BuildID == "" {
		t.Errorf("%s: %+v", library, module)
		return
	}
	file, err := process.OpenModule(t.Context(), module)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	memory, err := process.Memory()
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	symbols, err := file.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	var compared int
	for _, symbol := range symbols {
		site, err := file.FunctionSite(symbol, elffile.SiteRequest{})
		if errors.Is(err, elffile.ErrNoSafeSite) {
			continue
		} else if err != nil {
			t.Errorf("%s: %v", library, err)
			continue
		}
		address, mapped := module.Address(site.FileOffset)
		if !mapped {
			t.Errorf("%s: %s at file offset %#x is not mapped", library, symbol.Name, site.FileOffset)
			continue
		}
		instruction := make([]byte, len(site.Instruction))
		_, err = memory.ReadAt(address, instruction)
		switch {
		case errors.Is(err, ErrNotResident):
		case err != nil:
			t.Fatal(err)
		case instruction[0] != 0xcc && !bytes.Equal(instruction, site.Instruction): // 0xcc: somebody traces it
			t.Errorf("%s: %s is % x in memory, % x in the file", library, symbol.Name, instruction, site.Instruction)
		default:
			compared++
		}
	}
	t.Logf("%s: %d of %d functions compared", library, compared, len(symbols))
	if compared == 0 {
		t.Errorf("%s: no function of it is in memory", library)
	}
}
