// Package identity opens and makes files with the rights of a user, on threads that are used for nothing else.
package identity

import (
	"fmt"
	"os"
	"os/user"
	"strconv"

	"golang.org/x/sys/unix"
)

// Identity is by which a user may open, make and remove files, or not. A nil one is that of the program, with all its
// rights.
type Identity struct {
	// User, Group and Groups are IDs as this program sees them.
	User, Group uint32
	Groups      []uint32
	// Capabilities are those that count for files, as far as the program has them.
	Capabilities uint64
	// Origin is the variable of the environment that names the user; "" if there is none.
	Origin string
}

// allCapabilities are root's.
const allCapabilities = ^uint64(0)

// Caller is the identity of the user for whom a program with these real and effective user IDs runs: of who called sudo
// or pkexec, as the environment tells root, and only root; or the program's own, without its capabilities. It is nil
// where the program has no rights beside those of its user.
func Caller(real, effective int, getenv func(string) string) *Identity {
	switch {
	case effective == 0 && real == 0:
		return behindRoot(getenv)
	case effective == 0: // a set-user-ID program
		return own(real, os.Getgid())
	case !hasCapabilities():
		return nil
	}
	return own(effective, os.Getegid())
}

// behindRoot is the user who became root. If both tell, sudo was called last: pkexec clears the environment.
func behindRoot(getenv func(string) string) *Identity {
	const sudo, pkexec = "SUDO_UID", "PKEXEC_UID"
	if id, ok := parseID(getenv(sudo)); ok {
		if group, ok := parseID(getenv("SUDO_GID")); ok {
			return of(id, group, sudo)
		}
	}
	if id, ok := parseID(getenv(pkexec)); ok {
		if account := (&Identity{User: id}).Account(); account != nil {
			if group, ok := parseID(account.Gid); ok {
				return of(id, group, pkexec)
			}
		}
	}
	return nil
}

// parseID reads the ID of a user or a group. −1 is none: calls that change IDs take it for "as it was".
func parseID(text string) (uint32, bool) {
	id, err := strconv.ParseUint(text, 10, 32)
	return uint32(id), err == nil && id != 1<<32-1
}

// of is the identity of a user with the groups that the machine's files give him. A user whom they do not know has none
// beside his own.
func of(id, group uint32, origin string) *Identity {
	i := &Identity{User: id, Group: group, Origin: origin}
	if id == 0 {
		i.Capabilities = allCapabilities
	}
	account := i.Account()
	if account == nil {
		return i
	}
	names, _ := account.GroupIds()
	for _, name := range names {
		if group, ok := parseID(name); ok {
			i.Groups = append(i.Groups, group)
		}
	}
	return i
}

// own is that of a user whose groups the program has.
func own(id, group int) *Identity {
	i := &Identity{User: uint32(id), Group: uint32(group)}
	groups, _ := os.Getgroups()
	for _, group := range groups {
		i.Groups = append(i.Groups, uint32(group))
	}
	return i
}

// hasCapabilities tells whether the program may more than its user.
func hasCapabilities() bool {
	sets, err := capabilities()
	return err != nil || sets[0].Effective|sets[1].Effective != 0
}

// capabilities are those of the calling thread.
func capabilities() (sets [2]unix.CapUserData, err error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	err = unix.Capget(&header, &sets[0])
	return sets, err
}

// ID is the user's; that of the program for a nil Identity.
func (i *Identity) ID() int {
	if i == nil {
		return os.Geteuid()
	}
	return int(i.User)
}

// Account is what the machine's files know of the user, nil if nothing.
func (i *Identity) Account() *user.User {
	account, err := user.LookupId(strconv.Itoa(i.ID()))
	if err != nil {
		return nil
	}
	return account
}

// String names the user, and who says so.
func (i *Identity) String() string {
	text := fmt.Sprintf("UID %d", i.ID())
	if i != nil && i.Origin != "" {
		text += " of " + i.Origin
	}
	if account := i.Account(); account != nil {
		text = fmt.Sprintf("user %s (%s)", account.Username, text)
	}
	return text
}
