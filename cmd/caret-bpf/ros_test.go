package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/test/standin"
)

// installedROS is ROS 2 in /opt/ros, for which the programs of testdata were built.
type installedROS struct{ distro, rmw string }

func forEachROS(t *testing.T, test func(t *testing.T, ros installedROS)) {
	requireRecording(t)
	for _, distro := range []string{"humble", "jazzy"} {
		for _, rmw := range []string{"rmw_fastrtps_cpp", "rmw_cyclonedds_cpp"} {
			t.Run(distro+"_"+rmw, func(t *testing.T) {
				ros := installedROS{distro, rmw}
				if _, err := os.Stat(filepath.Join(ros.prefix(), "lib", "lib"+rmw+".so")); err != nil {
					if os.Getenv("CARET_BPF_REQUIRE_ROS") != "" {
						t.Fatalf("ROS 2 %s with %s is not installed in /opt/ros", distro, rmw)
					}
					t.Skipf("ROS 2 %s with %s is not installed in /opt/ros", distro, rmw)
				}
				if said, err := exec.Command("../../scripts/build-on-ros.sh").CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, said)
				}
				test(t, ros)
			})
		}
	}
}

func (ros installedROS) prefix() string { return filepath.Join("/opt/ros", ros.distro) }

// program is the path of a program of testdata, from the module's folder.
func (ros installedROS) program(name string) string {
	return filepath.Join("build", "on-ros", ros.distro, name)
}

func (ros installedROS) variables() []string {
	return []string{
		"LD_LIBRARY_PATH=" + filepath.Join(ros.prefix(), "lib"), "AMENT_PREFIX_PATH=" + ros.prefix(),
		"ROS_DISTRO=" + ros.distro, "RMW_IMPLEMENTATION=" + ros.rmw,
		"ROS_LOCALHOST_ONLY=1", "ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST",
	}
}

func (ros installedROS) command(t *testing.T, name string) *exec.Cmd {
	t.Helper()
	c := exec.Command(filepath.Join("..", "..", ros.program(name)))
	c.Env = append(c.Environ(), append(ros.variables(), fmt.Sprintf("ROS_DOMAIN_ID=%d", standin.Domain(t)))...)
	return c
}

// What top shows beside a recording of real ROS 2 is what that records.
func TestROSTopInTmux(t *testing.T) {
	forEachROS(t, func(t *testing.T, ros installedROS) {
		pipeline := ros.command(t, "pipeline")
		if err := pipeline.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = pipeline.Process.Kill()
			_ = pipeline.Wait()
		})
		time.Sleep(3 * time.Second) // until all of its ten nodes have found each other
		topShowsWhatIsRecorded(t, pipeline.Process.Pid)
	})
}

// The tutorial's commands do the same with real ROS 2.
func TestROSTutorial(t *testing.T) {
	forEachROS(t, func(t *testing.T, ros installedROS) {
		if ros.rmw == "rmw_fastrtps_cpp" {
			t.Skip("the tutorial names the other one")
		}
		runTutorial(t, ros.program("pipeline"), ros.variables()...)
	})
}
