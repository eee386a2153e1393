package probes

import (
	"fmt"
	"slices"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/distros"
	"github.com/caret-bpf/caret-bpf/layouts"
)

// Entry is one row of the catalogue: an event and everything known about where stock binaries show it.
type Entry struct {
	Event abi.Event
	Name  string
	// Arguments are the tracepoint's arguments in order, as form 0 of a site finds them in the argument registers.
	Arguments []string
	// Required marks the events without which a recording says nothing: a plan without them is an error.
	Required bool
	// OnlyFull marks the events that no profile but ProfileFull records.
	OnlyFull bool
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
	Distros []distros.Distro
	Library Library
	// Symbol is the exported function, as the dynamic symbol table spells it, without a version. With Prefix set it is the
	// beginning of the name, which exactly one function must have.
	Symbol string
	Prefix bool
	// AfterCallOf, when set, moves the site from the entry of Symbol to the call that follows the call of this function in
	// it.
	AfterCallOf string
	// ReturnOf, when set, adds a second site, with the next form: the instruction that the call of this function in Symbol
	// returns to. What a function gives back through pointers is read there.
	ReturnOf string
	// Answer, when set, is the position (from 1) of the argument of ReturnOf by which that function says whether there was
	// anything to give: the address of a bool of Symbol's. How far above the stack pointer it lies at the second site is
	// that one's parameter, plus 1; 0 if not found.
	Answer int
	// Returns, when set, moves the site from the entry of Symbol to the instructions that calls of it in the library
	// return to.
	Returns bool
	// Offset, when set, gives the site's parameter for a distribution.
	Offset func(*layouts.Layout) uint64
	// OffsetOptional says that the source is of use without its parameter, which is then 0.
	OffsetOptional bool
	// Besides marks a source that is used whichever other source is: it shows other instances of the event, or other
	// fields.
	Besides bool
	// Consequence says what a recording lacks without a source that is used besides others.
	Consequence string
	Form        abi.Form
	Provenance  Provenance
	// Shows says in one line what a probe finds there.
	Shows string
	// RMW, when set, is the beginning of the names of the RMW implementations that use the library. Sources of different
	// RMW implementations do not exclude each other, because it may not be known yet which one the process will load.
	RMW string
	// CarriedBy, when set, names the event whose record already holds this one's fields: no site is needed.
	CarriedBy abi.Event
}

// Absence says why some distributions cannot show an event.
type Absence struct {
	Distros []distros.Distro
	Reason  string
}

// Provenance says what kind of place shows an event.
type Provenance string

const (
	// FromTracepoint: the function that the ROS 2 tracepoint calls.
	FromTracepoint Provenance = "tracepoint"
	// FromSymbol: another function of a stock library.
	FromSymbol Provenance = "symbol"
	// Derived: concluded from functions that are called at the same point.
	Derived Provenance = "derived"
)

var (
	everyDistro    = distros.Released()
	humble         = distros.Until(distros.Humble)
	humbleAndIron  = distros.Until(distros.Iron)
	fromIron       = distros.Since(distros.Iron)
	fromJazzy      = distros.Since(distros.Jazzy)
	untilKilted    = distros.Until(distros.Kilted)
	humbleHasNoIPC = []Absence{{humble, "Humble's tracetools has no such tracepoint; the buffers are read from memory"}}
)

const (
	onlyPublishNames = "publishes of that layer have no time of it"
	noIntraProcess   = "intra-process communication is not recorded; callbacks that it feeds are"
	noInitEvent      = "entities created during the recording are found in memory where possible"
	noService        = "that step of service calls is not recorded"
	noGroups         = "callback groups and executors are those found in memory"
	noEnd            = "rows of entities do not say when they were destroyed"
)

// tracepoint is the source that most events have: libtracetools' own function.
func tracepoint(of []distros.Distro, name string, form abi.Form, shows string) Source {
	return Source{
		Distros: of, Library: LibraryTracetools, Symbol: "ros_trace_" + name, Form: form,
		Provenance: FromTracepoint, Shows: shows,
	}
}

