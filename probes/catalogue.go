package probes

import (
	"fmt"
	"slices"

	"github.com/caret-bpf/caret-bpf/layouts"
	"github.com/caret-bpf/caret-bpf/target"
)

// Entry is one row of the catalogue: an event and everything known about where stock binaries show it.
type Entry struct {
	Event Event
	Name  string
	// Arguments are the tracepoint's arguments in order, as form 0 of a site finds them in the argument registers.
	Arguments []string
	// Required marks the events without which a recording says nothing: a plan without them is an error.
	Required bool
	// Consequence says what a recording lacks without the event.
	Consequence string
	// Sources are the places that show the event; of those that fit a process the first in order is used.
	Sources []Source
	// Absences say why a distribution has no source.
	Absences []Absence
}

// Source is one place that shows an event.
type Source struct {
	// Distros are the distributions whose stock builds have it.
	Distros []string
	Library Library
	// Symbol is the exported function, as the dynamic symbol table spells it, without a version. With Prefix set it is the
	// beginning of the name, which exactly one function must have.
	Symbol string
	Prefix bool
	// AfterCallOf, when set, moves the site from the entry of Symbol to the call that follows the call of this function in it.
	AfterCallOf string
	Form        Form
	Provenance  Provenance
	// Shows says in one line what a probe finds there.
	Shows string
	// RMW, when set, is the beginning of the names of the RMW implementations that use the library. Sources of different RMW
	// implementations do not exclude each other, because it may not be known yet which one the process will load.
	RMW string
	// CarriedBy, when set, names the event whose record already holds this one's fields: no site is needed.
	CarriedBy Event
}

// Absence says why some distributions cannot show an event.
type Absence struct {
	Distros []string
	Reason  string
}

// Form tells the kernel program how a site presents the event's fields.
type Form uint8

// Forms of rmw_publish.
const (
	// FormArguments: the argument registers hold the tracepoint's arguments in order. It is every event's form 0.
	FormArguments Form = 0
	// FormMessageOnly: rmw_publish of Humble and Iron, whose only argument is the message.
	FormMessageOnly Form = 1
)

// Forms of dds_bind_addr_to_stamp.
const (
	// FormFastDDS: the second argument is a CacheChange_t; the site's parameter is the offset of its sourceTimestamp
	// (int32 seconds, uint32 fraction, uint32 nanoseconds).
	FormFastDDS Form = 0
	// FormCycloneDDSWrite: at the call of dds_write_impl in dds_write; the third argument is the timestamp in nanoseconds.
	FormCycloneDDSWrite Form = 1
)

// Provenance says what kind of place shows an event.
type Provenance string

const (
	// FromTracepoint: the function that the ROS 2 tracepoint calls.
	FromTracepoint Provenance = "tracepoint"
	// FromSymbol: another function of a stock library.
	FromSymbol Provenance = "symbol"
)

var (
	everyDistro    = layouts.Distros()
	humble         = []string{"humble"}
	humbleAndIron  = []string{"humble", "iron"}
	fromIron       = []string{"iron", "jazzy", "kilted", "lyrical"}
	fromJazzy      = []string{"jazzy", "kilted", "lyrical"}
	humbleHasNoIPC = []Absence{{humble, "Humble's tracetools has no such tracepoint"}}
)

const (
	onlyPublishNames = "publishes of that layer have no time of it"
	noIntraProcess   = "intra-process communication is not recorded; callbacks that it feeds are"
	noInitEvent      = "entities created during the recording are found in memory where possible"
)

// tracepoint is the source that most events have: libtracetools' own function.
func tracepoint(distros []string, name string, form Form, shows string) Source {
	return Source{
		Distros: distros, Library: LibraryTracetools, Symbol: "ros_trace_" + name, Form: form,
		Provenance: FromTracepoint, Shows: shows,
	}
}

