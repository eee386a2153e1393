package identity

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/osthread"
)

const (
	stranger = 54321
	caller   = 12345
	groupOne = 23456
	groupTwo = 34567
)

func requireRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: run the tests with sudo")
	}
}

// folder is a folder that everybody can reach.
func folder(t *testing.T, user, group int, mode os.FileMode) string {
	t.Helper()
	path := t.TempDir()
	if err := errors.Join(os.Chmod(filepath.Dir(path), 0o755), os.Chown(path, user, group), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
	return path
}

// What is made is the user's, and made only where the user may.
func TestRunMakesFilesAsTheUser(t *testing.T) {
	requireRoot(t)
	as := &Identity{User: caller, Group: groupOne, Groups: []uint32{groupTwo}, Origin: "SUDO_UID"}
	for name, test := range map[string]struct {
		user, group int
		mode        os.FileMode
		allowed     bool
	}{
		"the user's":               {caller, groupOne, 0o700, true},
		"the group's":              {0, groupOne, 0o770, true},
		"another group's":          {0, groupTwo, 0o770, true},
		"everybody's":              {0, 0, 0o777, true},
		"root's":                   {0, 0, 0o755, false},
		"root's group's":           {0, 0, 0o775, false},
		"the user's, not to write": {caller, groupOne, 0o500, false},
		"a stranger's":             {stranger, stranger, 0o755, false},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(folder(t, test.user, test.group, test.mode), "made")
			err := as.Run(func() error { return os.Mkdir(path, 0o700) })
			info, statError := os.Stat(path)
			if !test.allowed {
				if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "UID 12345 of SUDO_UID") || statError == nil {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil || statError != nil {
				t.Fatal(err, statError)
			}
			if stat := info.Sys().(*syscall.Stat_t); stat.Uid != caller || stat.Gid != groupOne {
				t.Errorf("it belongs to %d:%d", stat.Uid, stat.Gid)
			}
		})
	}
}

// Of the program's capabilities those count that the identity has, and no other.
func TestRunWithCapabilities(t *testing.T) {
	requireRoot(t)
	secret := filepath.Join(folder(t, 0, 0, 0o755), "secret")
	if err := os.WriteFile(secret, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for capabilities, want := range map[uint64][2]bool{
		0:                                {false, false},
		1 << unix.CAP_DAC_READ_SEARCH:    {true, false},
		1 << unix.CAP_DAC_OVERRIDE:       {true, true},
		1 << unix.CAP_CHECKPOINT_RESTORE: {false, false},
	} {
		as := &Identity{User: caller, Group: groupOne, Capabilities: capabilities}
		for i, flags := range []int{os.O_RDONLY, os.O_WRONLY} {
			err := as.Run(func() error {
				f, err := os.OpenFile(secret, flags, 0)
				if err == nil {
					_ = f.Close()
				}
				return err
			})
			if (err == nil) != want[i] {
				t.Errorf("with capabilities %#x, flags %#x: %v", capabilities, flags, err)
			}
		}
	}
}

// Whatever has run, on the main thread too, the program's threads have their identity in the end.
func TestNoThreadKeepsTheIdentity(t *testing.T) {
	requireRoot(t)
	as := &Identity{User: caller, Group: groupOne, Groups: []uint32{groupTwo}}
	for range 100 {
		if err := as.Run(func() error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan struct{})
	if err := as.Go(func() { close(ended) }); err != nil {
		t.Fatal(err)
	}
	<-ended
	// A thread ends some time after its function.
	for attempt := 0; ; attempt++ {
		users := usersOfThreads(t)
		if len(users) == 1 {
			return
		}
		if attempt == 1000 {
			t.Fatalf("threads of %q", users)
		}
		_ = unix.Nanosleep(&unix.Timespec{Nsec: 10e6}, nil)
	}
}

func usersOfThreads(t *testing.T) (users []string) {
	t.Helper()
	paths, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, _ := os.ReadFile(path) // it may have ended
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "Uid:") {
				users = append(users, line)
			}
		}
	}
	slices.Sort(users)
	return slices.Compact(users)
}

// Without the capabilities to take another user's identity the program acts for its own user only.
func TestIdentityWithoutCapabilities(t *testing.T) {
	requireRoot(t)
	failures := make(chan map[int]error)
	osthread.Go(func() {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var none [2]unix.CapUserData
		taken := map[int]error{}
		if err := unix.Capset(&header, &none[0]); err != nil {
			taken[stranger], taken[os.Geteuid()] = err, err
		} else {
			for _, user := range []int{stranger, os.Geteuid()} {
				taken[user] = (&Identity{User: uint32(user), Group: uint32(user)}).take()
			}
		}
		failures <- taken
	})
	taken := <-failures
	if err := taken[stranger]; !errors.Is(err, ErrNotTaken) {
		t.Errorf("another user's: %v", err)
	}
	if err := taken[os.Geteuid()]; err != nil {
		t.Errorf("its own user's: %v", err)
	}
}

func BenchmarkRun(b *testing.B) {
	if os.Geteuid() != 0 {
		b.Skip("needs root")
	}
	as := &Identity{User: caller, Group: groupOne}
	for b.Loop() {
		if err := as.Run(func() error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
