package target

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fileIdentity is by which a process may open files or not.
type fileIdentity struct {
	// user, group and groups are IDs as this program sees them, whatever user namespace the process is in.
	user, group uint32
	groups      []uint32
	// readsAll: the process may read all files, by a capability that counts here.
	readsAll bool
}

// errNoIdentity: this program cannot open files as another user.
var errNoIdentity = fmt.Errorf("%w: opening them with the rights of its user needs CAP_SETUID and CAP_SETGID", ErrNotRead)

// fileIdentity is the process's now. A program with the rights of several users (set-user-ID) is refused: whose its files are cannot be told.
func (p *Process) fileIdentity() (fileIdentity, error) {
	text, err := p.readFile("status", maxStatusSize)
	if err != nil {
		return fileIdentity{}, err
	}
	identity, err := parseFileIdentity(text)
	if err != nil || !identity.readsAll {
		return identity, err
	}
	own, err := os.Readlink("/proc/self/ns/user")
	if err != nil {
		return fileIdentity{}, err
	}
	namespace, err := os.Readlink(p.finder.processPath(p.PID, "ns/user"))
	identity.readsAll = err == nil && namespace == own
	return identity, nil
}

// parseFileIdentity reads /proc/PID/status. That a capability belongs to this program's user namespace it takes for granted.
func parseFileIdentity(text []byte) (fileIdentity, error) {
	lines := map[string][]string{}
	for line := range bytes.Lines(text) {
		if key, value, found := strings.Cut(string(line), ":"); found {
			lines[key] = strings.Fields(value)
		}
	}
	var identity fileIdentity
	for key, id := range map[string]*uint32{"Uid": &identity.user, "Gid": &identity.group} {
		ids, err := parseIDs(lines[key])
		switch {
		case err != nil || len(ids) != 4: // real, effective, saved, file system
			return fileIdentity{}, fmt.Errorf("status: %s: %q", key, lines[key])
		case ids[0] != ids[1] || ids[0] != ids[2] || ids[0] != ids[3]:
			return fileIdentity{}, fmt.Errorf("%w: it has the rights of several users or groups (%s %s)", ErrNotRead, key, strings.Join(lines[key], " "))
		}
		*id = ids[0]
	}
	var err error
	if identity.groups, err = parseIDs(lines["Groups"]); err != nil {
		return fileIdentity{}, fmt.Errorf("status: Groups: %w", err)
	}
	status, err := parseStatus(text)
	const overrides = 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH
	identity.readsAll = status.EffectiveCapabilities&overrides != 0
	return identity, err
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

// take makes the identity that of the calling thread, for opening files and for nothing else. The thread keeps no capability but perhaps that
// to read all files. There is no way back: the thread must end.
func (i fileIdentity) take() error {
	if err := i.become(); err != nil && i.user != uint32(os.Geteuid()) {
		return fmt.Errorf("%w: %w", errNoIdentity, err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	sets[0].Effective, sets[1].Effective = 0, 0
	if i.readsAll {
		sets[0].Effective = sets[0].Permitted & (1 << unix.CAP_DAC_READ_SEARCH)
	}
	if err := unix.Capset(&header, &sets[0]); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	return nil
}

// become takes the IDs. The functions of the standard library would take them for all threads.
func (i fileIdentity) become() error {
	if _, _, err := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(i.groups)), uintptr(unsafe.Pointer(unsafe.SliceData(i.groups))), 0); err != 0 {
		return fmt.Errorf("groups: %w", err)
	}
	if err := setID(unix.SetfsgidRetGid, i.group); err != nil {
		return fmt.Errorf("group: %w", err)
	}
	if err := setID(unix.SetfsuidRetUid, i.user); err != nil {
		return fmt.Errorf("user: %w", err)
	}
	return nil
}

// setID calls setfsgid or setfsuid. They return what was before, and no error; called with what is no ID they only return what is.
func setID(set func(int) (int, error), id uint32) error {
	const noID = -1
	if _, err := set(int(id)); err != nil {
		return err
	}
	if now, err := set(noID); err != nil || uint32(now) != id {
		return unix.EPERM
	}
	return nil
}
