package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/caret-bpf/caret-bpf/attaching"
	"github.com/caret-bpf/caret-bpf/distros"
	"github.com/caret-bpf/caret-bpf/identity"
	"github.com/caret-bpf/caret-bpf/knownfiles"
	"github.com/caret-bpf/caret-bpf/launch"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/target"
)

// installedROS is where the packages of ROS 2's distributions are installed, each in a folder of its name.
const installedROS = "/opt/ros"

// maxPrefixes bounds what is looked at before the recording begins.
const maxPrefixes = 1024

// prefixes are those of programs to come, of which nothing is known but where their packages are.
type prefixes struct {
	// named are those that the user did, installed is where distributions are, each in a folder of its own.
	named     []string
	installed string
	// environment is the recorder's where processes begin by themselves: they may have it from the same shell. A command
	// has it, and is looked at itself.
	environment func(name string) string
	caller      *identity.Identity
	finder      *target.Finder
	planner     *planner
	known       *knownFiles
	journal     *journal
}

func newPrefixes(
	c *compiled, options Options, finder *target.Finder, planner *planner, known *knownFiles, journal *journal,
) *prefixes {
	environment := os.Getenv
	if len(c.Command) > 0 {
		environment = func(string) string { return "" }
	}
	return &prefixes{c.Prefixes, cmp.Or(options.Installed, installedROS), environment, options.Caller, finder, planner, known, journal}
}

// searched are prefixes that programs to come see together, and what they are called to the user.
type searched struct {
	name string
	// folders hold prefixes of packages, or are prefixes themselves.
	folders  []string
	prefixes []string
	// libraries is a list of folders as the dynamic linker takes it (LD_LIBRARY_PATH).
	libraries string
	// named says that the user did, and wants to know when nothing was found.
	named bool
	// seen is what earlier recordings have seen.
	seen knownfiles.Installation
}

// toSearch are those that the user named, together, those of the environment, and each distribution that is installed.
func (p *prefixes) toSearch() []searched {
	var installed []string
	_ = p.caller.Run(func() error {
		entries, err := os.ReadDir(p.installed)
		for _, entry := range entries {
			prefix := filepath.Join(p.installed, entry.Name())
			if _, err := os.Stat(filepath.Join(prefix, "lib")); err == nil {
				installed = append(installed, prefix)
			}
		}
		return err
	})
	installed = installed[:min(len(installed), maxPrefixes)]
	var all []searched
	if len(p.named) > 0 {
		together := searched{name: strings.Join(p.named, ", "), named: true, folders: p.named}
		// Packages are built on a distribution. Which one is clear where only one is installed.
		if len(installed) == 1 && !slices.Contains(p.named, installed[0]) {
			together.prefixes = installed
		}
		all = append(all, together)
		installed = slices.DeleteFunc(slices.Clone(installed), func(prefix string) bool {
			return slices.Contains(p.named, prefix) || slices.Contains(together.prefixes, prefix)
		})
	}
	own := searched{name: "the environment", libraries: p.environment("LD_LIBRARY_PATH")}
	own.prefixes = slices.DeleteFunc(filepath.SplitList(p.environment("AMENT_PREFIX_PATH")), func(prefix string) bool { return !filepath.IsAbs(prefix) })
	own.prefixes = own.prefixes[:min(len(own.prefixes), maxPrefixes)]
	if len(own.prefixes) > 0 || own.libraries != "" {
		all = append(all, own)
	}
	for _, prefix := range installed {
		all = append(all, searched{name: prefix, prefixes: []string{prefix}})
	}
	return all
}

// withoutColons are the prefixes that a list of them can hold.
func withoutColons(prefixes []string) []string {
	return slices.DeleteFunc(slices.Clone(prefixes), func(prefix string) bool { return strings.Contains(prefix, ":") })
}

// prepared is a process that waits with the environment of programs to come, and the plan for it.
type prepared struct {
	searched
	waiting *launch.Command
	process *target.Process
	planned planning
}

// prepare plans what programs to come will map: for each environment that they may have, a process has it that never
// runs anything.
func (p *prefixes) prepare(ctx context.Context) <-chan []*prepared {
	all := make(chan []*prepared, 1)
	toCome := slices.Concat(p.toSearch(), p.seenBefore())
	go func() {
		var list []*prepared
		for _, searched := range toCome {
			if ctx.Err() != nil {
				break
			}
			one := &prepared{searched: searched}
			one.planned.err = p.plan(ctx, one)
			list = append(list, one)
		}
		all <- list
	}()
	return all
}

