package attaching

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/distros"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/target"
)

// startProcess starts a program that maps a library which only root can write.
func startProcess(t *testing.T, finder *target.Finder) (*Process, target.Module) {
	t.Helper()
	command := exec.Command("sleep", "600")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	for {
		p, err := finder.Inspect(t.Context(), int32(command.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close() })
		for _, module := range p.Modules {
			if strings.HasPrefix(module.Name(), "libc.so") || strings.HasPrefix(module.Name(), "libc-") {
				p.Distro = distros.Humble
				return NewProcess(p), module
			}
		}
	}
}

// startSharers starts two processes that map one library, and returns a site in it.
func startSharers(t *testing.T) (former, later *Process, probed probes.Site) {
	t.Helper()
	finder := target.NewFinder()
	former, module := startProcess(t, finder)
	later, _ = startProcess(t, finder)
	opened, err := module.Opened()
	if err != nil {
		t.Skip(err)
	}
	return former, later, probes.Site{
		Event: abi.EventCallbackStart, File: module.File, Offset: 16, Library: module.Name(), Opened: opened,
	}
}

// TestFileThatCannotBeShared: when links for all processes cannot be made, those of single processes, which were closed
// for them, come back, and it is said why.
func TestFileThatCannotBeShared(t *testing.T) {
	unable := errors.New("no memory")
	for name, test := range map[string]struct {
		unable error
		shared bool
	}{
		"it can":    {nil, true},
		"it cannot": {unable, false},
	} {
		t.Run(name, func(t *testing.T) {
			former, later, probed := startSharers(t)
			a, told := newTestAttacher(Options{SystemWide: true})
			want := []abi.Event{probed.Event}

			former.Target.Distro = distros.Unknown // then it is probed alone
			attach(t, a, former, probed)
			if got := told.kernel.events(former.Target.PID); !slices.Equal(got, want) {
				t.Fatalf("the first process has %v, warnings %v", got, told.warnings)
			}
			former.Target.Distro = distros.Humble
			told.kernel.unable = test.unable
			for range 2 {
				attach(t, a, later, probed)
			}
			if test.shared {
				if got := told.kernel.events(0); !slices.Equal(got, want) || len(told.kernel.open) != 1 {
					t.Errorf("shared %v, %d attachments, warnings %v", got, len(told.kernel.open), told.warnings)
				}
				return
			}
			for _, p := range []*Process{former, later} {
				if got := told.kernel.events(p.Target.PID); !slices.Equal(got, want) {
					t.Errorf("PID %d has %v", p.Target.PID, got)
				}
			}
			a.WarnOfApart()
			if !slices.ContainsFunc(told.warnings, func(err error) bool { return errors.Is(err, errNotShared) }) {
				t.Errorf("warnings %v", told.warnings)
			}
		})
	}
}

// TestProcessThatLosesItsLinks: a process that cannot be attached to alone when sharing ends is known to be incomplete,
// until it can.
func TestProcessThatLosesItsLinks(t *testing.T) {
	former, later, probed := startSharers(t)
	a, told := newTestAttacher(Options{SystemWide: true})
	attach(t, a, former, probed)
	told.kernel.failing = errors.New("no memory")
	a.unshare(probed.File, errContested)
	a.attachOthers(t.Context(), later)
	if !former.Incomplete() || later.Incomplete() {
		t.Errorf("incomplete: %v, and another %v", former.Incomplete(), later.Incomplete())
	}
	told.kernel.failing = nil
	attach(t, a, former, probed)
	if former.Incomplete() || len(told.kernel.events(former.Target.PID)) != 1 {
		t.Errorf("incomplete: %v, attached %v", former.Incomplete(), told.kernel.events(former.Target.PID))
	}
}
