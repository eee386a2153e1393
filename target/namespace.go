package target

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// initialPIDNamespace is PROC_PID_INIT_INO, the inode number of the first PID namespace on every kernel.
const initialPIDNamespace = 0xEFFFFFFC

// InInitialPIDNamespace reports whether this program runs in the host's PID namespace. Elsewhere the PIDs that the
// kernel reports in records are not those that this program sees, so nothing can be matched.
func InInitialPIDNamespace() (bool, error) {
	link, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return false, err
	}
	inode, err := parseNamespaceLink(link)
	return inode == initialPIDNamespace, err
}

// parseNamespaceLink reads the inode number out of "pid:[4026531836]".
func parseNamespaceLink(link string) (uint64, error) {
	_, rest, found := strings.Cut(link, ":[")
	number, closed := strings.CutSuffix(rest, "]")
	if !found || !closed {
		return 0, fmt.Errorf("namespace link %.100q", link)
	}
	return strconv.ParseUint(number, 10, 64)
}