// catalogue is the table of all events, in the order of their numbers.
var catalogue = []Entry{
	{
		Event: abi.EventCallbackStart, Name: "callback_start", Arguments: []string{"callback", "is_intra_process"}, Required: true,
		Consequence: "no callback can be recorded",
		Sources: []Source{
			tracepoint(everyDistro, "callback_start", abi.FormArguments, "arguments 1-2"),
			genericCallback("_ZN6rclcpp19GenericSubscription25handle_serialized_messageE", "GenericSubscription::handle_serialized_message, which calls the callback"),
		},
	},
	{
		Event: abi.EventCallbackEnd, Name: "callback_end", Arguments: []string{"callback"}, Required: true,
		Consequence: "no callback can be recorded",
		Sources: []Source{
			tracepoint(everyDistro, "callback_end", abi.FormArguments, "argument 1"),
			genericCallback("_ZN6rclcpp19GenericSubscription25return_serialized_messageE", "GenericSubscription::return_serialized_message, which the executor calls next"),
		},
	},
	{
		Event: abi.EventRclcppPublish, Name: "rclcpp_publish", Arguments: []string{"publisher_handle (always null)", "message"},
		Consequence: onlyPublishNames,
		Sources:     []Source{tracepoint(everyDistro, "rclcpp_publish", abi.FormArguments, "argument 2; the publisher comes from rcl_publish")},
	},
	{
		Event: abi.EventRclPublish, Name: "rcl_publish", Arguments: []string{"publisher_handle", "message"},
		Consequence: "publishes have no publisher, so no topic and no node",
		Sources: []Source{
			withOffset(tracepoint(everyDistro, "rcl_publish", abi.FormArguments, "arguments 1-2"), rmwPublisher),
			{
				Distros: everyDistro, Library: LibraryRcl, Symbol: "rcl_publish", Offset: rmwPublisher, OffsetOptional: true, Provenance: FromSymbol,
				Shows: "arguments 1-2 of the function; publishes that fail its checks are included",
			},
			{
				Distros: everyDistro, Library: LibraryRcl, Symbol: "rcl_publish_serialized_message", Offset: rmwPublisher, OffsetOptional: true, Provenance: FromSymbol, Form: abi.FormSerialized,
				Besides: true, Shows: "arguments 1-2: the message is an rcl_serialized_message_t",
				Consequence: "publishes of serialized messages, as of generic publishers, have no publisher",
			},
			{
				Distros: everyDistro, Library: LibraryRcl, Symbol: "rcl_publish_loaned_message", Offset: rmwPublisher, OffsetOptional: true, Provenance: FromSymbol, Form: abi.FormLoaned,
				Besides: true, Shows: "arguments 1-2",
				Consequence: "publishes of loaned messages do not say that they are, and on Humble and Iron have no publisher",
			},
		},
	},
	{
		Event: abi.EventRMWPublish, Name: "rmw_publish", Arguments: []string{"rmw_publisher_handle", "message", "timestamp"},
		Consequence: onlyPublishNames + "; from Jazzy on they also have no source timestamp and cannot be joined to callbacks",
		Sources: []Source{
			tracepoint(humbleAndIron, "rmw_publish", abi.FormMessageOnly, "argument 1 is the message; CARET's dds_write"),
			tracepoint(fromJazzy, "rmw_publish", abi.FormArguments, "arguments 1-3, with the source timestamp; CARET's dds_write"),
		},
	},
	{
		Event: abi.EventDDSBindAddrToStamp, Name: "dds_bind_addr_to_stamp", Arguments: []string{"message", "source_timestamp"},
		Consequence: "publishes have no source timestamp and cannot be joined to the callbacks that they caused",
		Sources: []Source{
			{
				Distros: humbleAndIron, Library: LibraryFastDDS2, RMW: "rmw_fastrtps", Provenance: FromSymbol, Form: abi.FormFastDDS,
				Symbol: "_ZN8eprosima8fastrtps4rtps13WriterHistory13set_fragmentsEPNS1_13CacheChange_tE",
				Shows:  "argument 2 is the CacheChange_t, already stamped; the message is that of the enclosing rmw_publish",
			},
			{
				Distros: humbleAndIron, Library: LibraryFastDDS3, RMW: "rmw_fastrtps", Provenance: FromSymbol, Form: abi.FormFastDDS,
				Symbol: "_ZN8eprosima7fastdds4rtps13WriterHistory13set_fragmentsEPNS1_13CacheChange_tE",
				Shows:  "as in libfastrtps.so; no release of theirs, but the stand-in on Debian 13",
			},
			{
				Distros: humbleAndIron, Library: LibraryCycloneDDS, RMW: "rmw_cyclonedds", Provenance: FromSymbol, Form: abi.FormCycloneDDSWrite,
				Symbol: "dds_write", AfterCallOf: "dds_time",
				Shows: "argument 2 is the message, argument 3 the timestamp",
			},
			{
				Distros: humbleAndIron, Library: LibraryCycloneDDS, RMW: "rmw_cyclonedds", Provenance: FromSymbol, Form: abi.FormCycloneDDSSerdata,
				Symbol: "dds_writecdr", AfterCallOf: "dds_time", Besides: true,
				Offset:      func(*layouts.Layout) uint64 { return serdataTimestamp },
				Shows:       "argument 3 is the ddsi_serdata, already stamped; serialized and loaned messages",
				Consequence: "publishes of serialized and loaned messages have no source timestamp",
			},
			{Distros: fromJazzy, CarriedBy: abi.EventRMWPublish, Shows: "the timestamp argument"},
		},
	},
	{
		Event: abi.EventRclcppIntraPublish, Name: "rclcpp_intra_publish", Arguments: []string{"publisher_handle", "message"},
		Consequence: noIntraProcess,
		Sources: []Source{
			tracepoint(fromIron, "rclcpp_intra_publish", abi.FormArguments, "arguments 1-2"),
			{
				Distros: humble, Library: LibraryRclcpp, Provenance: Derived, Form: abi.FormDerived,
				Symbol: "_ZNK6rclcpp13PublisherBase22get_subscription_countEv", Offset: publisherHandle,
				Shows: "PublisherBase::get_subscription_count, with which a publish begins; a publish if an enqueue follows on the thread",
			},
		},
	},
	{
		Event: abi.EventRclcppRingBufferEnqueue, Name: "rclcpp_ring_buffer_enqueue",
		Arguments:   []string{"buffer", "index", "size", "overwritten"},
		Consequence: noIntraProcess,
		Sources: []Source{
			tracepoint(fromIron, "rclcpp_ring_buffer_enqueue", abi.FormArguments, "arguments 1-4"),
			{
				Distros: humble, Library: LibraryRclcpp, Provenance: Derived, Form: abi.FormDerived,
				Symbol: "_ZN6rclcpp14GuardCondition7triggerEv",
				Shows:  "GuardCondition::trigger of an intra-process subscription, which follows its enqueue; the buffer is read from the subscription",
			},
		},
	},
	{
		Event: abi.EventRclcppRingBufferDequeue, Name: "rclcpp_ring_buffer_dequeue",
		Arguments:   []string{"buffer", "index", "size"},
		Consequence: noIntraProcess,
		Sources: []Source{
			tracepoint(fromIron, "rclcpp_ring_buffer_dequeue", abi.FormArguments, "arguments 1-3"),
			{
				Distros: humble, CarriedBy: abi.EventExecutorExecute,
				Shows: "an executable with an intra-process subscription and its data; callback_start shows those of a StaticSingleThreadedExecutor",
			},
		},
	},
	{
		Event: abi.EventRMWTake, Name: "rmw_take", Arguments: []string{"rmw_subscription_handle", "message", "source_timestamp", "taken"},
		Consequence: "callbacks do not know the message that they received and cannot be joined to publishes",
		Sources: []Source{
			tracepoint(everyDistro, "rmw_take", abi.FormArguments, "arguments 1-4"),
			{
				Distros: everyDistro, Library: LibraryRcl, Symbol: "rcl_take", Provenance: FromSymbol, Form: abi.FormTakeEntry, Besides: true,
				Shows:       "argument 3, the rmw_message_info_t, in which the tracepoint then finds the publisher's gid",
				Consequence: "takes do not have the publisher's gid and the message's timestamp",
			},
			{
				Distros: everyDistro, Library: LibraryRcl, Symbol: "rcl_take_serialized_message", Provenance: FromSymbol, Besides: true,
				Form: abi.FormTakeSerializedEntry, ReturnOf: "rmw_take_serialized_message_with_info", Offset: rmwSubscription,
				Shows:       "arguments 1-3 of the function, and the rmw_message_info_t when the rmw function has returned",
				Consequence: "takes of serialized messages, as of generic subscriptions, are not told apart, and on Humble and Iron not recorded",
			},
			{
				Distros: everyDistro, Library: LibraryRcl, Symbol: "rcl_take_loaned_message", Provenance: FromSymbol, Besides: true,
				Form: abi.FormTakeLoanedEntry, ReturnOf: "rmw_take_loaned_message_with_info", Offset: rmwSubscription,
				Shows:       "arguments 1-3 of the function, and message and rmw_message_info_t when the rmw function has returned",
				Consequence: "takes of loaned messages are not told apart, and where there is no tracepoint for them not recorded",
			},
		},
	},
	{
		Event: abi.EventExecutorExecute, Name: "executor_execute", Arguments: []string{"executor", "any_executable"},
		Consequence: "a take is kept for the next callback of its thread even when the executor went on to something else",
		Sources: []Source{
			{
				Distros: fromIron, Library: LibraryRclcpp, Provenance: FromSymbol, Prefix: true,
				Symbol: "_ZN6rclcpp8Executor22execute_any_executableE", Shows: "arguments 1-2 of Executor::execute_any_executable",
			},
			{
				Distros: humble, Library: LibraryRclcpp, Provenance: FromSymbol, Prefix: true, Form: abi.FormDerived,
				Symbol: "_ZN6rclcpp8Executor22execute_any_executableE",
				Shows:  "arguments 1-2; what was taken from an intra-process buffer is read from the executable",
			},
		},
	},
	serviceEntry(abi.EventRequestSent, "request_sent", Source{
		Symbol: "rcl_send_request", ReturnOf: "rmw_send_request",
		Shows: "arguments 1-2, and the sequence number when the rmw function has returned",
	}, "client_handle", "request", "sequence_number"),
	serviceEntry(abi.EventRequestTaken, "request_taken", Source{
		Symbol: "rcl_take_request_with_info", ReturnOf: "rmw_take_request", Answer: 4,
		Shows: "arguments 1 and 3, and the rmw_service_info_t and whether anything was taken when the rmw function has returned",
	}, "service_handle", "request", "sequence_number", "source_timestamp"),
	serviceEntry(abi.EventResponseSent, "response_sent", Source{
		Symbol: "rcl_send_response", Shows: "arguments 1-3: service, rmw_request_id_t, response",
	}, "service_handle", "response", "sequence_number"),
	serviceEntry(abi.EventResponseTaken, "response_taken", Source{
		Symbol: "rcl_take_response_with_info", ReturnOf: "rmw_take_response", Answer: 4,
		Shows: "arguments 1 and 3, and the rmw_service_info_t and whether anything was taken when the rmw function has returned",
	}, "client_handle", "response", "sequence_number", "source_timestamp"),
	{
		Event: abi.EventSimTime, Name: "sim_time", Arguments: []string{"clock", "stamp"}, Consequence: "simulated time is not recorded",
		Sources: []Source{{
			Distros: everyDistro, Library: LibraryRcl, Symbol: "rcl_set_ros_time_override", Provenance: FromSymbol,
			Shows: "arguments 1-2; rclcpp's time source calls it for every message of /clock and every clock of its node",
		}},
	},
	initEntry(abi.EventRclInit, "rcl_init", "context_handle"),
	initEntry(abi.EventRclNodeInit, "rcl_node_init", "node_handle", "rmw_handle", "node_name", "namespace"),
	initEntry(abi.EventRclPublisherInit, "rcl_publisher_init",
		"publisher_handle", "node_handle", "rmw_publisher_handle", "topic_name", "queue_depth"),
	initEntry(abi.EventRclSubscriptionInit, "rcl_subscription_init",
		"subscription_handle", "node_handle", "rmw_subscription_handle", "topic_name", "queue_depth"),
	initEntry(abi.EventRclcppSubscriptionInit, "rclcpp_subscription_init", "subscription_handle", "subscription"),
	{
		Event: abi.EventRclcppSubscriptionCallbackAdded, Name: "rclcpp_subscription_callback_added",
		Arguments: []string{"subscription", "callback", "buffer", "capacity", "ipb"}, Consequence: noInitEvent,
		Sources: []Source{
			tracepoint(humble, "rclcpp_subscription_callback_added", abi.FormDerived,
				"arguments 1-2, and the ring buffer of an intra-process subscription from the object"),
			tracepoint(fromIron, "rclcpp_subscription_callback_added", abi.FormArguments, "arguments 1-2"),
		},
	},
	initEntry(abi.EventRclTimerInit, "rcl_timer_init", "timer_handle", "period"),
	initEntry(abi.EventRclcppTimerCallbackAdded, "rclcpp_timer_callback_added", "timer_handle", "callback"),
	initEntry(abi.EventRclcppTimerLinkNode, "rclcpp_timer_link_node", "timer_handle", "node_handle"),
	{
		Event: abi.EventRclcppCallbackRegister, Name: "rclcpp_callback_register", Arguments: []string{"callback", "symbol"},
		Consequence: "the function of a timer's callback is read from run-time type information, that of other callbacks is not known",
		Sources: []Source{tracepoint(humble, "rclcpp_callback_register", abi.FormArguments,
			"arguments 1-2; the symbol is a placeholder where tracetools was built without LTTng, as for Humble's packages")},
		Absences: []Absence{{
			fromIron, "rclcpp calls it only while an LTTng session has the event enabled",
		}},
	},
	initEntry(abi.EventRclServiceInit, "rcl_service_init", "service_handle", "node_handle", "rmw_service_handle", "service_name", "impl"),
	initEntry(abi.EventRclcppServiceCallbackAdded, "rclcpp_service_callback_added", "service_handle", "callback", "impl"),
	{
		Event: abi.EventRclClientInit, Name: "rcl_client_init", Arguments: []string{"client_handle", "node_handle", "rmw_client_handle", "service_name"},
		Consequence: noInitEvent,
		Sources: []Source{{
			Distros: everyDistro, Library: LibraryTracetools, Symbol: "ros_trace_rcl_client_init", Provenance: FromTracepoint,
			Offset: func(l *layouts.Layout) uint64 { return l.GID.FastDDSClient }, OffsetOptional: true,
			Shows: "all arguments in order, and from the rmw client what servers know it by",
		}},
	},
	intraInitEntry(abi.EventRclcppIPBToSubscription, "rclcpp_ipb_to_subscription", "ipb", "subscription"),
	intraInitEntry(abi.EventRclcppBufferToIPB, "rclcpp_buffer_to_ipb", "buffer", "ipb"),
	intraInitEntry(abi.EventRclcppConstructRingBuffer, "rclcpp_construct_ring_buffer", "buffer", "capacity"),
	initEntry(abi.EventRclLifecycleStateMachineInit, "rcl_lifecycle_state_machine_init", "node_handle", "state_machine"),
	{
		Event: abi.EventConstructExecutor, Name: "construct_executor", Arguments: []string{"executor", "type", "entities_collector"},
		Consequence: noGroups,
		Sources: slices.Concat(
			constructors("_ZN6rclcpp8ExecutorC2ERKNS_15ExecutorOptionsE", abi.FormExecutorBase, everyDistro),
			constructors("_ZN6rclcpp9executors22SingleThreadedExecutorC2E", abi.FormSingleThreadedExecutor, everyDistro),
			constructors("_ZN6rclcpp9executors21MultiThreadedExecutorC2E", abi.FormMultiThreadedExecutor, everyDistro),
			constructors("_ZN6rclcpp9executors28StaticSingleThreadedExecutorC2E", abi.FormStaticSingleThreadedExecutor, untilKilted),
			constructors("_ZN6rclcpp12experimental9executors14EventsExecutorC2E", abi.FormEventsExecutor, fromIron),
		),
	},
	rclcppEntry(abi.EventAddCallbackGroup, "add_callback_group", humbleAndIron,
		"_ZN6rclcpp8Executor25add_callback_group_to_mapE", nil, "executor", "callback_group", "group_type", "node_base"),
	rclcppEntry(abi.EventAddCallbackGroupStaticExecutor, "add_callback_group_static_executor", humbleAndIron,
		"_ZN6rclcpp9executors31StaticExecutorEntitiesCollector18add_callback_groupESt10shared_ptrINS_13CallbackGroupEES2_INS_15node_interfaces17NodeBaseInterfaceEERSt3map",
		nil, "entities_collector", "callback_group", "group_type"),
	rclcppEntry(abi.EventCallbackGroupAddTimer, "callback_group_add_timer", everyDistro,
		"_ZN6rclcpp13CallbackGroup9add_timerE", func(l *layouts.Layout) uint64 { return l.TimerBase.TimerHandle },
		"callback_group", "timer_handle"),
	rclcppEntry(abi.EventCallbackGroupAddSubscription, "callback_group_add_subscription", everyDistro,
		"_ZN6rclcpp13CallbackGroup16add_subscriptionE", func(l *layouts.Layout) uint64 { return l.SubscriptionBase.SubscriptionHandle },
		"callback_group", "subscription_handle"),
	rclcppEntry(abi.EventCallbackGroupAddService, "callback_group_add_service", everyDistro,
		"_ZN6rclcpp13CallbackGroup11add_serviceE", func(l *layouts.Layout) uint64 { return l.ServiceBase.ServiceHandle },
		"callback_group", "service_handle"),
	rclcppEntry(abi.EventCallbackGroupAddClient, "callback_group_add_client", everyDistro,
		"_ZN6rclcpp13CallbackGroup10add_clientE", func(l *layouts.Layout) uint64 { return l.ClientBase.ClientHandle },
		"callback_group", "client_handle"),
	rclcppEntry(abi.EventCallbackGroupToExecutorEntityCollector, "callback_group_to_executor_entity_collector", fromIron,
		"_ZN6rclcpp9executors25ExecutorEntitiesCollector32add_callback_group_to_collectionE", nil,
		"entities_collector", "callback_group", "group_type"),
	{
		Event: abi.EventRMWPublisherInit, Name: "rmw_publisher_init", Arguments: []string{"rmw_publisher_handle", "gid"},
		Consequence: "gids of new publishers are those found in memory",
		Sources:     []Source{tracepoint(everyDistro, "rmw_publisher_init", abi.FormArguments, "argument 1; 16 bytes at argument 2")},
	},
	rclcppEntry(abi.EventAddPublisher, "add_publisher", everyDistro,
		"_ZN6rclcpp15node_interfaces10NodeTopics13add_publisherE", func(l *layouts.Layout) uint64 { return l.PublisherBase.PublisherHandle },
		"publisher_handle", "publisher", "callback_group"),
	finiEntry(abi.EventRclPublisherFini, "rcl_publisher_fini"),
	finiEntry(abi.EventRclSubscriptionFini, "rcl_subscription_fini"),
	finiEntry(abi.EventRclTimerFini, "rcl_timer_fini"),
	finiEntry(abi.EventRclServiceFini, "rcl_service_fini"),
	finiEntry(abi.EventRclClientFini, "rcl_client_fini"),
	finiEntry(abi.EventRclNodeFini, "rcl_node_fini"),
	{
		Event: abi.EventExecutorDestroy, Name: "executor_destroy", Arguments: []string{"executor"}, Consequence: noEnd,
		Sources: []Source{{
			Distros: everyDistro, Library: LibraryRclcpp, Provenance: FromSymbol,
			Symbol: "_ZN6rclcpp8ExecutorD2Ev", Shows: "argument 1 of the destructor",
		}},
	},
	{
		Event: abi.EventRclLifecycleTransition, Name: "rcl_lifecycle_transition", Arguments: []string{"state_machine", "start_label", "goal_label"},
		Consequence: "transitions of managed nodes are not recorded",
		Sources:     []Source{tracepoint(everyDistro, "rcl_lifecycle_transition", abi.FormArguments, "arguments 1-3")},
	},
	{
		Event: abi.EventExceptionCaught, Name: "exception_caught", Arguments: []string{"exception"},
		Consequence: "where the process does not map the C++ runtime, executor_execute is probed in its place",
		Sources: []Source{{
			Distros: everyDistro, Library: LibraryCxxRuntime, Symbol: "__cxa_begin_catch", Provenance: FromSymbol,
			Shows: "its stack pointer: callbacks whose frames are below were left by the exception",
		}},
	},
	{
		Event: abi.EventServiceExecuted, Name: "service_executed",
		Consequence: "a service's callback that defers its response seems to go on until an event further up the stack of its thread",
		Sources: []Source{{
			Distros: everyDistro, Library: LibraryRclcpp, Symbol: "_ZN6rclcpp8Executor15execute_serviceE", Prefix: true, Returns: true,
			Provenance: FromSymbol, Shows: "its stack pointer: a service's callback whose frame is below is over, with or without a callback_end",
		}},
	},
	{
		Event: abi.EventWait, Name: "wait", Arguments: []string{"executor", "timeout"}, OnlyFull: true,
		Consequence: "it is not recorded when executors wait for work",
		Sources: []Source{
			// First, because what begins while sites are attached must not seem to go on.
			{
				Distros: everyDistro, Library: LibraryRclcpp, Symbol: waitForWork, Prefix: true, Returns: true, Besides: true, Provenance: FromSymbol,
				Shows: "where calls return to, the stack pointer: the wait that was entered from this frame is over", Consequence: "waits have no end",
			},
			{
				Distros: everyDistro, Library: LibraryRclcpp, Symbol: waitForWork, Prefix: true, Provenance: FromSymbol,
				Shows: "arguments 1-2 of Executor::wait_for_work; an EventsExecutor and a StaticSingleThreadedExecutor do not call it",
			},
		},
	},
}

