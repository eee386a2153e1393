package target

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/identity"
)

// fileIdentity is the process's now. A program with the rights of several users (set-user-ID) is refused: whose its
// files are cannot be told.
func (p *Process) fileIdentity() (*identity.Identity, error) {
	text, err := p.readFile("status", maxStatusSize)
	if err != nil {
		return nil, err
	}
	found, err := parseFileIdentity(text)
	if err != nil || found.Capabilities == 0 {
		return found, err
	}
	own, err := os.Readlink("/proc/self/ns/user")
	if err != nil {
		return nil, err
	}
	if namespace, err := os.Readlink(p.finder.processPath(p.PID, "ns/user")); err != nil || namespace != own {
		found.Capabilities = 0
	}
	return found, nil
}

// parseFileIdentity reads /proc/PID/status. That a capability belongs to this program's user namespace it takes for
// granted. The identity of a process that may read all files may do so, and nothing else.
func parseFileIdentity(text []byte) (*identity.Identity, error) {
	lines := map[string][]string{}
	for line := range bytes.Lines(text) {
		if key, value, found := strings.Cut(string(line), ":"); found {
			lines[key] = strings.Fields(value)
		}
	}
	found := new(identity.Identity)
	for key, id := range map[string]*uint32{"Uid": &found.User, "Gid": &found.Group} {
		ids, err := parseIDs(lines[key])
		switch {
		case err != nil || len(ids) != 4: // real, effective, saved, file system
			return nil, fmt.Errorf("status: %s: %q", key, lines[key])
		case ids[0] != ids[1] || ids[0] != ids[2] || ids[0] != ids[3]:
			return nil, fmt.Errorf("%w: it has the rights of several users or groups (%s %s)", ErrNotRead, key, strings.Join(lines[key], " "))
		}
		*id = ids[0]
	}
	var err error
	if found.Groups, err = parseIDs(lines["Groups"]); err != nil {
		return nil, fmt.Errorf("status: Groups: %w", err)
	}
	status, err := parseStatus(text)
	const overrides = 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH
	if err != nil {
		return nil, err
	}
	if status.EffectiveCapabilities&overrides != 0 {
		found.Capabilities = 1 << unix.CAP_DAC_READ_SEARCH
	}
	return found, nil
}

func parseIDs(fields []string) ([]uint32, error) {
	var ids []uint32
	for _, field := range fields {
		id, err := strconv.ParseUint(field, 10, 32)
		if err != nil {
			return nil, err
		}
		ids = append(ids, uint32(id))
	}
	return ids, nil
}
