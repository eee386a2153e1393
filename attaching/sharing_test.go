package attaching

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/distros"
	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/target"
)

// containersRoot is root in a user namespace that root has made for a container.
const containersRoot = 100_000

// startProcess starts a program that maps a library which only root can write.
func startProcess(t *testing.T, finder *target.Finder, user uint32) (*Process, target.Module) {
	t.Helper()
	command := exec.Command("sleep", "600")
	switch user {
	case 0:
	case containersRoot:
		ids := []syscall.SysProcIDMap{{HostID: containersRoot, Size: 1 << 16}}
		command.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags: syscall.CLONE_NEWUSER, UidMappings: ids, GidMappings: ids, Credential: &syscall.Credential{},
		}
	default:
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	}
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
	former, module := startProcess(t, finder, 0)
	later, _ = startProcess(t, finder, 0)
	opened, err := module.Opened()
	if err != nil {
		t.Skip(err)
	}
	runROS2(former, module)
	runROS2(later, module)
	return former, later, probes.Site{
		Event: abi.EventCallbackStart, File: module.File, Offset: 16, Library: module.Name(), Opened: opened,
	}
}

// runROS2 has a process map a file by the name of a library of ROS 2, too.
func runROS2(p *Process, module target.Module) {
	module.Path = "/opt/lib/librcl.so"
	p.Target.Modules = append(p.Target.Modules, module)
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
			a, told := newTestAttacher(Options{Shared: true, ToCome: true})
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
					t.Errorf("shared %v, %d attachments", got, len(told.kernel.open))
				}
				if !a.IsForAll(probed.File) {
					t.Error("it counts as probed for single processes")
				}
				a.WarnOfApart()
				if len(told.warnings) > 0 {
					t.Errorf("warnings %v", told.warnings)
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

// TestUnknownDistribution: what is probed for single processes until the end, because their distribution does not get
// known, is told.
func TestUnknownDistribution(t *testing.T) {
	p, _, probed := startSharers(t)
	a, told := newTestAttacher(Options{Shared: true, ToCome: true})
	p.Target.Distro = distros.Unknown
	attach(t, a, p, probed)
	a.WarnOfApart()
	if len(told.warnings) != 1 || !errors.Is(told.warnings[0], errUnknownDistro) {
		t.Errorf("warnings %v", told.warnings)
	}
}

// TestWhoseContestCounts: two processes map a file that does not say of which distribution it is, and are of different
// ones. Nobody but a trusted user can end its sharing, or have it planned in his way, against one.
func TestWhoseContestCounts(t *testing.T) {
	const stranger = 65533
	if os.Geteuid() != 0 {
		t.Skip("starting processes of other users needs root")
	}
	for name, test := range map[string]struct {
		users  [2]uint32 // of the one that maps it first, and of the other
		shared distros.Distro
	}{
		"both are trusted":       {[2]uint32{0, 0}, distros.Unknown},
		"a stranger comes later": {[2]uint32{0, stranger}, distros.Humble},
		"a stranger came before": {[2]uint32{stranger, 0}, distros.Jazzy},
		"both are strangers":     {[2]uint32{stranger, stranger + 1}, distros.Unknown},
		"one is in a container":  {[2]uint32{0, containersRoot}, distros.Humble},
	} {
		t.Run(name, func(t *testing.T) {
			finder := target.NewFinder()
			former, module := startProcess(t, finder, test.users[0])
			later, _ := startProcess(t, finder, test.users[1])
			former.Target.Distro, later.Target.Distro = distros.Humble, distros.Jazzy
			opened, err := module.Opened()
			if err != nil {
				t.Skip(err)
			}
			probed := probes.Site{Event: abi.EventCallbackStart, File: module.File, Offset: 16, Library: module.Name(), Opened: opened}
			a, told := newTestAttacher(Options{Shared: true, ToCome: true})
			for _, p := range []*Process{former, later, former, later} {
				attach(t, a, p, probed)
			}
			if got := a.sharing.planned[module.File].distro; got != test.shared {
				t.Errorf("shared as one of %q, warnings %v", got, told.warnings)
			}
			links := map[int32]int{0: len(told.kernel.events(0)), 1: len(told.kernel.events(former.Target.PID)), 2: len(told.kernel.events(later.Target.PID))}
			want := map[int32]int{0: 1, 1: 0, 2: 0}
			if test.shared == distros.Unknown {
				want = map[int32]int{0: 0, 1: 1, 2: 1}
			}
			if !maps.Equal(links, want) || len(told.kernel.open) != links[0]+links[1]+links[2] {
				t.Errorf("links %v, %d are open, warnings %v", links, len(told.kernel.open), told.warnings)
			}
			if !slices.ContainsFunc(told.warnings, func(err error) bool { return errors.Is(err, loader.ErrConflictingSite) }) {
				t.Errorf("warnings %v", told.warnings)
			}
		})
	}
}

// TestProcessThatLosesItsLinks: a process that cannot be attached to alone when sharing ends is known to be incomplete,
// until it can.
func TestProcessThatLosesItsLinks(t *testing.T) {
	former, later, probed := startSharers(t)
	a, told := newTestAttacher(Options{Shared: true, ToCome: true})
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

// TestTrustedProcessesJoin: a file that a stranger's process was the first to map is a trusted user's as soon as he
// maps it, and what strangers have contested among themselves does not bind him.
func TestTrustedProcessesJoin(t *testing.T) {
	const stranger = 65533
	if os.Geteuid() != 0 {
		t.Skip("starting processes of other users needs root")
	}
	type mapper struct {
		user   uint32
		distro distros.Distro
	}
	for name, mappers := range map[string][]mapper{
		"he joins":              {{stranger, distros.Humble}, {0, distros.Humble}, {stranger, distros.Jazzy}},
		"he comes to a quarrel": {{stranger, distros.Humble}, {stranger, distros.Jazzy}, {0, distros.Humble}, {stranger, distros.Jazzy}},
	} {
		t.Run(name, func(t *testing.T) {
			finder := target.NewFinder()
			a, told := newTestAttacher(Options{Shared: true, ToCome: true})
			var file target.FileID
			for _, m := range mappers {
				p, module := startProcess(t, finder, m.user)
				opened, err := module.Opened()
				if err != nil {
					t.Skip(err)
				}
				file, p.Target.Distro = module.File, m.distro
				attach(t, a, p, probes.Site{Event: abi.EventCallbackStart, File: file, Offset: 16, Library: module.Name(), Opened: opened})
			}
			if planned := a.sharing.planned[file]; planned.distro != distros.Humble || !planned.trusted || len(told.kernel.open) != 1 {
				t.Errorf("%+v, %d links, warnings %v", planned, len(told.kernel.open), told.warnings)
			}
		})
	}
}
