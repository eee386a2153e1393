package probes

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/distros"
	"github.com/caret-bpf/caret-bpf/target"
)

// TestPlanOfRealROS plans the probes of a talker of each distribution that is installed, with both RMW implementations.
func TestPlanOfRealROS(t *testing.T) {
	for distro, without := range map[distros.Distro][]abi.Event{
		distros.Humble: {
			abi.EventRclcppRingBufferDequeue, // executor_execute carries it
			abi.EventRclcppIPBToSubscription, abi.EventRclcppBufferToIPB, abi.EventRclcppConstructRingBuffer, abi.EventCallbackGroupToExecutorEntityCollector,
		},
		distros.Jazzy: {
			abi.EventRclcppCallbackRegister, abi.EventDDSBindAddrToStamp, abi.EventAddCallbackGroup, abi.EventAddCallbackGroupStaticExecutor,
			abi.EventExecutorExecute, // exceptions are seen being caught
		},
	} {
		for _, rmw := range []string{"rmw_fastrtps_cpp", "rmw_cyclonedds_cpp"} {
			for _, suffix := range []string{"", "-stripped"} {
				prefix := "/opt/ros/" + string(distro) + suffix
				t.Run(filepath.Base(prefix)+"/"+rmw, func(t *testing.T) {
					process := startTalker(t, prefix, rmw)
					if process.Distro != distro || process.RMW != rmw {
						t.Fatalf("taken for %v with %s: %s", process.Distro, process.RMW, process.DistroEvidence)
					}
					plan, err := NewPlan(t.Context(), process, Options{Profile: ProfileFull})
					if err != nil {
						t.Fatal(err)
					}
					var want []abi.Event
					for _, entry := range catalogue {
						if !slices.Contains(without, entry.Event) {
							want = append(want, entry.Event)
						}
					}
					if got := eventsOf(plan.Sites); !slices.Equal(got, want) {
						t.Errorf("sites of %v\nwant     %v\nmissing  %v", got, want, missingOf(plan))
					}
					for _, site := range plan.Sites {
						t.Logf("%s: %s in %s at %#x, %s", site.Event, site.Symbol, site.Library, site.Offset, site.Class)
						if strings.Contains(site.Library, "librmw_") {
							t.Errorf("%s in %s", site.Event, site.Library)
						}
						answers := site.Event == abi.EventRequestTaken || site.Event == abi.EventResponseTaken
						if answers && (site.Form > 0) != (site.Parameter > 0) {
							t.Errorf("%s: whether anything was taken is at %d", site.Event, site.Parameter)
						}
					}
				})
			}
		}
	}
}

// TestPlanOfStandIn plans the probes of the bundled stand-in, which uses the DDS libraries of the system.
func TestPlanOfStandIn(t *testing.T) {
	type place struct {
		form      abi.Form
		parameter uint16
	}
	fastDDS := map[string]place{
		"libfastrtps.so.2.9": {abi.FormFastDDS, 108},
		"libfastdds.so.3.1":  {abi.FormFastDDS, 124},
	}
	cycloneDDS := map[string]place{"libddsc.so.0debian": {abi.FormCycloneDDSWrite, 0}}
	for _, test := range []struct {
		build string
		rmw   string
		// stamps are where the DDS library shows the timestamp, by its soname; nil if rmw_publish carries it.
		stamps map[string]place
	}{
		{"humble", "rmw_fastrtps_cpp", fastDDS},
		{"humble-stripped", "rmw_fastrtps_cpp", fastDDS},
		{"humble-stripped", "rmw_cyclonedds_cpp", cycloneDDS},
		{"jazzy", "rmw_fastrtps_cpp", nil},
		{"jazzy-stripped", "rmw_cyclonedds_cpp", nil},
	} {
		t.Run(test.build+"/"+test.rmw, func(t *testing.T) {
			program := filepath.Join("..", "build", "testdata", test.build, "ros_node")
			if _, err := os.Stat(program); err != nil {
				t.Skipf("the stand-in is not built (make -C testdata): %v", err)
			}
			plan, err := NewPlan(t.Context(), startProgram(t, test.rmw, program, "--domain", "74"), Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, site := range plan.Sites {
				if answers := site.Event == abi.EventRequestTaken || site.Event == abi.EventResponseTaken; answers && (site.Form > 0) != (site.Parameter > 0) {
					t.Errorf("%s: whether anything was taken is at %d", site.Event, site.Parameter)
				}
			}
			if test.stamps == nil {
				if slices.Contains(eventsOf(plan.Sites), abi.EventDDSBindAddrToStamp) {
					t.Error("a probe in the DDS library, though rmw_publish carries the timestamp")
				}
				return
			}
			site := siteOf(t, plan, abi.EventDDSBindAddrToStamp)
			if want, known := test.stamps[site.Library]; !known || want != (place{site.Form, site.Parameter}) || !site.LastLayer {
				t.Errorf("stamp at %+v", site)
			}
		})
	}
}

// startTalker runs demo_nodes_cpp's talker from an installation until the test ends, and returns it when it talks.
func startTalker(t *testing.T, prefix, rmw string) *target.Process {
	t.Helper()
	if _, err := os.Stat(filepath.Join(prefix, "READY")); err != nil {
		t.Skipf("no ROS 2 in %s", prefix)
	}
	return startProgram(t, rmw, "bash", "-c", `source "$0/setup.bash" && exec "$0/lib/demo_nodes_cpp/talker"`, prefix)
}

// startProgram runs a program until the test ends, and returns it when it has loaded its RMW implementation with all
// that belongs to it.
func startProgram(t *testing.T, rmw, name string, arguments ...string) *target.Process {
	t.Helper()
	command := exec.Command(name, arguments...)
	command.Env = append(os.Environ(), "RMW_IMPLEMENTATION="+rmw, "ROS_LOCALHOST_ONLY=1", "ROS_DOMAIN_ID=71")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := command.Process.Signal(syscall.SIGINT); err != nil {
			t.Error(err)
		}
		if err := command.Wait(); err != nil {
			t.Logf("%s: %v", name, err)
		}
	})
	finder := target.NewFinder()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		process, err := finder.Open(t.Context(), int32(command.Process.Pid))
		if err != nil {
			continue // the shell, or a program that is being linked
		}
		usesDDS := slices.ContainsFunc([]string{"libfastrtps.so", "libfastdds.so", "libddsc.so"}, func(library string) bool {
			_, mapped := process.FindModule(library)
			return mapped
		})
		if process.RMW != "" && usesDDS {
			t.Cleanup(func() { process.Close() })
			return process
		}
		process.Close()
	}
	t.Fatalf("%s did not map an RMW implementation", name)
	return nil
}
