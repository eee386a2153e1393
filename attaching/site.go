package attaching

import (
	"cmp"
	"maps"
	"slices"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/target"
)

// siteKey identifies an attached site.
type siteKey struct {
	file   target.FileID // one real file seen through several overlay mounts is one
	offset uint64
	event  abi.Event
}

func keyOf(site probes.Site) siteKey {
	return siteKey{site.File, site.Offset, site.Event}
}

// attachedSites are the sites that were attached, or tried, in one process or in every one.
type attachedSites map[siteKey]siteState

// siteState says what became of attaching a site.
type siteState struct {
	// settled says that it need not be tried again: it is attached, or can never be.
	settled bool
	// at is when it was attached, CLOCK_MONOTONIC in nanoseconds; 0 if it is not.
	at int64
	// unit is that of a site that may be retired; notOptional for all others.
	unit abi.Unit
}

func (s attachedSites) settled(site probes.Site) bool { return s[keyOf(site)].settled }

// recordFrom says that what is attached records from an instant of CLOCK_MONOTONIC in nanoseconds on.
func (s attachedSites) recordFrom(at int64) {
	for key, state := range s {
		if state.at != 0 {
			state.at = at
			s[key] = state
		}
	}
}

// forget removes what is known of a file.
func (s attachedSites) forget(file target.FileID) {
	maps.DeleteFunc(s, func(key siteKey, _ siteState) bool { return key.file == file })
}

// forgetUnits has the sites of units be attached again that were retired.
func (s attachedSites) forgetUnits(units []abi.Unit) {
	maps.DeleteFunc(s, func(_ siteKey, state siteState) bool { return slices.Contains(units, state.unit) })
}

// sortForAttaching puts sites into the order in which they are attached.
func sortForAttaching(sites []probes.Site) {
	slices.SortStableFunc(sites, func(a, b probes.Site) int { return cmp.Compare(attachRank(a.Event), attachRank(b.Event)) })
}

// attachOrder is the order in which events are attached of which one belongs to another: a process that runs meanwhile
// must not seem to begin what does not end.
var attachOrder = []abi.Event{
	abi.EventCallbackEnd, abi.EventCallbackStart, abi.EventExceptionCaught, abi.EventServiceExecuted, abi.EventExecutorExecute, abi.EventRMWTake,
	abi.EventRclcppRingBufferDequeue,
	abi.EventResponseTaken, abi.EventResponseSent, abi.EventRequestTaken, abi.EventRequestSent,
	abi.EventDDSBindAddrToStamp, abi.EventRMWPublish, abi.EventRclPublish, abi.EventRclcppPublish,
	abi.EventRclcppRingBufferEnqueue, abi.EventRclcppIntraPublish,
}

// attachRank is an event's place in the attachOrder. Others, such as initialization events, have the place -1 and come
// before all.
func attachRank(event abi.Event) int { return slices.Index(attachOrder, event) }

// shareable is a site as it may be attached for every process. Whether a publish ends with a message-only rmw_publish
// depends on the RMW implementation, and libtracetools is shared by processes with different ones: it must not end
// there for any.
func shareable(site probes.Site) probes.Site {
	if site.Event == abi.EventRMWPublish && site.Form == abi.FormMessageOnly {
		site.LastLayer = false
	}
	return site
}
