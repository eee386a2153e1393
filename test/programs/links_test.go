package programs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/standin"
)

// TestROSLinksChange records random programs while all links are replaced: by such for every process when the others
// that map ROS 2 end, and by such of single processes when others begin.
func TestROSLinksChange(t *testing.T) {
	switch {
	case os.Geteuid() != 0:
		t.Skip("recording needs root: run the tests with sudo")
	case testing.Short():
		t.Skip("compiling takes long")
	case loader.MayHaveShadowStacks():
		t.Skip("where processes may have shadow stacks, links are of single ones")
	}
	first, count := seeds(t)
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, distro := range []string{Humble, Jazzy} {
		t.Run(distro, func(t *testing.T) {
			prefix, err := Prefix(distro)
			if errors.Is(err, ErrNotInstalled) && os.Getenv("CARET_BPF_REQUIRE_ROS") == "" {
				t.Skip(err)
			} else if err != nil {
				t.Fatal(err)
			}
			compiler, err := NewCompiler(t.Context(), prefix, filepath.Join(cache, "caret-bpf", "programs", distro))
			if err != nil {
				t.Fatal(err)
			}
			for seed := first; seed < first+count; seed++ {
				t.Run(fmt.Sprintf("seed_%d", seed), func(t *testing.T) {
					path, err := compiler.Compile(t.Context(), Generate(seed, distro))
					if err != nil {
						t.Fatal(err)
					}
					r := &run{program: path, prefix: prefix, rmw: "rmw_cyclonedds_cpp"}
					if seed%2 == 0 {
						r.rmw = "rmw_fastrtps_cpp"
					}
					r.compare(t, r.recordWhileLinksChange)
				})
			}
		})
	}
}

// recordWhileLinksChange records the program beside others that map ROS 2 and do nothing.
func (r *run) recordWhileLinksChange(t *testing.T, dir string) Span {
	const companions, bystanders = 7, 20
	library := filepath.Join(r.prefix, "lib", "librclcpp.so")
	_, pids := standin.StartIdle(t, library, companions)
	end, _ := standin.StartIdle(t, library, bystanders)
	return r.start(t, func(pid int) Span {
		pids := append(pids, fmt.Sprint(pid))
		return record(t, session.Configuration{PIDs: strings.Join(pids, " "), Output: dir}, func(said *messages) {
			time.Sleep(recorded)
			end()
			said.await(t, "from now on probes are made for every process")
			time.Sleep(recorded)
			standin.StartIdle(t, library, bystanders)
			said.await(t, "from now on probes are made for each process")
			time.Sleep(recorded)
		})
	})
}
