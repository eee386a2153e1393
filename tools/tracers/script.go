package tracers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
)

// Recorded are the events whose fields make the complete record of a callback and of a publish. What else a recording
// probes helps it to pair them.
func Recorded() []abi.Event {
	return []abi.Event{
		abi.EventCallbackStart, abi.EventCallbackEnd, abi.EventRclcppPublish, abi.EventRclPublish, abi.EventRMWPublish,
		abi.EventDDSBindAddrToStamp, abi.EventRMWTake,
	}
}

// Printed keeps the sites whose functions a user of bpftrace would probe for the same rows. Functions for serialized
// and loaned messages are left out.
func Printed(sites []probes.Site) []probes.Site {
	return slices.DeleteFunc(slices.Clone(sites), func(s probes.Site) bool { return !slices.Contains(Recorded(), s.Event) || fieldsOf(s) == "" })
}

// fieldsOf are the expressions of bpftrace that give an event's fields at a site, "" if the site is of no use.
func fieldsOf(s probes.Site) string {
	type shape struct {
		event abi.Event
		form  abi.Form
	}
	switch (shape{s.Event, s.Form}) {
	case shape{abi.EventCallbackStart, abi.FormArguments}:
		return "arg0, arg1"
	case shape{abi.EventCallbackEnd, abi.FormArguments}, shape{abi.EventRMWPublish, abi.FormMessageOnly}:
		return "arg0"
	case shape{abi.EventRclcppPublish, abi.FormArguments}:
		return "arg1"
	case shape{abi.EventRclPublish, abi.FormArguments}:
		return "arg0, arg1"
	case shape{abi.EventRMWPublish, abi.FormArguments}:
		return "arg0, arg1, arg2"
	case shape{abi.EventRMWTake, abi.FormArguments}:
		return "arg0, arg1, arg2, arg3"
	case shape{abi.EventDDSBindAddrToStamp, abi.FormFastDDS}:
		return fmt.Sprintf("*(int32 *)(arg1 + %d), *(uint32 *)(arg1 + %d)", s.Parameter, s.Parameter+8)
	case shape{abi.EventDDSBindAddrToStamp, abi.FormCycloneDDSWrite}:
		return "arg1" // of dds_write itself: distributions build bpftrace without probes in the middle of functions, where the timestamp is
	}
	return ""
}

// script is a bpftrace script that prints thread, time, event and fields of every hit that passes the filter, a line
// each.
func script(sites []probes.Site, filter string) string {
	var text strings.Builder
	for _, s := range Printed(sites) {
		fields := fieldsOf(s)
		format := strings.Repeat(" %lx", strings.Count(fields, ",")+1)
		fmt.Fprintf(&text, "uprobe:%s:%q %s { printf(\"%%d %%llu %s%s\\n\", tid, nsecs, %s); }\n", s.Path, s.Symbol, filter, s.Event, format, fields)
	}
	return text.String()
}
