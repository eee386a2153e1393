package loader

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/osthread"
)

// Why probes are not made as perf events, though that takes neither uprobe_multi nor tracefs: since CVE-2025-38466
// kernels ask for CAP_SYS_ADMIN then. With uprobe_multi the capabilities that are left here are enough, as other tests
// show.
func TestPerfUprobesWantMore(t *testing.T) {
	requireRoot(t)
	path := filepath.Join(t.TempDir(), "library")
	code := bytes.Repeat([]byte{0x55}, 4096) // push %rbp
	if runtime.GOARCH == "arm64" {
		code = bytes.Repeat(binary.LittleEndian.AppendUint32(nil, 0xd503201f), 1024) // nop
	}
	if err := os.WriteFile(path, code, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := perfUprobe(path, ^uint64(0)); err != nil {
		t.Skip("no uprobes as perf events: ", err)
	}
	refused := perfUprobe(path, ^uint64(1<<unix.CAP_SYS_ADMIN))
	t.Logf("Linux %s without CAP_SYS_ADMIN: %v", kernelRelease(), refused)
	isRefused := errors.Is(refused, unix.EACCES)
	if !isRefused && (refused != nil || !olderThan(kernelRelease(), 6, 16)) { // older ones may have got it later
		t.Errorf("error %v", refused)
	}
}

// perfUprobe makes a uprobe as a perf event, with no capabilities but those of a set.
func perfUprobe(path string, capabilities uint64) error {
	text, err := os.ReadFile("/sys/bus/event_source/devices/uprobe/type")
	if err != nil {
		return err
	}
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return err
	}
	attributes := unix.PerfEventAttr{Ext1: uint64(uintptr(unsafe.Pointer(name))), Ext2: 8}
	attributes.Size = uint32(unsafe.Sizeof(attributes))
	if _, err := fmt.Sscan(strings.TrimSpace(string(text)), &attributes.Type); err != nil {
		return err
	}
	result := make(chan error)
	osthread.Go(func() {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var sets [2]unix.CapUserData
		err := unix.Capget(&header, &sets[0])
		for i := range sets {
			sets[i].Effective &= uint32(capabilities >> (32 * i))
		}
		if err == nil {
			err = unix.Capset(&header, &sets[0])
		}
		if err == nil {
			var fd int
			if fd, err = unix.PerfEventOpen(&attributes, -1, 0, -1, unix.PERF_FLAG_FD_CLOEXEC); err == nil {
				_ = unix.Close(fd)
			}
		}
		runtime.KeepAlive(name)
		result <- err
	})
	return <-result
}
