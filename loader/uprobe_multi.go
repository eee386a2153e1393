package loader

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// uprobeMulti attaches all sites of a file for one program with one link (6.6).
type uprobeMulti struct{}

func (uprobeMulti) group(site placedSite) attachGroup {
	return attachGroup{program: site.Program(), file: fileOf(site.Site)}
}

func (uprobeMulti) Close() error { return nil }

func (uprobeMulti) attach(program *ebpf.Program, _ string, process int32, sites []placedSite) (io.Closer, error) {
	executable, err := link.OpenExecutable(sites[0].file.KernelPath())
	if err != nil {
		return nil, err
	}
	options := link.UprobeMultiOptions{
		Addresses: make([]uint64, len(sites)),
		Cookies:   make([]uint64, len(sites)),
		PID:       uint32(process),
	}
	for i, site := range sites {
		options.Addresses[i] = site.Offset
		options.Cookies[i] = site.Cookie()
	}
	attached, err := executable.UprobeMulti(nil, program, &options)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ESRCH):
		return nil, fmt.Errorf("%w: PID %d", ErrProcessGone, process)
	case isPermission(err):
		return nil, permissionError("attaching a uprobe_multi link", err, capBPF, capPerfmon)
	case err != nil:
		return nil, fmt.Errorf("uprobe_multi link: %w", err)
	}
	return attached, nil
}
