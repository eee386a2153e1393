package identity

import (
	"os"
	"os/user"
	"testing"
)

// Whatever the environment says: only root acts for another user, and not the user who became root by a set-user-ID
// file.
func TestCaller(t *testing.T) {
	const nobody = "65534"
	account, err := user.LookupId(nobody)
	if err != nil {
		t.Skip(err)
	}
	variables := func(sudoUser, sudoGroup, pkexec string) map[string]string {
		return map[string]string{"SUDO_UID": sudoUser, "SUDO_GID": sudoGroup, "PKEXEC_UID": pkexec}
	}
	for name, test := range map[string]struct {
		real, effective int
		environment     map[string]string
		user, group     int // -1: nobody but the program itself
		origin          string
		capabilities    uint64
	}{
		"sudo":                      {0, 0, variables("1000", "1001", ""), 1000, 1001, "SUDO_UID", 0},
		"sudo of root":              {0, 0, variables("0", "0", ""), 0, 0, "SUDO_UID", allCapabilities},
		"root":                      {0, 0, nil, -1, 0, "", 0},
		"sudo without a group":      {0, 0, variables("1000", "", ""), -1, 0, "", 0},
		"a name":                    {0, 0, variables("alice", "1000", ""), -1, 0, "", 0},
		"a negative number":         {0, 0, variables("-1", "1000", ""), -1, 0, "", 0},
		"no ID":                     {0, 0, variables("4294967295", "1000", ""), -1, 0, "", 0},
		"a long number":             {0, 0, variables("4294968296", "1000", ""), -1, 0, "", 0},
		"pkexec":                    {0, 0, variables("", "", nobody), 65534, number(t, account.Gid), "PKEXEC_UID", 0},
		"pkexec, and sudo later":    {0, 0, variables("1000", "1001", nobody), 1000, 1001, "SUDO_UID", 0},
		"pkexec of nobody known":    {0, 0, variables("", "", "3999999999"), -1, 0, "", 0},
		"a user, after sudo":        {1000, 1000, variables("1001", "1001", "1001"), 1000, os.Getegid(), "", 0},
		"a set-user-ID program":     {1000, 0, variables("1001", "1001", "1001"), 1000, os.Getgid(), "", 0},
		"root, with another's file": {0, 1000, variables("1001", "1001", ""), 1000, os.Getegid(), "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			if test.effective != 0 && !hasCapabilities() {
				t.Skip("without capabilities there is nothing to give up")
			}
			i := Caller(test.real, test.effective, func(name string) string { return test.environment[name] })
			if i == nil || test.user < 0 {
				if i != nil || test.user >= 0 {
					t.Errorf("%+v", i)
				}
				return
			}
			if int(i.User) != test.user || int(i.Group) != test.group || i.Origin != test.origin || i.Capabilities != test.capabilities {
				t.Errorf("%+v", i)
			}
		})
	}
}

func number(t *testing.T, id string) int {
	t.Helper()
	value, ok := parseID(id)
	if !ok {
		t.Fatal(id)
	}
	return int(value)
}

// A user's groups are those of the machine's files, whatever groups root has.
func TestGroupsOfTheCaller(t *testing.T) {
	i := of(0, 7, "SUDO_UID")
	account, err := user.LookupId("0")
	if err != nil {
		t.Skip(err)
	}
	names, err := account.GroupIds()
	if err != nil || len(i.Groups) != len(names) {
		t.Errorf("%v, the machine says %v, %v", i.Groups, names, err)
	}
	if i := of(3999999999, 7, "SUDO_UID"); i.Group != 7 || len(i.Groups) != 0 {
		t.Errorf("of a user who is not known: %+v", i)
	}
}
