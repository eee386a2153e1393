package main

import (
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

// event is a row of the page: an event, and where a dataset holds it.
type event struct {
	name   string
	tables []string
	// holds tells whether a row of the tables shows the event; nil if all do.
	holds func(record) bool
	// fields are the event's arguments, with the columns that hold them where they are called otherwise.
	fields []field
	// shownBy, if set, names the event of the catalogue whose site shows it; it has the event's own name otherwise.
	shownBy string
	// derived says that it is concluded from others.
	derived bool
	// instead, if set, says what distributions without the event have. The catalogue knows which have it.
	instead string
	// alongside, if set, names the event of the catalogue that the same distributions have; it has the event's own name
	// otherwise.
	alongside string
	// note explains.
	note string
}

// field is an argument of an event.
type field struct {
	name, column string
	// null says why it may be null, "" if it never is.
	null string
}

func same(names ...string) []field {
	var fields []field
	for _, name := range names {
		fields = append(fields, field{name: name, column: name})
	}
	return fields
}

func with(fields []field, more ...field) []field { return append(fields, more...) }

func has(columns ...string) func(record) bool {
	return func(r record) bool {
		return !slices.ContainsFunc(columns, func(column string) bool { return !r.has(column) })
	}
}

func is(column, value string, columns ...string) func(record) bool {
	others := has(columns...)
	return func(r record) bool { return r.text(column) == value && others(r) }
}

// section is a part of the page.
type section struct {
	title  string
	events []event
}

const (
	noHeader = "the type of the message has no `std_msgs/Header`, or it was not known yet"
	ownTopic = "the middleware's own publishes (`ros_discovery_info`) do not pass rcl, and before Jazzy nothing shows their " +
		"publisher; publishers of `/rosout`, as for `rcl_publish`"
	noType = "its entity or its process had ended, or the process had just begun, when its memory was read; in a recording from the start also rcl's own handles of a managed " +
		"node's services, of which rclcpp serves copies with rows of their own"
	noName = "its entity or its process had ended, or the process had just begun, when its memory was read"
	// unfinished: its status tells.
	unfinished = "the publish did not reach the middleware: it failed there, or the recording or the thread ended"
	earlier    = "the wait began before its process was probed"
	// uncertainSlot is said of Humble only: later distributions have the tracepoint.
	uncertainSlot = "a subscription was created between enqueue and dequeue, or another thread may have used the buffer"
	ownCopy       = "a publisher of `/rosout`, until a scan of the memory has found where rcl keeps it"
)

var sections = []section{
	{"Runtime", []event{
		{name: "callback_start", tables: []string{trace.TableCallback}, holds: has("callback_start_timestamp"), fields: same("callback", "is_intra_process")},
		{name: "callback_end", tables: []string{trace.TableCallback}, holds: has("callback_end_timestamp"), fields: same("callback")},
		{
			name: "message_construct", note: "Not observable: rclcpp constructs the copy in code that is inlined into the user's, and calls nothing that " +
				"could be probed. To follow a message through intra-process copies, join `publish`, `enqueue` and `callback` " +
				"by buffer and index.",
		},
		{
			name: "rclcpp_intra_publish", tables: []string{trace.TablePublish}, holds: has("rclcpp_intra_publish_timestamp"),
			fields: []field{
				{name: "publisher_handle", column: "publisher_handle"}, {name: "message", column: "intra_message"},
				{name: "message_timestamp", column: "message_timestamp", null: noHeader},
			},
		},
		{
			name: "dispatch_subscription_callback", tables: []string{trace.TableCallback}, holds: has("rmw_take_timestamp"), derived: true,
			fields: []field{
				{name: "message", column: "message"}, {name: "callback", column: "callback"}, {name: "source_stamp", column: "source_timestamp"},
				{name: "message_timestamp", column: "message_timestamp", null: noHeader},
			},
			note: "Concluded from the take that precedes `callback_start` on its thread.",
		},
		{
			name: "dispatch_intra_process_subscription_callback", tables: []string{trace.TableCallback}, holds: is("is_intra_process", "true", "dequeue_timestamp"),
			derived: true,
			fields: []field{
				{name: "callback", column: "callback"},
				{
					name: "message", column: "message",
					null: "from Iron on the tracepoint of the dequeue names the slot of the buffer, not the message; `buffer` and `dequeue_index` join `enqueue`",
				},
				{name: "message_timestamp", column: "message_timestamp", null: noHeader},
			},
			note: "Concluded from the dequeue that precedes `callback_start` on its thread.",
		},
		{
			name: "rclcpp_publish", tables: []string{trace.TablePublish}, holds: has("rclcpp_publish_timestamp"),
			fields: []field{
				{name: "publisher_handle", column: "publisher_handle", null: "the publish did not reach rcl, as when the process shuts down"}, {name: "message", column: "message"},
				{name: "message_timestamp", column: "message_timestamp", null: noHeader},
			},
			note: "The tracepoint passes a null publisher; the row has that of `rcl_publish`.",
		},
		{
			name: "rcl_publish", tables: []string{trace.TablePublish}, holds: has("rcl_publish_timestamp"),
			fields: []field{{name: "publisher_handle", column: "publisher_handle", null: ownCopy}, {name: "message", column: "message"}},
		},
		{
			name: "dds_write", tables: []string{trace.TablePublish}, holds: has("rmw_publish_timestamp"), shownBy: "rmw_publish",
			fields: []field{{name: "message", column: "message"}, {name: "publisher_handle", column: "publisher_handle", null: ownTopic}},
			note: "Before Jazzy the middlewares call the tracepoint for ordinary messages only. Serialized ones have " +
				"`rcl_publish` and the two below.",
		},
		{
			name: "dds_bind_addr_to_stamp", tables: []string{trace.TablePublish}, holds: has("dds_bind_addr_to_stamp_timestamp"),
			fields: []field{{name: "addr", column: "message"}, {name: "source_stamp", column: "source_timestamp"}},
		},
		{
			name: "dds_bind_addr_to_addr", tables: []string{trace.TablePublish}, holds: has("rmw_publish_timestamp", "dds_bind_addr_to_stamp_timestamp"),
			derived: true,
			fields:  []field{{name: "addr_from", column: "message"}},
			note: "CARET binds the address of the middleware's copy (`addr_to`) to join `dds_write` with `dds_bind_addr_to_stamp`. Here one row has both, joined " +
				"by the thread, and there is no column for the copy.",
		},
		{
			name: "rmw_take", tables: []string{trace.TableCallback, trace.TableTake}, holds: has("rmw_take_timestamp"),
			fields: []field{
				{name: "rmw_subscription_handle", column: "rmw_subscription_handle"}, {name: "message", column: "message"},
				{name: "source_timestamp", column: "source_timestamp"},
				{
					name: "publisher_gid", column: "publisher_gid",
					null: "Cyclone DDS gives a handle instead, which means something in its own process only; the middleware's own takes " +
						"(`ros_discovery_info`) ask for none",
				},
			},
		},
		{name: "rclcpp_ring_buffer_enqueue", tables: []string{trace.TableEnqueue}, fields: same("buffer", "index", "size", "overwritten")},
		{
			name: "rclcpp_ring_buffer_dequeue", tables: []string{trace.TableCallback, trace.TableTake}, holds: has("dequeue_timestamp"),
			fields: []field{
				{name: "buffer", column: "buffer"}, {name: "index", column: "dequeue_index", null: uncertainSlot}, {name: "size", column: "dequeue_size"},
			},
		},
		{name: "rcl_lifecycle_transition", tables: []string{trace.TableLifecycle}, fields: same("state_machine", "start_label", "goal_label")},
		{
			name: "sim_time", tables: []string{trace.TableSimTime}, fields: same("clock", "sim_time"),
			note: "No program of ROS 2's C++ demos publishes `/clock`. Counted is that a node with `use_sim_time` sets its " +
				"clocks when it starts.",
		},
		{
			name: "message_timestamp", tables: []string{trace.TablePublish, trace.TableCallback, trace.TableTake}, holds: has("message_timestamp"), derived: true,
			fields: same("message_timestamp"), note: "Read from messages whose type is known to hold a `std_msgs/Header`.",
		},
	}},
	{"Initialization", []event{
		{name: "rcl_init", tables: []string{trace.TableContext}, fields: same("context_handle")},
		{
			name: "caret_init", tables: []string{trace.TableProcess}, holds: has("distro"), derived: true,
			fields: []field{{name: "distribution", column: "distro"}},
			note:   "The clock offset is one for the recording: `clock` in `session.json`, and the table `clock`.",
		},
		{name: "rmw_implementation", tables: []string{trace.TableProcess}, holds: has("rmw_implementation"), derived: true, fields: same("rmw_implementation")},
		{name: "rcl_node_init", tables: []string{trace.TableNode}, fields: same("node_handle", "rmw_handle", "node_name", "namespace")},
		{
			name: "rcl_publisher_init", tables: []string{trace.TablePublisher},
			fields: with(same("publisher_handle", "node_handle", "rmw_publisher_handle", "topic_name", "queue_depth"),
				field{"message_type", "message_type", noName}, field{"gid", "gid", noName}),
		},
		{
			name: "rcl_subscription_init", tables: []string{trace.TableSubscription}, holds: has("subscription_handle"),
			fields: with(same("subscription_handle", "node_handle", "rmw_subscription_handle", "topic_name", "queue_depth"), field{"message_type", "message_type", noName}),
		},
		{
			name: "rclcpp_subscription_init", tables: []string{trace.TableSubscription}, holds: has("subscription_handle", "subscription"),
			fields: same("subscription_handle", "subscription"),
		},
		{
			name: "rclcpp_subscription_callback_added", tables: []string{trace.TableSubscription}, holds: has("subscription", "callback"),
			fields: same("subscription", "callback"),
		},
		{
			name: "rcl_service_init", tables: []string{trace.TableServiceServer},
			fields: with(same("service_handle", "node_handle", "rmw_service_handle", "service_name"), field{"service_type", "service_type", noType}),
		},
		{
			name: "rclcpp_service_callback_added", tables: []string{trace.TableServiceServer}, holds: has("callback"),
			fields: same("service_handle", "callback"),
		},
		{
			name: "rcl_client_init", tables: []string{trace.TableClient},
			fields: with(same("client_handle", "rmw_client_handle", "service_name"), field{"node_handle", "node_handle", noName},
				field{"service_type", "service_type", noName}, field{"gid", "gid", noName}),
		},
		{name: "rcl_timer_init", tables: []string{trace.TableTimer}, fields: same("timer_handle", "period")},
		{name: "rclcpp_timer_callback_added", tables: []string{trace.TableTimer}, holds: has("callback"), fields: same("timer_handle", "callback")},
		{name: "rclcpp_timer_link_node", tables: []string{trace.TableTimer}, holds: has("node_handle"), fields: same("timer_handle", "node_handle")},
		{
			name: "rclcpp_callback_register", tables: []string{trace.TableCallbackInfo},
			fields: []field{{name: "callback", column: "callback"}, {name: "symbol", column: "symbol", null: noName}},
			note: "The tracepoint has no symbol where tracetools was built without LTTng (Humble's packages), and is not called " +
				"where no LTTng session runs (Iron and later). The symbol is read from the callback object.",
		},
		{
			name: "rclcpp_ipb_to_subscription", tables: []string{trace.TableSubscription}, holds: is("is_intra_process", "true"), fields: same("ipb", "subscription"),
			note: "Humble has no such tracepoint: the next three are read from the subscription's memory.",
		},
		{name: "rclcpp_buffer_to_ipb", tables: []string{trace.TableSubscription}, holds: is("is_intra_process", "true"), fields: same("buffer", "ipb")},
		{name: "rclcpp_construct_ring_buffer", tables: []string{trace.TableSubscription}, holds: is("is_intra_process", "true"), fields: same("buffer", "capacity")},
		{name: "rcl_lifecycle_state_machine_init", tables: []string{trace.TableLifecycleStateMachine}, fields: same("node_handle", "state_machine")},
	}},
	{"Executors and callback groups", []event{
		{
			name: "construct_executor", tables: []string{trace.TableExecutor},
			holds: func(r record) bool { return r.text("executor_type") != staticExecutor }, fields: same("executor", "executor_type"),
		},
		{
			name: "construct_static_executor", tables: []string{trace.TableExecutor}, holds: is("executor_type", staticExecutor), shownBy: "construct_executor",
			fields: same("executor", "entities_collector", "executor_type"),
		},
		{
			name: "add_callback_group", tables: []string{trace.TableCallbackGroup}, holds: has("executor"),
			instead: "`callback_group_to_executor_entity_collector`", fields: same("executor", "callback_group", "group_type_name"),
		},
		{
			name: "add_callback_group_static_executor", tables: []string{trace.TableCallbackGroup}, holds: is("executor.executor_type", staticExecutor),
			instead: "`callback_group_to_executor_entity_collector`", fields: same("executor.entities_collector", "callback_group", "group_type_name"),
		},
		{
			name: "callback_group_to_executor_entity_collector", tables: []string{trace.TableCallbackGroup}, holds: has("executor"),
			instead: "`add_callback_group`", fields: same("executor.entities_collector", "callback_group", "group_type_name"),
		},
		{
			name: "executor_entity_collector_to_executor", tables: []string{trace.TableExecutor}, holds: has("entities_collector"),
			instead: "none needed", alongside: "callback_group_to_executor_entity_collector", shownBy: "construct_executor", fields: same("executor", "entities_collector"),
		},
		{
			name: "callback_group_add_timer", tables: []string{trace.TableTimer}, holds: has("callback_group"), fields: same("callback_group", "timer_handle"),
			note: "Counted in the rows of `timer`; its provenance is that of the timer's row. The next three are counted " +
				"likewise.",
		},
		{
			name: "callback_group_add_subscription", tables: []string{trace.TableSubscription}, holds: has("callback_group", "subscription_handle"),
			fields: same("callback_group", "subscription_handle"),
		},
		{
			name: "callback_group_add_service", tables: []string{trace.TableServiceServer}, holds: has("callback_group"),
			fields: same("callback_group", "service_handle"),
		},
		{name: "callback_group_add_client", tables: []string{trace.TableClient}, holds: has("callback_group"), fields: same("callback_group", "client_handle")},
	}},
	{"Beyond CARET", []event{
		serviceStep("request_sent", "client_handle"), serviceStep("request_taken", "service_handle"),
		serviceStep("response_sent", "service_handle"), serviceStep("response_taken", "client_handle"),
		{
			name: "wait", tables: []string{trace.TableWait},
			fields: []field{{name: "executor", column: "executor", null: earlier}, {name: "timeout", column: "timeout", null: earlier}},
			note:   "Only with `--profile full`.",
		},
		{
			name: "steps of actions' calls", tables: []string{trace.TableService}, shownBy: "request_sent",
			holds:  func(r record) bool { return isOfAction(r.text("service_name")) },
			fields: with(same("service_name", "sequence_number"), field{"node_name", "node_name", noName}, field{"client_gid", "client_gid", noName}),
		},
		{
			name: "publishes of actions", tables: []string{trace.TablePublish}, shownBy: "rcl_publish",
			holds:  func(r record) bool { return isOfAction(r.text("topic_name")) },
			fields: with(same("publisher_handle", "topic_name", "node_name"), field{"source_timestamp", "source_timestamp", unfinished}),
		},
		{
			name: "serialized publishes", tables: []string{trace.TablePublish}, holds: is("kind", "serialized"), shownBy: "rcl_publish",
			fields: with(same("publisher_handle", "message", "topic_name"), field{"source_timestamp", "source_timestamp", unfinished}),
			note:   "Also those of generic publishers.",
		},
		{
			name: "loaned publishes", tables: []string{trace.TablePublish}, holds: is("kind", "loaned"), shownBy: "rcl_publish",
			fields: with(same("publisher_handle", "message", "topic_name"), field{"source_timestamp", "source_timestamp", unfinished}),
			note: "There are none where the middleware lends no messages: rclcpp then allocates one and publishes it as any " +
				"other.",
		},
		{
			name: "publishes with node and topic", tables: []string{trace.TablePublish}, holds: has("rcl_publish_timestamp"), shownBy: "rcl_publish",
			fields: []field{{name: "topic_name", column: "topic_name", null: noName}, {name: "node_name", column: "node_name", null: noName}},
		},
		{
			name: "callbacks with node, kind and function", tables: []string{trace.TableCallback}, holds: has("callback_start_timestamp"), shownBy: "callback_start",
			fields: []field{
				{name: "kind", column: "kind"}, {name: "node_name", column: "node_name", null: noName}, {name: "symbol", column: "symbol", null: noName},
			},
		},
		{
			name: "reentrant callback groups", tables: []string{trace.TableCallbackGroup}, holds: is("group_type_name", "reentrant"),
			fields: same("callback_group", "node_name"),
		},
	}},
}

// staticExecutor is the type of executors that take their own way.
const staticExecutor = "static_single_threaded_executor"

func serviceStep(step, handle string) event {
	fields := with(same(handle, "message", "sequence_number", "service_name"),
		field{"client_gid", "client_gid", noName}, field{"node_name", "node_name", noName})
	if step == "request_taken" || step == "response_taken" {
		fields = with(fields, same("source_timestamp")...)
	}
	return event{name: step, tables: []string{trace.TableService}, holds: is("step", step), fields: fields}
}
