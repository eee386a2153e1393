package usernamespace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/test/otheruser"
)

func numberOf(t *testing.T, process string) uint32 {
	t.Helper()
	link, err := os.Readlink(filepath.Join(process, "ns/user"))
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.ParseUint(strings.Trim(link, "user:[]"), 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(number)
}

func TestOf(t *testing.T) {
	if got, err := Of("/proc/self"); got != (Namespace{Own: true}) || err != nil {
		t.Errorf("this program: %+v, %v", got, err)
	}
	if _, err := Of(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no process: %v", err)
	}
	const user = 4242
	for name, test := range map[string]struct {
		user      uint32
		arguments []string
		nested    bool
	}{
		"a user's":    {user, []string{"unshare", "--user", "--map-root-user"}, false},
		"root's":      {0, []string{"unshare", "--user", "--map-root-user"}, false},
		"in a user's": {user, []string{"unshare", "--user", "--map-root-user", "unshare", "--user", "--map-root-user"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			process := fmt.Sprintf("/proc/%d", otheruser.Start(t, test.user, test.arguments...))
			got, err := Of(process)
			if err != nil || got.Own || got.Creator != test.user || (got.Number == numberOf(t, process)) == test.nested {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestPayer(t *testing.T) {
	const user, subordinate, number = 1000, 100000, 4026532123
	trusts := func(user uint32) bool { return user == 0 }
	for name, test := range map[string]struct {
		namespace Namespace
		want      uint32
	}{
		"this program's": {Namespace{Own: true}, subordinate},
		"a user's":       {Namespace{Number: number, Creator: user}, user},
		"root's":         {Namespace{Number: number}, number},
	} {
		if got := test.namespace.Payer(subordinate, trusts); got != test.want {
			t.Errorf("%s: %d", name, got)
		}
	}
}
