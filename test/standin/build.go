// Package standin builds and runs the ROS-shaped programs of testdata for tests.
package standin

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
)

// The distributions and rmw implementations that the stand-ins imitate.
const (
	Humble = "humble"
	Jazzy  = "jazzy"

	FastDDS    = "rmw_fastrtps_cpp"
	CycloneDDS = "rmw_cyclonedds_cpp"
)

// Distros and RMWs list what tests usually run through.
func Distros() []string { return []string{Humble, Jazzy} }

// RMWs lists the rmw implementations; see Distros.
func RMWs() []string { return []string{FastDDS, CycloneDDS} }

// buildOnce keeps a test binary from running make more than once.
var buildOnce = sync.OnceValues(build)

// Directory builds the stand-ins if need be and returns the directory of one distribution's programs and
// libraries. Test binaries that run at the same time wait for each other. A failed build fails the test.
// Where nothing can be built (no make, no compiler, a read-only tree) what is there is taken as it is.
func Directory(tb testing.TB, distro string, stripped bool) string {
	tb.Helper()
	output, err := buildOnce()
	if err != nil {
		tb.Fatalf("building the stand-ins: %v", err)
	}
	if stripped {
		distro += "-stripped"
	}
	return filepath.Join(output, distro)
}

func build() (string, error) {
	_, self, _, _ := runtime.Caller(0)
	root := filepath.Dir(filepath.Dir(filepath.Dir(self)))
	sources := filepath.Join(root, "testdata")
	output := filepath.Join(root, "build", "testdata")
	unlock, err := prepare(output)
	if err != nil {
		if _, missing := os.Stat(filepath.Join(output, Jazzy, "ros_node")); missing == nil {
			return output, nil
		}
		return "", err
	}
	defer unlock()
	jobs := fmt.Sprintf("-j%d", runtime.NumCPU())
	text, err := exec.Command("make", "-C", sources, jobs).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("make: %w\n%s", err, text)
	}
	return output, nil
}

// prepare makes sure that something can be built into a directory, and that nobody else does.
func prepare(output string) (unlock func(), err error) {
	for _, tool := range []string{"make", "gcc", "g++"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(output, 0o755); err != nil {
		return nil, err
	}
	return lock(filepath.Join(output, ".lock"))
}

// lock takes an advisory lock on a file, which it creates.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		file.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { file.Close() }, nil
}
