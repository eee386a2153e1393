package session

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/caret-bpf/caret-bpf/merge"
	"github.com/caret-bpf/caret-bpf/probes"
)

// Settings are what can be changed of a recording while it goes on. They are those of Configuration with these names.
type Settings struct {
	Profile                                              probes.Profile
	MaxOverhead                                          float64
	SelectNodes, IgnoreNodes, SelectTopics, IgnoreTopics []string
}

// settings are those of now.
type settings struct {
	mu  sync.Mutex
	now Settings
}

func (s *settings) get() Settings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *settings) set(now Settings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = now
}

// errNotDriven is returned where nothing was made ready for changes.
var errNotDriven = errors.New("the recording was not begun as one that can be changed")

// settings are those with which a recording begins.
func (c *Configuration) settings() Settings {
	profile := c.Profile
	if profile == "" {
		profile = probes.ProfileStandard
	}
	list := func(expressions []string) []string { return append([]string{}, expressions...) } // which JSON shows as a list
	return Settings{profile, c.MaxOverhead, list(c.SelectNodes), list(c.IgnoreNodes), list(c.SelectTopics), list(c.IgnoreTopics)}
}

// changed is the configuration with other settings.
func (c Configuration) changed(s Settings) Configuration {
	c.Profile, c.MaxOverhead = s.Profile, s.MaxOverhead
	c.SelectNodes, c.IgnoreNodes, c.SelectTopics, c.IgnoreTopics = s.SelectNodes, s.IgnoreNodes, s.SelectTopics, s.IgnoreTopics
	return c
}

// Settings are those of now.
func (h *Handle) Settings() Settings { return h.session.settings.get() }

// Change gives the recording other settings, which change makes of those of now, and returns them when they have taken
// effect: what begins from then on is recorded by them, what had ended before by the former ones. It fails with
// ErrConfiguration, ErrOver or ctx's error; then nothing was changed. What cannot be detached or attached is warned of.
func (h *Handle) Change(ctx context.Context, change func(*Settings)) (Settings, error) {
	err := h.whileItLasts(ctx, func(ctx context.Context) error {
		return h.session.ask(ctx, func(ctx context.Context) error { return h.session.change(ctx, change) })
	})
	return h.Settings(), err
}

// change is of the session's own goroutine.
func (s *Session) change(ctx context.Context, change func(*Settings)) error {
	if !s.options.Driven {
		return errNotDriven
	}
	former := s.settings.get()
	next := former
	change(&next)
	compiled, err := s.configuration.changed(next).compile()
	if err != nil {
		return err
	}
	next = compiled.settings()
	if began := s.configuration.settings().Profile; slices.Index(probes.Profiles(), next.Profile) > slices.Index(probes.Profiles(), began) {
		return fmt.Errorf("%w: the profile cannot be larger than %s, with which the recording began", ErrConfiguration, began)
	}
	changed := differences(former, next)
	values := make([]any, len(changed))
	for i, d := range changed {
		values[i] = d.value
	}
	if !s.hasRoom(values...) {
		return errChanges
	}
	if err := s.changeFilter(ctx, former, next, &compiled.filter); err != nil {
		return err
	}
	if next.Profile != former.Profile || next.MaxOverhead != former.MaxOverhead {
		s.changeProbes(ctx, former, next)
	}
	s.settings.set(next)
	for _, d := range changed {
		s.noteChange(d.name, d.value)
	}
	return nil
}

// changeFilter has what was recorded before be judged by the former filter.
func (s *Session) changeFilter(ctx context.Context, former, next Settings, filter *merge.Filter) error {
	former.Profile, former.MaxOverhead = next.Profile, next.MaxOverhead
	if reflect.DeepEqual(former, next) {
		return nil
	}
	if err := s.loader.Drain(ctx); err != nil {
		return fmt.Errorf("reading what was recorded: %w", err)
	}
	s.merger.SetFilter(filter)
	return nil
}

// changeProbes detaches what is not wanted any more, and attaches what is wanted again.
func (s *Session) changeProbes(ctx context.Context, former, next Settings) {
	if c := s.configuration; c.Raw && c.rawByProfile && next.Profile != former.Profile {
		s.journal.warn(s.loader.PauseRaw(next.Profile != probes.ProfileFull))
	}
	wanted := s.attacher.Change(next.MaxOverhead, next.Profile)
	if len(wanted) == 0 {
		return
	}
	s.attacher.BeginReinstating(wanted)
	if s.configuration.systemWide() {
		toCome := <-s.planToCome(ctx)
		s.prefixes.arm(ctx, s.attacher, toCome)
		endPrepared(toCome)
	}
	for _, entry := range s.processes.all() {
		if entry := s.processes.living(entry.row.PID); entry != nil && entry.recorded {
			s.journal.warn(s.follower.attach(ctx, entry))
		}
	}
	s.journal.warn(s.attacher.EndReinstating())
}

// difference is a setting that was changed.
type difference struct {
	name  string
	value any
}

func differences(former, next Settings) (all []difference) {
	for _, d := range []struct {
		name          string
		former, value any
	}{
		{"profile", former.Profile, next.Profile},
		{"max-overhead", former.MaxOverhead, next.MaxOverhead},
		{"select-node", former.SelectNodes, next.SelectNodes},
		{"ignore-node", former.IgnoreNodes, next.IgnoreNodes},
		{"select-topic", former.SelectTopics, next.SelectTopics},
		{"ignore-topic", former.IgnoreTopics, next.IgnoreTopics},
	} {
		if !reflect.DeepEqual(d.former, d.value) {
			all = append(all, difference{d.name, d.value})
		}
	}
	return all
}