// catalogue is the table of all events, in the order of their numbers.
var catalogue = []Entry{
	{
		Event: EventCallbackStart, Name: "callback_start", Arguments: []string{"callback", "is_intra_process"}, Required: true,
		Consequence: "no callback can be recorded",
		Sources:     []Source{tracepoint(everyDistro, "callback_start", FormArguments, "arguments 1-2")},
	},
	{
		Event: EventCallbackEnd, Name: "callback_end", Arguments: []string{"callback"}, Required: true,
		Consequence: "no callback can be recorded",
		Sources:     []Source{tracepoint(everyDistro, "callback_end", FormArguments, "argument 1")},
	},
	{
		Event: EventRclcppPublish, Name: "rclcpp_publish", Arguments: []string{"publisher_handle (always null)", "message"},
		Consequence: onlyPublishNames,
		Sources:     []Source{tracepoint(everyDistro, "rclcpp_publish", FormArguments, "argument 2; the publisher comes from rcl_publish")},
	},
	{
		Event: EventRclPublish, Name: "rcl_publish", Arguments: []string{"publisher_handle", "message"},
		Consequence: "publishes have no publisher, so no topic and no node",
		Sources: []Source{
			tracepoint(everyDistro, "rcl_publish", FormArguments, "arguments 1-2"),
			{
				Distros: everyDistro, Library: LibraryRcl, Symbol: "rcl_publish", Provenance: FromSymbol,
				Shows: "arguments 1-2 of the function; publishes that fail its checks are included",
			},
		},
	},
	{
		Event: EventRMWPublish, Name: "rmw_publish", Arguments: []string{"rmw_publisher_handle", "message", "timestamp"},
		Consequence: onlyPublishNames + "; from Jazzy on they also have no source timestamp and cannot be joined to callbacks",
		Sources: []Source{
			tracepoint(humbleAndIron, "rmw_publish", FormMessageOnly, "argument 1 is the message; CARET's dds_write"),
			tracepoint(fromJazzy, "rmw_publish", FormArguments, "arguments 1-3, with the source timestamp; CARET's dds_write"),
		},
	},
	{
		Event: EventDDSBindAddrToStamp, Name: "dds_bind_addr_to_stamp", Arguments: []string{"message", "source_timestamp"},
		Consequence: "publishes have no source timestamp and cannot be joined to the callbacks that they caused",
		Sources: []Source{
			{
				Distros: humbleAndIron, Library: LibraryFastDDS2, RMW: "rmw_fastrtps", Provenance: FromSymbol, Form: FormFastDDS,
				Symbol: "_ZN8eprosima8fastrtps4rtps13WriterHistory13set_fragmentsEPNS1_13CacheChange_tE",
				Shows:  "argument 2 is the CacheChange_t, already stamped; the message is that of the enclosing rmw_publish",
			},
			{
				Distros: humbleAndIron, Library: LibraryCycloneDDS, RMW: "rmw_cyclonedds", Provenance: FromSymbol, Form: FormCycloneDDSWrite,
				Symbol: "dds_write", AfterCallOf: "dds_time",
				Shows: "argument 2 is the message, argument 3 the timestamp",
			},
			{Distros: fromJazzy, CarriedBy: EventRMWPublish, Shows: "the timestamp argument"},
		},
	},
	{
		Event: EventRclcppIntraPublish, Name: "rclcpp_intra_publish", Arguments: []string{"publisher_handle", "message"},
		Consequence: noIntraProcess,
		Sources:     []Source{tracepoint(fromIron, "rclcpp_intra_publish", FormArguments, "arguments 1-2")},
		Absences:    humbleHasNoIPC,
	},
	{
		Event: EventRclcppRingBufferEnqueue, Name: "rclcpp_ring_buffer_enqueue",
		Arguments:   []string{"buffer", "index", "size", "overwritten"},
		Consequence: noIntraProcess,
		Sources:     []Source{tracepoint(fromIron, "rclcpp_ring_buffer_enqueue", FormArguments, "arguments 1-4")},
		Absences:    humbleHasNoIPC,
	},
	{
		Event: EventRclcppRingBufferDequeue, Name: "rclcpp_ring_buffer_dequeue",
		Arguments:   []string{"buffer", "index", "size"},
		Consequence: noIntraProcess,
		Sources:     []Source{tracepoint(fromIron, "rclcpp_ring_buffer_dequeue", FormArguments, "arguments 1-3")},
		Absences:    humbleHasNoIPC,
	},
	{
		Event: EventRMWTake, Name: "rmw_take", Arguments: []string{"rmw_subscription_handle", "message", "source_timestamp", "taken"},
		Consequence: "callbacks do not know the message that they received and cannot be joined to publishes",
		Sources: []Source{tracepoint(everyDistro, "rmw_take", FormArguments,
			"arguments 1-4; Humble and Iron: not for serialized or loaned takes")},
	},
	{
		Event: EventExecutorExecute, Name: "executor_execute", Arguments: []string{"executor", "any_executable"},
		Consequence: "a take is kept for the next callback of its thread even when the executor went on to something else",
		Sources: []Source{{
			Distros: everyDistro, Library: LibraryRclcpp, Provenance: FromSymbol, Prefix: true,
			Symbol: "_ZN6rclcpp8Executor22execute_any_executableE", Shows: "arguments 1-2 of Executor::execute_any_executable",
		}},
	},
	initEntry(EventRclInit, "rcl_init", "context_handle"),
	initEntry(EventRclNodeInit, "rcl_node_init", "node_handle", "rmw_handle", "node_name", "namespace"),
	initEntry(EventRclPublisherInit, "rcl_publisher_init",
		"publisher_handle", "node_handle", "rmw_publisher_handle", "topic_name", "queue_depth"),
	initEntry(EventRclSubscriptionInit, "rcl_subscription_init",
		"subscription_handle", "node_handle", "rmw_subscription_handle", "topic_name", "queue_depth"),
	initEntry(EventRclcppSubscriptionInit, "rclcpp_subscription_init", "subscription_handle", "subscription"),
	initEntry(EventRclcppSubscriptionCallbackAdded, "rclcpp_subscription_callback_added", "subscription", "callback"),
	initEntry(EventRclTimerInit, "rcl_timer_init", "timer_handle", "period"),
	initEntry(EventRclcppTimerCallbackAdded, "rclcpp_timer_callback_added", "timer_handle", "callback"),
	initEntry(EventRclcppTimerLinkNode, "rclcpp_timer_link_node", "timer_handle", "node_handle"),
	{
		Event: EventRclcppCallbackRegister, Name: "rclcpp_callback_register", Arguments: []string{"callback", "symbol"},
		Consequence: "the function of a timer's callback is read from run-time type information, that of other callbacks is not known",
		Sources: []Source{tracepoint(humble, "rclcpp_callback_register", FormArguments,
			"arguments 1-2; the symbol is a placeholder where tracetools was built without LTTng, as for Humble's packages")},
		Absences: []Absence{{
			fromIron, "rclcpp calls it only while an LTTng session has the event enabled",
		}},
	},
	initEntry(EventRclServiceInit, "rcl_service_init", "service_handle", "node_handle", "rmw_service_handle", "service_name"),
	initEntry(EventRclcppServiceCallbackAdded, "rclcpp_service_callback_added", "service_handle", "callback"),
	initEntry(EventRclClientInit, "rcl_client_init", "client_handle", "node_handle", "rmw_client_handle", "service_name"),
}

