package attachguard

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/test/otheruser"
)

// Whoever has 65,536 subordinate users is one, as soon as they are in a user namespace of his.
func TestSubordinateUsersAreOne(t *testing.T) {
	const creator, first, stranger = 4242, 700_000, 800_000
	process := fmt.Sprintf("/proc/%d", otheruser.Start(t, creator, "unshare", "--user"))
	if err := os.WriteFile(process+"/uid_map", fmt.Appendf(nil, "0 %d 65536", first), 0); err != nil {
		t.Fatal(err)
	}
	w := watch{accounts: accountsOf("/proc"), ended: map[uint32]bool{creator: true}, waiting: map[string]time.Time{"a thread": {}}}
	for user, want := range map[uint32]uint32{first: creator, first + 65535: creator, first + 65536: first + 65536, stranger: stranger, creator: creator} {
		if got := w.accounts.of(user); got != want {
			t.Errorf("%d answers for user %d", got, user)
		}
	}
	if got := accountOf(process, first+7); got != creator {
		t.Errorf("%d answers for a process in the namespace", got)
	}
	// He has held up attaching before, as another one of them.
	none := holder{}
	if len(w.overdue(none, []connection{{owner: first + 7}})) != 1 || len(w.overdue(none, []connection{{owner: stranger}})) != 0 {
		t.Error("he is given time again, or a stranger none")
	}
}

func TestSubordinatesIn(t *testing.T) {
	text := "         0       1000          1\n         1     100000      65536\n      2000       2000         10\nx\n"
	want := []subordinates{{1000, 1, 7}, {100000, 65536, 7}}
	if got := subordinatesIn([]byte(text), 7); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}
