package writer

import "strconv"

// Owner is the user and group that the dataset's files are given to.
type Owner struct {
	UID, GID int
}

// InvokingUser returns the user who ran sudo, as SUDO_UID and SUDO_GID tell, or nil where they do not. Only root can act for
// another user, so a program with another effective user id was not started by sudo: whatever it inherited, it gets nil.
func InvokingUser(euid int, getenv func(string) string) *Owner {
	if euid != 0 {
		return nil
	}
	uid, err := strconv.Atoi(getenv("SUDO_UID"))
	if err != nil || uid < 0 {
		return nil
	}
	gid, err := strconv.Atoi(getenv("SUDO_GID"))
	if err != nil || gid < 0 {
		return nil
	}
	return &Owner{UID: uid, GID: gid}
}