// waitForWork is where executors wait that choose one executable after the other.
const waitForWork = "_ZN6rclcpp8Executor13wait_for_workE"

// genericCallback is the source of callbacks of generic subscriptions on Humble: a member function of theirs.
func genericCallback(symbol, shows string) Source {
	return Source{
		Distros: humble, Library: LibraryRclcpp, Symbol: symbol, Prefix: true, Besides: true, Offset: subscriptionHandle,
		Form: abi.FormGenericCallback, Provenance: Derived, Shows: shows,
		Consequence: "callbacks of generic subscriptions are not recorded",
	}
}

// subscriptionHandle leads from an rclcpp subscription to its rcl handle.
func subscriptionHandle(l *layouts.Layout) uint64 { return l.SubscriptionBase.SubscriptionHandle }

// publisherHandle leads from an rclcpp publisher to its rcl handle.
func publisherHandle(l *layouts.Layout) uint64 { return l.PublisherBase.PublisherHandle }

func withOffset(source Source, offset func(*layouts.Layout) uint64) Source {
	source.Offset, source.OffsetOptional = offset, true
	return source
}

// rmwPublisher leads from an rcl_publisher_impl_t to its rmw_publisher_t.
func rmwPublisher(l *layouts.Layout) uint64 { return l.Publisher.RMWHandle }

