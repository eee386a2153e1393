package loader

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// tracefs attaches through trace events: all sites with the same program and cookie, whatever their files, are one
// event with one perf event on it, and the program is linked to that with the cookie (5.15). Detaching costs the kernel
// tens of milliseconds an event, however many sites it has.
type tracefs struct {
	root       string // the mount point
	eventGroup string
	// instance distinguishes the events of loaders in one process, serial those of one loader.
	instance uint32
	serial   uint64
	// private has the perf events and links.
	private *privateDescriptors
}

// findTracefs returns the mount point of tracefs, or an error with the remedy.
func findTracefs() (string, error) {
	var denied error
	for _, root := range []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"} {
		err := unix.Access(uprobeEvents(root), unix.W_OK)
		if err == nil {
			return root, nil
		}
		if isPermission(err) || errors.Is(err, unix.EROFS) {
			denied = fmt.Errorf("%s: %w", uprobeEvents(root), err)
		}
	}
	if denied != nil {
		if errors.Is(denied, unix.EROFS) {
			return "", fmt.Errorf("%w: tracefs is mounted read-only (%w); remount it read-write", ErrPermission, denied)
		}
		return "", permissionError("creating trace events", denied, capDACOverride)
	}
	if _, err := os.Stat("/sys/kernel/tracing/README"); err == nil {
		return "", fmt.Errorf("%w: tracefs has no uprobe_events; the kernel must be built with CONFIG_UPROBE_EVENTS=y",
			ErrUnsupportedKernel)
	}
	return "", fmt.Errorf("%w; run mount -t tracefs tracefs /sys/kernel/tracing", ErrNoTracefs)
}

func uprobeEvents(root string) string { return filepath.Join(root, "uprobe_events") }

// newTracefs returns an attacher whose events are named after the recorder's process, so that they can be told from
// those of recorders that died, and after a number that no other loader of the process has.
func newTracefs(root string, instance uint32) (*tracefs, error) {
	recorder, err := ownIdentity()
	if err != nil {
		return nil, err
	}
	private, err := newPrivateDescriptors()
	if err != nil {
		return nil, err
	}
	return &tracefs{root: root, eventGroup: recorder.eventGroup(), instance: instance, private: private}, nil
}

func (t *tracefs) Close() error { return t.private.Close() }

func (t *tracefs) group(site placedSite) attachGroup {
	return attachGroup{program: site.Program(), cookie: site.Cookie()}
}

// traceEvent is an event of uprobe_events with the perf event and the link on it.
type traceEvent struct {
	root, name string // name is group/event
	private    *privateDescriptors
	perf, link int // descriptors of private, -1 while there is none
}

func (t *tracefs) attach(program *ebpf.Program, name string, process int32, sites []placedSite) (_ io.Closer, err error) {
	t.serial++
	event := &traceEvent{
		root:    t.root,
		name:    fmt.Sprintf("%s/%s_%d_%d", t.eventGroup, strings.TrimPrefix(name, "on_"), t.instance, t.serial),
		private: t.private,
		perf:    -1,
		link:    -1,
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, event.Close())
		}
	}()
	if err := event.create(sites); err != nil {
		return nil, err
	}
	id, err := event.id()
	if err != nil {
		return nil, err
	}
	err = t.private.do(func() error {
		if err := event.openPerf(id, process); err != nil {
			return err
		}
		return t.private.withCopy(program.FD(), func(program int) error {
			return event.linkProgram(program, sites[0].Cookie())
		})
	})
	if err != nil {
		return nil, err
	}
	return event, nil
}

// create writes the event's definition: the first site makes it, each further one with the same name is appended (5.5).
// All are there before the perf event is opened: a site appended later is not armed, and Linux 6.18 crashes when that
// perf event is closed.
func (e *traceEvent) create(sites []placedSite) error {
	for _, site := range sites {
		definition := fmt.Sprintf("p:%s %s:%#x", e.name, site.file.KernelPath(), site.Offset)
		if err := writeUprobeEvents(e.root, definition); err != nil {
			return err
		}
	}
	return nil
}

