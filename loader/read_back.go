package loader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/memoryhelper"
)

const (
	// readBackPatience is how long the process's memory map is waited for. A process can keep it locked.
	readBackPatience = 5 * time.Second
	// maxReadBacksWaiting is of how many processes an answer may be waited for that nobody needs any more.
	maxReadBacksWaiting = 8
)

// readBacks looks for breakpoints in the memory of processes: that a link was made proves nothing about the bytes. A
// page may be one that a program answers for (FUSE), although a library was there a moment ago, and who reads it cannot
// be killed. So a process of its own reads, whoever the user is.
type readBacks struct {
	helper memoryhelper.Helper
	// waiting is of how many processes answers are waited for that came too late, if they ever come.
	waiting atomic.Int32
}

// inTime is of, unless the process keeps whoever looks at it waiting, or ctx ends.
func (r *readBacks) inTime(ctx context.Context, process int32, groups [][]placedSite) []SiteError {
	if r.waiting.Load() >= maxReadBacksWaiting {
		return unverified(groups, "breakpoints are not looked for: %d processes have not answered", maxReadBacksWaiting)
	}
	answer := make(chan []SiteError, 1) // what comes later is nobody's
	r.waiting.Add(1)
	go func() {
		defer r.waiting.Add(-1)
		answer <- r.of(process, groups)
	}()
	select {
	case problems := <-answer:
		return problems
	case <-ctx.Done():
		return nil
	case <-time.After(readBackPatience):
		return unverified(groups, "the kernel did not show the process's memory within %v: its map is locked", readBackPatience)
	}
}

func unverified(groups [][]placedSite, format string, arguments ...any) []SiteError {
	return []SiteError{{groups[0][0].Site, fmt.Errorf("%w: "+format, append([]any{ErrUnverified}, arguments...)...)}}
}

// of looks for the breakpoints in the process's memory. One site of each group that the process has mapped is looked
// at. It returns what is wrong as ErrUnverified.
func (r *readBacks) of(process int32, groups [][]placedSite) []SiteError {
	mappings, err := executableMappings(process)
	if err != nil || len(mappings) == 0 {
		return nil // the process is gone: there is nothing to verify
	}
	var warnings []SiteError
	for _, sites := range groups {
		site, address, ok := mappedSite(process, mappings, sites)
		if !ok {
			if i := slices.IndexFunc(mappings, func(m mapping) bool { return m.refused != nil }); i >= 0 {
				err := permissionError("asking which files the process has mapped", mappings[i].refused, capCheckpointRestore)
				return append(warnings, SiteError{site.Site, fmt.Errorf("%w: %w", ErrUnverified, err)})
			}
			if !site.Armed {
				warnings = append(warnings, SiteError{site.Site, fmt.Errorf("%w: the process has not mapped the file", ErrUnverified)})
			}
			continue
		}
		err := r.expectBreakpoint(process, site, address)
		switch {
		case errors.Is(err, unix.ESRCH):
			return nil
		case err != nil:
			warnings = append(warnings, SiteError{site.Site, err})
		}
		if errors.Is(err, memoryhelper.ErrUnanswered) {
			return warnings
		}
	}
	return warnings
}

// mappedSite returns a site that the process has mapped and where, or else the first site and false.
func mappedSite(process int32, mappings []mapping, sites []placedSite) (placedSite, uint64, bool) {
	for _, site := range sites {
		if address, ok := addressOf(process, mappings, site.file, site.Offset); ok {
			return site, address, true
		}
	}
	return sites[0], 0, false
}

// expectBreakpoint reports an instruction that is still the file's own. Anything else than a breakpoint there is how
// the kernel rewrote the instruction.
func (r *readBacks) expectBreakpoint(process int32, site placedSite, address uint64) error {
	size := 1
	if runtime.GOARCH == "arm64" {
		size = 4
	}
	inMemory, inFile := make([]byte, size), make([]byte, size)
	if err := r.read(process, address, inMemory); err != nil {
		return fmt.Errorf("%w: reading %#x: %w", ErrUnverified, address, err)
	}
	if _, err := site.file.ReadAt(inFile, int64(site.Offset)); err != nil {
		return fmt.Errorf("%w: reading the file: %w", ErrUnverified, err)
	}
	if bytes.Equal(inMemory, inFile) {
		return fmt.Errorf("%w: the original instruction is at %#x", ErrUnverified, address)
	}
	return nil
}

func (r *readBacks) read(process int32, address uint64, into []byte) error {
	n, ended, err := r.helper.Read(process, address, into)
	if errors.Is(err, memoryhelper.ErrUnanswered) {
		r.waiting.Add(1)
		go func() {
			<-ended
			r.waiting.Add(-1)
		}()
	}
	switch {
	case err != nil && isPermission(err):
		return permissionError("reading the process's memory", err, capSysPtrace)
	case err == nil && n < len(into):
		return io.ErrUnexpectedEOF
	}
	return err
}
