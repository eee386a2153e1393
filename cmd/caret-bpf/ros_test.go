package main

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/test/rosinstall"
)

// forEachROS runs a test with each ROS 2 in /opt/ros, for which the programs of testdata are built.
func forEachROS(t *testing.T, test func(t *testing.T, ros rosinstall.Installation)) {
	requireRecording(t)
	rosinstall.ForEach(t, func(t *testing.T, ros rosinstall.Installation) {
		if said, err := exec.Command("../../scripts/build-on-ros.sh").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		test(t, ros)
	})
}

// pipelineOn is the path of the tutorial's program for an installation, from the module's folder.
func pipelineOn(ros rosinstall.Installation) string {
	return filepath.Join("build", "on-ros", ros.Distro, "pipeline")
}

func variablesOf(ros rosinstall.Installation) (variables []string) {
	for name, value := range ros.Variables() {
		variables = append(variables, name+"="+value)
	}
	return variables
}

// What top shows beside a recording of real ROS 2 is what that records.
func TestROSTopInTmux(t *testing.T) {
	forEachROS(t, func(t *testing.T, ros rosinstall.Installation) {
		pipeline := exec.Command(filepath.Join("..", "..", pipelineOn(ros)))
		pipeline.Env = append(pipeline.Environ(), variablesOf(ros)...)
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
	forEachROS(t, func(t *testing.T, ros rosinstall.Installation) {
		if ros.RMW == "rmw_fastrtps_cpp" {
			t.Skip("the tutorial names the other one")
		}
		runTutorial(t, pipelineOn(ros), variablesOf(ros)...)
	})
}
