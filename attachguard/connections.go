package attachguard

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// connections are the kernel's connections to the programs that answer for file systems (fusectl,
// Documentation/filesystems/fuse). Each is named by the minor number of its file system's device.
type connections struct{ root *os.Root }

type connection struct {
	id     string
	device uint64
	owner  uint32 // who has mounted the file system
}

// mayBeEnded reports whether the connection is one of a user's. What root has mounted, root answers for.
func (c connection) mayBeEnded() bool { return c.owner != 0 }

// openConnections mounts fusectl where nobody else sees it: it is not mounted everywhere.
func openConnections() (connections, error) {
	context, err := unix.Fsopen("fusectl", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return connections{}, fmt.Errorf("fsopen: %w", err)
	}
	defer unix.Close(context)
	if err := unix.FsconfigCreate(context); err != nil {
		return connections{}, fmt.Errorf("fsconfig: %w", err)
	}
	mount, err := unix.Fsmount(context, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return connections{}, fmt.Errorf("fsmount: %w", err)
	}
	defer unix.Close(mount)
	root, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", mount))
	return connections{root}, err
}

func (c connections) close() { _ = c.root.Close() }

// How often connections are looked at to tell whether one has requests all the time. What is answered before long, and
// not asked for by many at once, is not seen so often.
const (
	samples        = 20
	sampleInterval = 5 * time.Millisecond
)

// requests are the connections that have requests which were not answered yet, and of them those that have some all the
// time.
func (c connections) requests() (asked, hanging []string) {
	seen := map[string]int{}
	for i := range samples {
		if i > 0 {
			time.Sleep(sampleInterval)
		}
		for _, id := range c.waiting() {
			seen[id]++
		}
	}
	for id, times := range seen {
		asked = append(asked, id)
		if times == samples {
			hanging = append(hanging, id)
		}
	}
	return asked, hanging
}

// waiting are the connections with requests that were not answered yet.
func (c connections) waiting() []string {
	directory, err := c.root.Open(".")
	if err != nil {
		return nil
	}
	defer directory.Close()
	names, _ := directory.Readdirnames(-1)
	var found []string
	for _, name := range names {
		text, err := c.root.ReadFile(name + "/waiting")
		if waiting, parseErr := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && parseErr == nil && waiting > 0 {
			found = append(found, name)
		}
	}
	return found
}

func (c connections) get(id string) (connection, bool) {
	minor, err := strconv.ParseUint(id, 10, 32)
	if err != nil {
		return connection{}, false
	}
	info, err := c.root.Stat(id)
	if err != nil {
		return connection{}, false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return connection{}, false
	}
	return connection{id: id, device: unix.Mkdev(0, uint32(minor)), owner: stat.Uid}, true
}

// end has the kernel fail everything that was asked and will be asked.
func (c connections) end(id string) error {
	file, err := c.root.OpenFile(id+"/abort", os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString("1")
	return errors.Join(err, file.Close())
}
