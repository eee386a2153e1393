package target

import "os"

// holdsCapability reports whether this process has the capability in its own user namespace.
func holdsCapability(capability uint) bool {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return false
	}
	status, err := parseStatus(text)
	return err == nil && status.EffectiveCapabilities>>capability&1 != 0
}
