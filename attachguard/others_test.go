package attachguard

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/test/fuse"
)

// victim is a user who has done nothing.
const victim = 1000

// mountAsked mounts a file system of another user's who answers everything, and has it asked for something all the
// time, as anybody may.
func mountAsked(t *testing.T) (file string) {
	t.Helper()
	const askers = 4
	file, _ = fuse.Mount(t, fuse.Options{Owner: victim, Slow: 100 * time.Millisecond})
	if err := os.Chmod(filepath.Dir(filepath.Dir(file)), 0o755); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var asking sync.WaitGroup
	for range askers {
		asking.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				var stat unix.Stat_t
				if unix.Stat(file, &stat) != nil {
					return
				}
			}
		})
	}
	t.Cleanup(func() {
		close(stop)
		asking.Wait()
	})
	return file
}

func isEnded(file string) bool {
	var stat unix.Stat_t
	return errors.Is(unix.Stat(file, &stat), unix.ENOTCONN)
}

// Who keeps his map maps a file of somebody else's as well, who answers everything.
func TestFileSystemsOfOthersAreLeft(t *testing.T) {
	library := writeLibrary(t)
	fuse.Repeat(t, func() error {
		healthy := mountAsked(t)
		var holder int
		told := attachBeside(t, library, func() { holder = fuse.LockMap(t, library, user, healthy) })
		if slices.ContainsFunc(told, func(line string) bool { return strings.Contains(line, fmt.Sprintf("of user %d ", victim)) }) {
			t.Fatalf("the connection of a bystander was ended: %q", told)
		}
		if isEnded(healthy) {
			return errors.New("the guard of another version has ended the connection of a bystander")
		}
		if len(told) != 1 || !strings.Contains(told[0], fmt.Sprintf("PID %d ", holder)) {
			return fmt.Errorf("told: %q", told)
		}
		return nil
	})
}

// A process waits for a file system of another user's, which does not answer. It is let go, and so is the next one.
func TestFileSystemsOfOthersThatDoNotAnswer(t *testing.T) {
	if !areMapsShown(t) {
		t.Skip("this kernel does not show what a process maps that keeps its map")
	}
	library := writeLibrary(t)
	fuse.Repeat(t, func() error {
		var holders []int
		told := attachBeside(t, library, func() {
			holders = []int{fuse.LockMapBy(t, library, user, user-1), fuse.LockMapBy(t, library, user-2, user-1)}
		})
		for _, holder := range holders {
			want := func(line string) bool {
				return strings.Contains(line, fmt.Sprintf("PID %d ", holder)) && strings.Contains(line, fmt.Sprintf("of user %d ", user-1))
			}
			if !slices.ContainsFunc(told, want) {
				return fmt.Errorf("of PID %d nothing is told: %q", holder, told)
			}
		}
		return nil
	})
}
