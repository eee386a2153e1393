package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/caret-bpf/caret-bpf/attaching"
	"github.com/caret-bpf/caret-bpf/distros"
	"github.com/caret-bpf/caret-bpf/target"
)

// installedROS is where the packages of ROS 2's distributions are installed, each in a folder of its name.
const installedROS = "/opt/ros"

// maxPrefixes bounds what is looked at before the recording begins.
const maxPrefixes = 1024

// searched are prefixes that programs to come see together, and what they are called to the user.
type searched struct {
	name     string
	prefixes []string
	// named says that the user did, and wants to know when nothing was found.
	named bool
}

// searchedPrefixes are those that the user named, together, and each distribution that is installed.
func (s *Session) searchedPrefixes() []searched {
	var installed []string
	_ = s.options.Caller.Run(func() error {
		entries, err := os.ReadDir(installedROS)
		for _, entry := range entries {
			installed = append(installed, filepath.Join(installedROS, entry.Name()))
		}
		return err
	})
	installed = installed[:min(len(installed), maxPrefixes)]
	var all []searched
	if named := s.configuration.Prefixes; len(named) > 0 {
		together := searched{name: strings.Join(named, ", "), named: true}
		for _, prefix := range named {
			together.prefixes = append(together.prefixes, s.packagesIn(prefix)...)
		}
		// Packages are built on a distribution. Which one is clear where only one is installed.
		if len(installed) == 1 {
			together.prefixes = append(together.prefixes, installed...)
		}
		all = append(all, together)
	}
	for _, prefix := range installed {
		all = append(all, searched{name: prefix, prefixes: []string{prefix}})
	}
	return all
}

// packagesIn are the prefixes of a folder that the user named: itself, or those of each package, as colcon installs
// them unless it merges.
func (s *Session) packagesIn(folder string) []string {
	prefixes := []string{folder}
	_ = s.options.Caller.Run(func() error {
		indexes, err := filepath.Glob(filepath.Join(folder, "*", "share", "ament_index"))
		for _, index := range indexes[:min(len(indexes), maxPrefixes)] {
			prefixes = append(prefixes, filepath.Dir(filepath.Dir(index)))
		}
		return err
	})
	return prefixes
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
	go func() {
		var list []*prepared
		for _, searched := range s.searchedPrefixes() {
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

func (p *prepared) plan(ctx context.Context, s *Session) (err error) {
	environment := []string{"PATH=" + os.Getenv("PATH"), "AMENT_PREFIX_PATH=" + strings.Join(p.prefixes, ":")}
	if p.waiting, err = s.startWaiting([]string{"true"}, environment); err != nil {
		return err
	}
	if err := p.waiting.awaitReady(); err != nil {
		return err
	}
	if p.process, err = s.finder.Inspect(ctx, int32(p.waiting.command.Process.Pid)); err != nil {
		return err
	}
	made := s.plan(ctx, p.process)
	p.planned.plan = made.plan
	return nil // what the process lacks says nothing of those to come
}

// endPrepared lets go of the processes.
func endPrepared(all []*prepared) {
	for _, p := range all {
		if p.process != nil {
			_ = p.process.Close()
		}
		p.waiting.kill()
	}
}

// errNothingFound: no file of ROS 2 is where the user said.
var errNothingFound = errors.New("no library of ROS 2 was found there, nor what it is built on: name the prefix of its distribution, too")

// armPrefixes arms what was planned.
func (s *Session) armPrefixes(ctx context.Context, all []*prepared) {
	for _, p := range all {
		plan := p.planned.plan
		switch {
		case ctx.Err() != nil:
		case p.planned.err != nil:
			s.warn(fmt.Errorf("%s: nothing is probed before it is mapped: %w", p.name, p.planned.err))
		case plan == nil || plan.Distro == distros.Unknown || len(plan.Sites) == 0:
			if p.named {
				s.warn(fmt.Errorf("%s: %w", p.name, errNothingFound))
			}
		default:
			count, err := s.attacher.Prepare(ctx, attaching.NewProcess(p.process), plan)
			s.warn(err)
			if count > 0 {
				s.message(fmt.Sprintf("%s: %d probes in %s, before anybody maps it", p.name, count, plan.Distro))
			}
		}
	}
}
