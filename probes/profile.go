package probes

import (
	"fmt"
	"slices"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/distros"
)

// Profile trades what is recorded for what it costs.
type Profile string

const (
	// ProfileMinimal records callbacks, takes and publishes by the last layer that says which publish it was and joins it
	// to its callbacks.
	ProfileMinimal Profile = "minimal"
	// ProfileStandard records every event but those that are for ProfileFull only. The empty profile is the same.
	ProfileStandard Profile = "standard"
	// ProfileFull records every event, and keeps every hit as a row of its own.
	ProfileFull Profile = "full"
)

// Profiles are all profiles, the cheapest first.
func Profiles() []Profile { return []Profile{ProfileMinimal, ProfileStandard, ProfileFull} }

// leavesOut reports whether a profile never records an event.
func (p Profile) leavesOut(entry Entry) bool { return entry.OnlyFull && p != ProfileFull }

// LeavesOut reports whether a profile records nothing of a unit's optional sites.
func (p Profile) LeavesOut(unit abi.Unit) bool {
	return p == ProfileMinimal || slices.ContainsFunc(catalogue, func(e Entry) bool { return p.leavesOut(e) && abi.UnitOf(e.Event) == unit })
}

// markOptional says of each site whether callbacks, takes and publishes can do without it.
func (p *Plan) markOptional(observed map[abi.Event]bool) {
	layers := p.neededLayers(observed)
	stampOfDDS := slices.Contains(layers, abi.EventDDSBindAddrToStamp)
	for i := range p.Sites {
		site := &p.Sites[i]
		switch event := site.Event; {
		case event.IsInit(), event == abi.EventCallbackStart, event == abi.EventCallbackEnd:
		case event == abi.EventExceptionCaught, event == abi.EventServiceExecuted:
			// Without them callbacks that are over would seem to enclose what follows.
		case event == abi.EventExecutorExecute:
			site.Optional = observed[abi.EventExceptionCaught] && !p.options.Steps
		case event == abi.EventRMWTake:
			// Loaned messages, and serialized ones on Humble and Iron, are taken past the tracepoint.
			site.Optional = site.Unit() == abi.UnitTakeDetails ||
				site.Unit() == abi.UnitSerializedTakes && !slices.Contains(humbleAndIron, p.Distro.Like())
		case isLayer(event):
			site.Optional = !slices.Contains(layers, event)
		case event == abi.EventRequestSent, event == abi.EventRequestTaken, event == abi.EventResponseSent, event == abi.EventResponseTaken:
			// They write through the DDS library, too: its timestamp must not go to a publish that has failed before.
			site.Optional = !stampOfDDS
		default:
			site.Optional = true
		}
	}
}

// leaveOutOptional makes the plan that of ProfileMinimal.
func (p *Plan) leaveOutOptional(observed map[abi.Event]bool) {
	const reason = "the profile minimal leaves it out"
	p.Omit(func(site Site) bool { return site.Optional }, reason)
	for event := range observed {
		observed[event] = observed[event] && slices.ContainsFunc(p.Sites, func(s Site) bool { return s.Event == event })
	}
	// Where no site of its own shows it, the profile does not ask for what another one carries of it.
	if dequeue, _ := Lookup(abi.EventRclcppRingBufferDequeue); dequeue.carrier(p.Distro) != 0 {
		p.Missing = append(p.Missing, Missing{Event: dequeue.Event, Reason: reason, Consequence: dequeue.Consequence})
	}
}

// neededLayers returns the layers of a publish that tell its publisher and its source timestamp.
func (p *Plan) neededLayers(observed map[abi.Event]bool) []abi.Event {
	stamped := slices.ContainsFunc(p.Sites, func(s Site) bool { return s.Event == abi.EventRMWPublish && s.Form == abi.FormArguments })
	switch {
	case stamped:
		return []abi.Event{abi.EventRMWPublish}
	case observed[abi.EventRclPublish]:
		return []abi.Event{abi.EventRclPublish, abi.EventDDSBindAddrToStamp}
	}
	return []abi.Event{abi.EventRclcppPublish, abi.EventRclPublish, abi.EventRMWPublish, abi.EventDDSBindAddrToStamp}
}

func isLayer(e abi.Event) bool {
	return e == abi.EventRclcppPublish || e == abi.EventRclPublish || e == abi.EventRMWPublish || e == abi.EventDDSBindAddrToStamp
}

// Omit removes sites from the plan, and says why they are missing.
func (p *Plan) Omit(unwanted func(Site) bool, reason string) {
	omitted := make(map[abi.Event][]abi.Unit)
	p.Sites = slices.DeleteFunc(p.Sites, func(site Site) bool {
		if !unwanted(site) {
			return false
		}
		if !slices.Contains(omitted[site.Event], site.Unit()) {
			omitted[site.Event] = append(omitted[site.Event], site.Unit())
		}
		return true
	})
	for _, entry := range catalogue {
		rest := slices.ContainsFunc(p.Sites, func(s Site) bool { return s.Event == entry.Event })
		switch carrier := entry.carrier(p.Distro); {
		case rest:
			for _, unit := range omitted[entry.Event] {
				p.Missing = append(p.Missing, Missing{
					Event: entry.Event, Reason: fmt.Sprintf("%s: %s", unit, reason), Consequence: entry.consequenceOf(unit, p.Distro), Partial: true,
				})
			}
		case len(omitted[entry.Event]) > 0, len(omitted[carrier]) > 0 && !slices.ContainsFunc(p.Sites, func(s Site) bool { return s.Event == carrier }):
			p.Missing = append(p.Missing, Missing{Event: entry.Event, Reason: reason, Consequence: entry.Consequence})
		}
	}
}

// carrier returns the event whose record holds the entry's fields on a distribution, 0 if there is none.
func (e Entry) carrier(distro distros.Distro) abi.Event {
	for _, source := range e.sources(distro) {
		if source.CarriedBy != 0 {
			return source.CarriedBy
		}
	}
	return 0
}

// consequenceOf says what a recording lacks without a unit of an event that has others.
func (e Entry) consequenceOf(unit abi.Unit, distro distros.Distro) string {
	for _, source := range e.sources(distro) {
		if source.Consequence != "" && (Site{Event: e.Event, Form: source.Form}).Unit() == unit {
			return source.Consequence
		}
	}
	return e.Consequence
}
