package loader

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"time"
)

// readBackPatience is how long the process's memory is waited for. A process can keep its map locked.
const readBackPatience = 5 * time.Second

// readBackInTime is readBack, unless the process keeps whoever looks at it waiting.
func readBackInTime(process int32, groups [][]placedSite) []SiteError {
	answer := make(chan []SiteError, 1) // what comes later is nobody's
	go func() { answer <- readBack(process, groups) }()
	select {
	case problems := <-answer:
		return problems
	case <-time.After(readBackPatience):
		err := fmt.Errorf("%w: the kernel did not show the process's memory within %v: its map is locked", ErrUnverified, readBackPatience)
		return []SiteError{{groups[0][0].Site, err}}
	}
}

// readBack looks for the breakpoints in the process's memory: that a link was made proves nothing about the bytes. One
// site of each group that the process has mapped is looked at. It returns what is wrong as ErrUnverified.
func readBack(process int32, groups [][]placedSite) []SiteError {
	mappings, err := executableMappings(process)
	if err != nil || len(mappings) == 0 {
		return nil // the process is gone: there is nothing to verify
	}
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", process))
	if err != nil {
		if isPermission(err) {
			err = permissionError("reading the process's memory", err, capSysPtrace)
		}
		return []SiteError{{groups[0][0].Site, fmt.Errorf("%w: %w", ErrUnverified, err)}}
	}
	defer func() { _ = memory.Close() }()
	var warnings []SiteError
	for _, sites := range groups {
		site, address, ok := mappedSite(process, mappings, sites)
		if !ok {
			if !site.Armed {
				warnings = append(warnings, SiteError{site.Site, fmt.Errorf("%w: the process has not mapped the file", ErrUnverified)})
			}
			continue
		}
		if err := expectBreakpoint(memory, site, address); err != nil {
			warnings = append(warnings, SiteError{site.Site, err})
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
func expectBreakpoint(memory *os.File, site placedSite, address uint64) error {
	size := 1
	if runtime.GOARCH == "arm64" {
		size = 4
	}
	inMemory, inFile := make([]byte, size), make([]byte, size)
	if _, err := memory.ReadAt(inMemory, int64(address)); err != nil {
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
