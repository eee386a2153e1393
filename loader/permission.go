package loader

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// capability is a Linux capability (capabilities(7)).
type capability struct {
	number int
	name   string
	// partOfSysAdmin: whoever has CAP_SYS_ADMIN may do the same.
	partOfSysAdmin bool
}

var (
	capDACOverride       = capability{unix.CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE", false}
	capSysPtrace         = capability{unix.CAP_SYS_PTRACE, "CAP_SYS_PTRACE", false}
	capSysResource       = capability{unix.CAP_SYS_RESOURCE, "CAP_SYS_RESOURCE", false}
	capPerfmon           = capability{unix.CAP_PERFMON, "CAP_PERFMON", true}
	capBPF               = capability{unix.CAP_BPF, "CAP_BPF", true}
	capCheckpointRestore = capability{unix.CAP_CHECKPOINT_RESTORE, "CAP_CHECKPOINT_RESTORE", true}
)

// effectiveCapabilities returns the bit set of the calling thread's effective capabilities.
func effectiveCapabilities() (uint64, error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return 0, err
	}
	return uint64(data[1].Effective)<<32 | uint64(data[0].Effective), nil
}

// missingCapabilities returns those of needed that effective lacks.
func missingCapabilities(effective uint64, needed []capability) []capability {
	has := func(number int) bool { return effective&(1<<number) != 0 }
	var missing []capability
	for _, c := range needed {
		if has(c.number) || c.partOfSysAdmin && has(unix.CAP_SYS_ADMIN) {
			continue
		}
		missing = append(missing, c)
	}
	return missing
}

// permissionError explains a refusal of the kernel: which capability is missing, or what else refuses although all are
// there.
func permissionError(action string, cause error, needed ...capability) error {
	effective, err := effectiveCapabilities()
	if err != nil {
		return fmt.Errorf("%s: %w: %w", action, ErrPermission, cause)
	}
	if missing := missingCapabilities(effective, needed); len(missing) > 0 {
		names := make([]string, len(missing))
		for i, c := range missing {
			names[i] = c.name
		}
		return fmt.Errorf("%s: %w: %s missing (%w); run with sudo", action, ErrPermission, strings.Join(names, " and "), cause)
	}
	switch {
	case inUserNamespace():
		return fmt.Errorf("%s: %w: root of a user namespace is not enough (%w); run as root of the host",
			action, ErrPermission, cause)
	case lockdownMode() != "none":
		return fmt.Errorf("%s: %w: the kernel is locked down (mode %s, %w); see kernel_lockdown(7)",
			action, ErrPermission, lockdownMode(), cause)
	}
	return fmt.Errorf("%s: %w although no capability is missing (%w); a security module or seccomp filter may forbid it",
		action, ErrPermission, cause)
}

// perfPermissionError explains why perf_event_open was refused. Kernels of distributions (as Debian's) have levels of
// kernel.perf_event_paranoid above 2, on which CAP_PERFMON is not enough.
func perfPermissionError(cause error) error {
	const action, most = "perf_event_open", 2
	effective, err := effectiveCapabilities()
	text, levelError := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
	level, parseError := strconv.Atoi(strings.TrimSpace(string(text)))
	if errors.Join(err, levelError, parseError) != nil || level <= most ||
		len(missingCapabilities(effective, []capability{capPerfmon})) > 0 || effective&(1<<unix.CAP_SYS_ADMIN) != 0 {
		return permissionError(action, cause, capPerfmon)
	}
	return fmt.Errorf("%s: %w: CAP_SYS_ADMIN missing, which this kernel asks for because kernel.perf_event_paranoid is %d (%w); "+
		"set that to %d, or run with sudo", action, ErrPermission, level, cause, most)
}

// isPermission reports whether the kernel refused for want of privileges. The verifier's own rejections are EACCES too:
// they are to be recognised before.
func isPermission(err error) bool {
	return errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES)
}

// inUserNamespace reports whether user ids are mapped, so that capabilities do not count for the whole machine.
func inUserNamespace() bool {
	uidMap, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return false
	}
	return !bytes.Equal(bytes.Join(bytes.Fields(uidMap), []byte(" ")), []byte("0 0 4294967295"))
}

// lockdownMode returns the kernel's lockdown mode, "none" where it has no such thing.
func lockdownMode() string {
	modes, err := os.ReadFile("/sys/kernel/security/lockdown")
	if err != nil {
		return "none"
	}
	return selectedMode(string(modes))
}

// selectedMode returns the bracketed word of a line like "none [integrity] confidentiality".
func selectedMode(modes string) string {
	_, rest, found := strings.Cut(modes, "[")
	if !found {
		return "none"
	}
	mode, _, found := strings.Cut(rest, "]")
	if !found {
		return "none"
	}
	return mode
}