// rmwSubscription leads from an rcl_subscription_impl_t to its rmw_subscription_t.
func rmwSubscription(l *layouts.Layout) uint64 { return l.Subscription.RMWHandle }

// serviceEntry is an event that rcl's functions show on every distribution.
func serviceEntry(event abi.Event, name string, source Source, arguments ...string) Entry {
	source.Distros, source.Library, source.Provenance = everyDistro, LibraryRcl, FromSymbol
	return Entry{Event: event, Name: name, Arguments: arguments, Consequence: noService, Sources: []Source{source}}
}

// intraInitEntry is an initialization event of intra-process communication.
func intraInitEntry(event abi.Event, name string, arguments ...string) Entry {
	entry := initEntry(event, name, arguments...)
	entry.Sources[0].Distros = fromIron
	entry.Absences = humbleHasNoIPC
	return entry
}

// rclcppEntry is an event that an exported member function of rclcpp shows at its entry.
func rclcppEntry(event abi.Event, name string, of []distros.Distro, prefix string, offset func(*layouts.Layout) uint64, arguments ...string) Entry {
	entry := Entry{
		Event: event, Name: name, Arguments: arguments, Consequence: noGroups,
		Sources: []Source{{
			Distros: of, Library: LibraryRclcpp, Provenance: FromSymbol, Symbol: prefix, Prefix: true, Offset: offset,
			Shows: "the member function's arguments, and what they point to",
		}},
	}
	for _, distro := range everyDistro {
		if !slices.Contains(of, distro) {
			entry.Absences = append(entry.Absences, Absence{[]distros.Distro{distro}, "its rclcpp has no such function"})
		}
	}
	return entry
}

