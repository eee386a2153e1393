package loader

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestLimits(t *testing.T) {
	for name, test := range map[string]struct {
		limit Limit
		ok    bool
		says  string // in its name or its error
	}{
		"many files":             {openFilesLimit(1<<20, true), true, "limit 1048576, about 32766 processes"},
		"few files":              {openFilesLimit(512, true), false, "ulimit -Hn"},
		"files for links":        {openFilesLimit(1024, true), true, "about 30 processes"},
		"files for trace events": {openFilesLimit(1024, false), false, "about 7 processes"},
		"hardly a file":          {openFilesLimit(3, true), false, "about 0 processes"},
		"any number of files":    {openFilesLimit(unix.RLIM_INFINITY, false), true, "no limit"},
		"little locked memory":   {lockedMemoryLimit(64<<10, false), false, "CAP_SYS_RESOURCE"},
		"locked memory for root": {lockedMemoryLimit(64<<10, true), true, ""},
		"any locked memory":      {lockedMemoryLimit(unix.RLIM_INFINITY, false), true, ""},
		"much memory":            {ringLimit(nil, 64<<30), true, "16M by default, at most 1G"},
		"little memory":          {ringLimit(nil, 300<<20), true, "at most 256M"},
		"hardly any memory":      {ringLimit(unix.ENOMEM, 5<<20), false, "--buffer-size"},
		"unknown memory":         {ringLimit(nil, 0), true, "16M by default)"},
	} {
		if (test.limit.Err == nil) != test.ok {
			t.Errorf("%s: error %v", name, test.limit.Err)
		}
		text := test.limit.Name
		if test.limit.Err != nil {
			text += test.limit.Err.Error()
		}
		if !strings.Contains(text, test.says) {
			t.Errorf("%s: no %q in %s", name, test.says, text)
		}
	}
	if err := ringLimit(unix.EPERM, 0).Err; !errors.Is(err, ErrPermission) {
		t.Errorf("a refused ring buffer: %v", err)
	}
}

func TestAvailableMemory(t *testing.T) {
	for meminfo, want := range map[string]uint64{
		"": 0,
		"MemTotal: 8 kB\nMemAvailable:   5 kB\nBuffers: 1 kB\n": 5 << 10,
		"MemAvailable: many kB\n":                               0,
		"MemAvailable: 5\n":                                     0,
		"MemAvailable: 99999999999999999999 kB\n":               0,
	} {
		if got := availableMemory(meminfo); got != want {
			t.Errorf("%q: %d, want %d", meminfo, got, want)
		}
	}
}

func TestOlderThan(t *testing.T) {
	for release, want := range map[string]bool{
		"5.10.0-28-amd64": true, "4.19": true, "5.11.0": false, "5.15.0-generic": false, "6.1.0-37-amd64": false, "6.18": false, "unknown": false, "": false,
	} {
		if got := olderThan(release, 5, 11); got != want {
			t.Errorf("%s: %v", release, got)
		}
	}
}