func writeUprobeEvents(root, command string) error {
	// Without O_APPEND the kernel takes the file for truncated and deletes the events of everyone.
	file, err := os.OpenFile(uprobeEvents(root), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		if isPermission(err) {
			return permissionError("creating trace events", err, capDACOverride)
		}
		return err
	}
	_, err = file.WriteString(command + "\n")
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("%q: %w", command, err)
	}
	return nil
}

// id is the number by which perf_event_open knows the event.
func (e *traceEvent) id() (uint64, error) {
	text, err := os.ReadFile(filepath.Join(e.root, "events", e.name, "id"))
	if err != nil {
		return 0, err
	}
	id, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("id of trace event %s: %w", e.name, err)
	}
	return id, nil
}

// openPerf makes the perf event that inserts the breakpoints. The process filter is by address space: it passes all
// threads.
func (e *traceEvent) openPerf(id uint64, process int32) (err error) {
	attributes := unix.PerfEventAttr{
		Type:   unix.PERF_TYPE_TRACEPOINT,
		Size:   uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Config: id,
		Sample: 1,
		// The program runs whether or not the perf event counts.
		Bits: unix.PerfBitDisabled,
	}
	pid, cpu := int(process), -1
	if process == 0 {
		pid, cpu = -1, 0 // fires on every CPU: only the counting would be bound to this one
	}
	for {
		e.perf, err = unix.PerfEventOpen(&attributes, pid, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err != unix.EINTR {
			break
		}
	}
	switch {
	case err == nil:
		return nil
	case err == unix.ESRCH:
		return fmt.Errorf("%w: PID %d", ErrProcessGone, process)
	case isPermission(err):
		return permissionError("opening a perf event", err, capPerfmon, capSysPtrace)
	}
	return fmt.Errorf("perf event: %w", err)
}

// linkCreatePerfEvent is the part of union bpf_attr (linux/bpf.h) that BPF_LINK_CREATE reads for a perf event.
type linkCreatePerfEvent struct {
	program    uint32
	target     uint32
	attachType uint32
	flags      uint32
	cookie     uint64
}

const (
	bpfLinkCreate = 28 // BPF_LINK_CREATE
	bpfPerfEvent  = 41 // BPF_PERF_EVENT
)

// linkProgram lets the perf event run the program. The library offers no perf event link with a perf event of one's
// own.
func (e *traceEvent) linkProgram(program int, cookie uint64) error {
	attributes := linkCreatePerfEvent{
		program:    uint32(program),
		target:     uint32(e.perf),
		attachType: bpfPerfEvent,
		cookie:     cookie,
	}
	fd, _, errno := unix.Syscall(unix.SYS_BPF, bpfLinkCreate, uintptr(unsafe.Pointer(&attributes)), unsafe.Sizeof(attributes))
	switch {
	case errno == 0:
		e.link = int(fd)
		return nil
	case isPermission(errno):
		return permissionError("linking a program to a perf event", errno, capBPF, capPerfmon)
	}
	return fmt.Errorf("linking a program to a perf event: %w", errno)
}

// Close detaches the program, removes the breakpoints, and then the event. Before Linux 6.6 the kernel removes all
// sites of an event but the last one even if somebody still has the perf event, and crashes: no child has a copy of it.
func (e *traceEvent) Close() error {
	err := e.private.do(func() error {
		var errs []error
		for _, fd := range []*int{&e.link, &e.perf} {
			if *fd >= 0 {
				errs = append(errs, unix.Close(*fd))
				*fd = -1
			}
		}
		return errors.Join(errs...)
	})
	return errors.Join(err, removeTraceEvent(e.root, e.name, removalPatience))
}

// removalPatience is how long an event may stay busy: the kernel lets go of it a little after its last perf event was
// closed, and whoever is root may have enabled it by hand.
const removalPatience = 30 * time.Second

// removeTraceEvent removes an event with all its sites; one that does not exist is removed already.
func removeTraceEvent(root, name string, patience time.Duration) error {
	const pause = 10 * time.Millisecond
	for {
		err := writeUprobeEvents(root, "-:"+name)
		switch {
		case err == nil, errors.Is(err, unix.ENOENT):
			return nil
		case !errors.Is(err, unix.EBUSY) || patience <= 0:
			return fmt.Errorf("removing trace event %s: %w", name, err)
		}
		time.Sleep(pause)
		patience -= pause
	}
}