// constructors are the sources of the constructor of an executor's class. From Jazzy on the collector is a part of the
// object.
func constructors(symbol string, form abi.Form, of []distros.Distro) []Source {
	source := Source{
		Library: LibraryRclcpp, Provenance: FromSymbol, Symbol: symbol, Prefix: true, Form: form, Besides: true,
		Shows: "argument 1", Consequence: noGroups,
	}
	var sources []Source
	before, since := source, source
	since.Offset = func(l *layouts.Layout) uint64 { return l.Executor.Collector }
	for _, distro := range of {
		if slices.Contains(fromJazzy, distro) {
			since.Distros = append(since.Distros, distro)
		} else {
			before.Distros = append(before.Distros, distro)
		}
	}
	if len(before.Distros) > 0 {
		sources = append(sources, before)
	}
	return append(sources, since)
}

// finiEntry is the destruction of an rcl entity.
func finiEntry(event abi.Event, name string) Entry {
	return Entry{
		Event: event, Name: name, Arguments: []string{"handle"}, Consequence: noEnd,
		Sources: []Source{{
			Distros: everyDistro, Library: LibraryRcl, Provenance: FromSymbol, Symbol: name, Shows: "argument 1 of the function",
		}},
	}
}

func initEntry(event abi.Event, name string, arguments ...string) Entry {
	return Entry{
		Event: event, Name: name, Arguments: arguments, Consequence: noInitEvent,
		Sources: []Source{tracepoint(everyDistro, name, abi.FormArguments, "all arguments in order")},
	}
}

// Catalogue returns all events in the order of their numbers. The caller must not change what it holds.
func Catalogue() []Entry { return slices.Clone(catalogue) }

// Lookup returns the catalogue's entry of an event.
func Lookup(event abi.Event) (Entry, bool) {
	for _, entry := range catalogue {
		if entry.Event == event {
			return entry, true
		}
	}
	return Entry{}, false
}

// sources returns the entry's sources for a distribution, in order of preference. For an unknown distribution they are
// those that every distribution has.
func (e Entry) sources(distro distros.Distro) []Source {
	var sources []Source
	for _, source := range e.Sources {
		if slices.Contains(source.Distros, distro.Like()) || len(source.Distros) == len(everyDistro) {
			sources = append(sources, source)
		}
	}
	return sources
}

// absence returns why a distribution has no source for the event.
func (e Entry) absence(distro distros.Distro) string {
	for _, absence := range e.Absences {
		if slices.Contains(absence.Distros, distro.Like()) {
			return absence.Reason
		}
	}
	if distro == distros.Unknown {
		return "the distribution of the process is not known, on which it depends"
	}
	return fmt.Sprintf("no source is known for %s", distro)
}