func initEntry(event Event, name string, arguments ...string) Entry {
	return Entry{
		Event: event, Name: name, Arguments: arguments, Consequence: noInitEvent,
		Sources: []Source{tracepoint(everyDistro, name, FormArguments, "all arguments in order")},
	}
}

// Catalogue returns all events in the order of their numbers. The caller must not change what it holds.
func Catalogue() []Entry { return slices.Clone(catalogue) }

// Lookup returns the catalogue's entry of an event.
func Lookup(event Event) (Entry, bool) {
	for _, entry := range catalogue {
		if entry.Event == event {
			return entry, true
		}
	}
	return Entry{}, false
}

// sources returns the entry's sources for a distribution, in order of preference. For an unknown distribution they are those
// that every distribution has.
func (e Entry) sources(distro target.Distro) []Source {
	var sources []Source
	for _, source := range e.Sources {
		if slices.Contains(source.Distros, catalogueName(distro)) || len(source.Distros) == len(everyDistro) {
			sources = append(sources, source)
		}
	}
	return sources
}

// absence returns why a distribution has no source for the event.
func (e Entry) absence(distro target.Distro) string {
	for _, absence := range e.Absences {
		if slices.Contains(absence.Distros, catalogueName(distro)) {
			return absence.Reason
		}
	}
	if distro == target.DistroUnknown {
		return "the distribution of the process is not known, on which it depends"
	}
	return fmt.Sprintf("no source is known for %s", distro)
}

// catalogueName returns the distribution whose entries hold for one: Rolling is taken to be like the newest.
func catalogueName(distro target.Distro) string {
	if distro == target.DistroRolling {
		return string(target.DistroLyrical)
	}
	return string(distro)
}
