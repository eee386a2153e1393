// Package rosinstall finds the ROS 2 installations under /opt/ros, for tests that want real ones.
package rosinstall

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/caret-bpf/caret-bpf/test/standin"
)

// Installation is an installed distribution with an RMW implementation.
type Installation struct {
	Distro, RMW string
	// Prefix is where it is: a copy with stripped libraries (/opt/ros/DISTRO-stripped) if there is one, since that is
	// what users have.
	Prefix string
	// Domain is a DDS domain that no other test uses meanwhile.
	Domain int
}

// ForEach runs a test with each distribution and RMW implementation. One that is not installed is skipped, or fails
// where CARET_BPF_REQUIRE_ROS is set.
func ForEach(t *testing.T, test func(t *testing.T, ros Installation)) {
	for _, distro := range []string{"humble", "jazzy"} {
		for _, rmw := range []string{"rmw_fastrtps_cpp", "rmw_cyclonedds_cpp"} {
			t.Run(distro+"_"+rmw, func(t *testing.T) {
				prefix := "/opt/ros/" + distro + "-stripped"
				if _, err := os.Stat(prefix); err != nil {
					prefix = "/opt/ros/" + distro
				}
				if _, err := os.Stat(filepath.Join(prefix, "lib", "lib"+rmw+".so")); err != nil {
					if os.Getenv("CARET_BPF_REQUIRE_ROS") != "" {
						t.Fatalf("ROS 2 %s with %s is not installed in /opt/ros", distro, rmw)
					}
					t.Skipf("ROS 2 %s with %s is not installed in /opt/ros", distro, rmw)
				}
				test(t, Installation{distro, rmw, prefix, standin.Domain(t)})
			})
		}
	}
}

// Variables are those of the environment by which programs of the installation run.
func (i Installation) Variables() map[string]string {
	return map[string]string{
		"LD_LIBRARY_PATH": i.Prefix + "/lib", "AMENT_PREFIX_PATH": i.Prefix, "RMW_IMPLEMENTATION": i.RMW,
		"ROS_DOMAIN_ID": strconv.Itoa(i.Domain), "ROS_LOCALHOST_ONLY": "1", "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
	}
}
