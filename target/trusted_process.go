package target

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/caret-bpf/caret-bpf/usernamespace"
)

// IsTrusted reports whether the process has the rights of users whom the Finder trusts, and of no others, in this
// program's user namespace. In one that root has made for a container, root's rights are a stranger's.
func (p *Process) IsTrusted() bool {
	namespace, err := usernamespace.Of(p.finder.processPath(p.PID, ""))
	if err != nil || !namespace.Own {
		return false
	}
	text, err := p.readFile("status", maxStatusSize)
	if err != nil {
		return false
	}
	users, err := userIDs(text)
	isStranger := func(user uint32) bool { return !p.finder.trusts(user) }
	return err == nil && !slices.ContainsFunc(users, isStranger) && p.Alive() // its PID was its own meanwhile
}

// userIDs are the real, effective, saved and file system users of a process, by the text of its status.
func userIDs(status []byte) ([]uint32, error) {
	for line := range bytes.Lines(status) {
		if value, found := strings.CutPrefix(string(line), "Uid:"); found {
			ids, err := parseIDs(strings.Fields(value))
			if err == nil && len(ids) > 0 {
				return ids, nil
			}
		}
	}
	return nil, fmt.Errorf("status without Uid")
}
