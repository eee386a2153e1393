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
	"github.com/caret-bpf/caret-bpf/knownfiles"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/target"
)

// installedROS is where the packages of ROS 2's distributions are installed, each in a folder of its name.
const installedROS = "/opt/ros"

// maxPrefixes bounds what is looked at before the recording begins.
const maxPrefixes = 1024

// searched are prefixes that programs to come see together, and what they are called to the user.
type searched struct {
	name string
	// folders hold prefixes of packages, or are prefixes themselves.
	folders  []string
	prefixes []string
	// named says that the user did, and wants to know when nothing was found.
	named bool
	// seen is what earlier recordings have seen.
	seen knownfiles.Installation
}

// searchedPrefixes are those that the user named, together, and each distribution that is installed.
func (s *Session) searchedPrefixes() []searched {
	var installed []string
	folder := cmp.Or(s.options.Installed, installedROS)
	_ = s.options.Caller.Run(func() error {
		entries, err := os.ReadDir(folder)
		for _, entry := range entries {
			prefix := filepath.Join(folder, entry.Name())
			if _, err := os.Stat(filepath.Join(prefix, "lib")); err == nil {
				installed = append(installed, prefix)
			}
		}
		return err
	})
	installed = installed[:min(len(installed), maxPrefixes)]
	var all []searched
	if named := s.configuration.Prefixes; len(named) > 0 {
		together := searched{name: strings.Join(named, ", "), named: true, folders: named}
		// Packages are built on a distribution. Which one is clear where only one is installed.
		if len(installed) == 1 && !slices.Contains(named, installed[0]) {
			together.prefixes = installed
		}
		all = append(all, together)
		installed = slices.DeleteFunc(slices.Clone(installed), func(prefix string) bool {
			return slices.Contains(named, prefix) || slices.Contains(together.prefixes, prefix)
		})
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
	waiting *launched
	process *target.Process
	planned planning
}

// preparePrefixes plans what programs to come will map. Nothing is known of them but where their packages are: for each
// environment that they may have, a process has it that never runs anything.
func (s *Session) preparePrefixes(ctx context.Context) <-chan []*prepared {
	all := make(chan []*prepared, 1)
	if !s.configuration.systemWide() {
		all <- nil
		return all
	}
	toCome := slices.Concat(s.searchedPrefixes(), s.seenInstallations())
	go func() {
		var list []*prepared
		for _, searched := range toCome {
			if ctx.Err() != nil {
				break
			}
			p := &prepared{searched: searched}
			p.planned.err = p.plan(ctx, s)
			list = append(list, p)
		}
		all <- list
	}()
	return all
}

func (p *prepared) plan(ctx context.Context, s *Session) error {
	if len(p.folders) > 0 {
		packages, err := s.packagesIn(ctx, p.folders)
		if err != nil {
			return err
		}
		p.prefixes = slices.Concat(packages, p.prefixes)
	}
	var err error
	if p.waiting, p.process, err = s.startGuide(ctx, p.prefixes); err != nil {
		return err
	}
	p.process.Expect(p.seen.Files)
	made := s.planner.plan(ctx, p.process)
	p.planned.plan = made.plan
	if errors.Is(made.err, probes.ErrRequiredMissing) {
		return nil // what the process lacks says nothing of those to come
	}
	return made.err
}

// seenInstallations are those that earlier recordings have seen.
func (s *Session) seenInstallations() (all []searched) {
	for _, installation := range s.known.list.Installations {
		all = append(all, searched{name: "files of earlier recordings", seen: installation})
	}
	return all
}

// startGuide starts a process that waits, for nothing, in an environment that names prefixes. Its files are looked at
// with the rights of the user who called, and nobody waits for them for ever.
func (s *Session) startGuide(ctx context.Context, prefixes []string) (*launched, *target.Process, error) {
	// It never becomes the command, which only has to be a program.
	waiting, err := s.startWaiting([]string{"/proc/self/exe"}, []string{"AMENT_PREFIX_PATH=" + strings.Join(withoutColons(prefixes), ":")})
	if err != nil {
		return nil, nil, err
	}
	if err := waiting.awaitReady(ctx); err != nil {
		return waiting, nil, err
	}
	process, err := s.finder.Inspect(ctx, int32(waiting.command.Process.Pid))
	return waiting, process, err
}

// packagesIn are the prefixes in folders that the user named.
func (s *Session) packagesIn(ctx context.Context, folders []string) (prefixes []string, err error) {
	waiting, process, err := s.startGuide(ctx, nil)
	defer waiting.discard()
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
		p.waiting.discard()
	}
}

// errNothingFound: no file of ROS 2 is where the user said.
var errNothingFound = errors.New("no library of ROS 2 was found there, nor what it is built on: name the prefix of its distribution, too")

// armPrefixes arms what was planned.
func (s *Session) armPrefixes(ctx context.Context, all []*prepared) {
	for _, p := range all {
		plan := p.planned.plan
		if plan != nil && ctx.Err() == nil && len(p.seen.Files) > 0 {
			s.forgetChanged(p)
		}
		switch {
		case ctx.Err() != nil:
		case p.planned.err != nil:
			s.journal.warn(fmt.Errorf("%s: nothing is probed before it is mapped: %w", p.name, p.planned.err))
		case plan == nil || plan.Distro == distros.Unknown || len(plan.Sites) == 0:
			if p.named {
				s.journal.warn(fmt.Errorf("%s: %w", p.name, errNothingFound))
			}
		default:
			s.journal.warn(plan.Unread)
			done, err := s.attacher.Prepare(ctx, attaching.NewProcess(p.process), plan)
			if err != nil && ctx.Err() == nil {
				s.journal.warn(fmt.Errorf("%s: %w", p.name, err))
			}
			if len(done.Apart) > 0 {
				s.journal.warn(fmt.Errorf("%s: what processes do first in %s may not be recorded: others can write it, or it is not known of which distribution it is",
					p.name, strings.Join(done.Apart, ", ")))
			}
			if done.Attached > 0 {
				s.journal.message(fmt.Sprintf("%s: %d probes in %s, before anybody maps it", p.name, done.Attached, plan.Distro))
			}
		}
	}
}
