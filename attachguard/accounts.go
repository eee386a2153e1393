package attachguard

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/caret-bpf/caret-bpf/usernamespace"
)

// accounts tell who answers for a user. In a user namespace of somebody's there are as many users as he likes, each of
// whom could otherwise hold up attaching once more: he answers for all of them.
type accounts []subordinates

// subordinates are users that a namespace has beside those who are users outside of it.
type subordinates struct {
	first, count uint64
	account      uint32
}

func isRoot(user uint32) bool { return user == 0 }

// accountOf is who answers for a process of a user, which is given by its directory in /proc.
func accountOf(process string, user uint32) uint32 {
	namespace, err := usernamespace.Of(process)
	if err != nil {
		return user
	}
	return namespace.Payer(user, isRoot)
}

// accountsOf looks at the user namespaces of all processes.
func accountsOf(proc string) accounts {
	var all accounts
	own, err := os.Readlink("/proc/self/ns/user")
	if err != nil {
		return nil
	}
	seen := map[string]bool{own: true}
	for _, pid := range processes(proc) {
		process := filepath.Join(proc, strconv.Itoa(pid))
		link, err := os.Readlink(filepath.Join(process, "ns/user"))
		if err != nil || seen[link] {
			continue
		}
		seen[link] = true
		namespace, err := usernamespace.Of(process)
		text, readErr := os.ReadFile(filepath.Join(process, "uid_map"))
		if err == nil && readErr == nil && !namespace.Own {
			all = append(all, subordinatesIn(text, namespace.Payer(0, isRoot))...)
		}
	}
	return all
}

// subordinatesIn reads the lines "inside outside count" of /proc/PID/uid_map. Who is the same user outside is nobody's
// subordinate: services have namespaces of such users.
func subordinatesIn(text []byte, account uint32) (found []subordinates) {
	for line := range bytes.Lines(text) {
		var inside uint64
		s := subordinates{account: account}
		if _, err := fmt.Sscan(string(line), &inside, &s.first, &s.count); err == nil && inside != s.first {
			found = append(found, s)
		}
	}
	return found
}

// of is who answers for a user.
func (a accounts) of(user uint32) uint32 {
	for _, s := range a {
		if at := uint64(user); at >= s.first && at-s.first < s.count {
			return s.account
		}
	}
	return user
}