// plan plans what programs of one environment will map.
func (p *prefixes) plan(ctx context.Context, one *prepared) error {
	if len(one.folders) > 0 {
		packages, err := p.packagesIn(ctx, one.folders)
		if err != nil {
			return err
		}
		one.prefixes = slices.Concat(packages, one.prefixes)
	}
	var err error
	if one.waiting, one.process, err = p.startGuide(ctx, one.prefixes, one.libraries); err != nil {
		return err
	}
	one.process.Expect(one.seen.Files)
	made := p.planner.plan(ctx, one.process)
	one.planned.plan = made.plan
	if errors.Is(made.err, probes.ErrRequiredMissing) {
		return nil // what the process lacks says nothing of those to come
	}
	return made.err
}

// seenBefore are those that earlier recordings have seen.
func (p *prefixes) seenBefore() (all []searched) {
	for _, installation := range p.known.list.Installations {
		all = append(all, searched{name: "files of earlier recordings", seen: installation})
	}
	return all
}

// startGuide starts a process that waits, for nothing, in an environment that names prefixes and folders of libraries.
// Its files are looked at with the rights of the user who called, and nobody waits for them for ever.
func (p *prefixes) startGuide(ctx context.Context, prefixes []string, libraries string) (*launch.Command, *target.Process, error) {
	environment := []string{"AMENT_PREFIX_PATH=" + strings.Join(withoutColons(prefixes), ":")}
	if libraries != "" {
		environment = append(environment, "LD_LIBRARY_PATH="+libraries)
	}
	// It never becomes the command, which only has to be a program.
	waiting, err := launch.Start(p.finder, p.caller, []string{"/proc/self/exe"}, environment)
	if err != nil {
		return nil, nil, err
	}
	if err := waiting.AwaitReady(ctx); err != nil {
		return waiting, nil, err
	}
	process, err := p.finder.Inspect(ctx, int32(waiting.PID()))
	return waiting, process, err
}

// packagesIn are the prefixes in folders that the user named.
func (p *prefixes) packagesIn(ctx context.Context, folders []string) (prefixes []string, err error) {
	waiting, process, err := p.startGuide(ctx, nil, "")
	defer waiting.Discard()
	if err != nil {
		return nil, err
	}
	defer process.Close()
	for _, folder := range folders {
		packages, err := process.Packages(ctx, folder)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", folder, err)
		}
		prefixes = append(prefixes, packages...)
	}
	return prefixes, nil
}

// endPrepared lets go of the processes.
func endPrepared(all []*prepared) {
	for _, p := range all {
		if p.process != nil {
			_ = p.process.Close()
		}
		p.waiting.Discard()
	}
}

// errNothingFound: no file of ROS 2 is where the user said.
var errNothingFound = errors.New("no library of ROS 2 was found there, nor what it is built on: name the prefix of its distribution, too")

// arm arms what was planned.
func (p *prefixes) arm(ctx context.Context, attacher *attaching.Attacher, all []*prepared) {
	for _, one := range all {
		plan := one.planned.plan
		if plan != nil && ctx.Err() == nil && len(one.seen.Files) > 0 {
			p.known.forgetChanged(one)
		}
		switch {
		case ctx.Err() != nil:
		case one.planned.err != nil:
			p.journal.warn(fmt.Errorf("%s: nothing is probed before it is mapped: %w", one.name, one.planned.err))
		case plan == nil || plan.Distro == distros.Unknown || len(plan.Sites) == 0:
			if one.named {
				p.journal.warn(fmt.Errorf("%s: %w", one.name, errNothingFound))
			}
		default:
			p.journal.warn(plan.Unread)
			done, err := attacher.Prepare(ctx, attaching.NewProcess(one.process), plan)
			if err != nil && ctx.Err() == nil {
				p.journal.warn(fmt.Errorf("%s: %w", one.name, err))
			}
			if len(done.Apart) > 0 {
				p.journal.warn(fmt.Errorf("%s: what processes do first in %s may not be recorded: others can write it, or it is not known of which distribution it is",
					one.name, strings.Join(done.Apart, ", ")))
			}
			if done.Attached > 0 {
				p.journal.message(fmt.Sprintf("%s: %d probes in %s, before anybody maps it", one.name, done.Attached, plan.Distro))
			}
		}
	}
}
