package recording

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// disk is an ext4 in a file, whose power can be cut.
type disk struct{ image, path string }

// newDisk mounts a disk. The test is skipped where that cannot be.
func newDisk(t *testing.T) *disk {
	t.Helper()
	folder := t.TempDir()
	d := &disk{image: filepath.Join(folder, "image"), path: filepath.Join(folder, "disk")}
	if err := os.Mkdir(d.path, 0o755); err != nil {
		t.Fatal(err)
	}
	const script = `truncate -s 64M "$1" && mkfs.ext4 -q -F "$1"`
	if out, err := exec.Command("sh", "-c", script, "sh", d.image).CombinedOutput(); err != nil {
		t.Skipf("cannot make an ext4: %v, %s", err, out)
	}
	if out, err := d.mount(); err != nil {
		t.Skipf("cannot mount an ext4: %v, %s", err, out)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(d.path, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return d
}

// newDiskWithPower mounts a disk whose power can be cut. The test is skipped where that cannot be.
func newDiskWithPower(t *testing.T) *disk {
	t.Helper()
	d := newDisk(t)
	if err := d.cut(); err != nil {
		t.Skipf("cannot cut the power of an ext4: %v", err)
	}
	d.reopen(t)
	return d
}

// slowDown lets only so many bytes a second be written, for all who write. The test is skipped where that cannot be
// said for the machine as a whole, as in control groups of version 2.
func (d *disk) slowDown(t *testing.T, bytesPerSecond int) {
	t.Helper()
	const throttle = "/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device"
	var stat unix.Stat_t
	if err := unix.Stat(d.path, &stat); err != nil {
		t.Fatal(err)
	}
	limit := func(bytesPerSecond int) error {
		line := fmt.Sprintf("%d:%d %d", unix.Major(stat.Dev), unix.Minor(stat.Dev), bytesPerSecond)
		return os.WriteFile(throttle, []byte(line), 0)
	}
	if err := limit(bytesPerSecond); err != nil {
		t.Skipf("cannot make a disk slow: %v", err)
	}
	t.Cleanup(func() {
		if err := limit(0); err != nil {
			t.Error(err)
		}
	})
}

// mount mounts the disk on a loop device that goes with the mount.
func (d *disk) mount() ([]byte, error) {
	return exec.Command("mount", "-o", "loop", d.image, d.path).CombinedOutput()
}

// cut has the file system forget what was not synced, and fail all that comes.
func (d *disk) cut() error {
	const shutdown = 0x8004587d // EXT4_IOC_SHUTDOWN
	f, err := os.Open(d.path)
	if err != nil {
		return err
	}
	return errors.Join(unix.IoctlSetPointerInt(int(f.Fd()), shutdown, unix.FS_SHUTDOWN_FLAGS_NOLOGFLUSH), f.Close())
}

// reopen gives the power back.
func (d *disk) reopen(t *testing.T) {
	t.Helper()
	if err := unix.Unmount(d.path, 0); err != nil {
		t.Fatal(err)
	}
	d.waitUntilReleased(t)
	if out, err := d.mount(); err != nil {
		t.Fatalf("the disk cannot be mounted after the power cut: %v, %s", err, out)
	}
}

// waitUntilReleased waits until nobody has the disk mounted. A mount namespace that was made meanwhile, by whatever
// else runs on the machine, has a mount of its own: the next one would be of the same file system, which has no power.
func (d *disk) waitUntilReleased(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(patience); d.isAttached(t); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the disk stays mounted elsewhere")
		}
	}
}

// isAttached reports whether a loop device has the disk's image.
func (d *disk) isAttached(t *testing.T) bool {
	t.Helper()
	files, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(path string) bool {
		image, err := os.ReadFile(path) // the device may be gone by now
		return err == nil && strings.TrimSpace(string(image)) == d.image
	})
}
