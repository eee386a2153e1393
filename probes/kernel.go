package probes

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/elffile"
)

// runningKernel returns the version of the kernel, the zero value if it cannot be told.
func runningKernel() elffile.KernelVersion {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return elffile.KernelVersion{}
	}
	return parseKernelVersion(unix.ByteSliceToString(name.Release[:]))
}

// parseKernelVersion reads the beginning of a release such as "6.12.31-rt10".
func parseKernelVersion(release string) (version elffile.KernelVersion) {
	if _, err := fmt.Sscanf(release, "%d.%d", &version.Major, &version.Minor); err != nil {
		return elffile.KernelVersion{}
	}
	return version
}
