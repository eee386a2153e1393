/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * Initialization events: rare, and the only ones that carry strings. So do lifecycle transitions.
 */
#ifndef CARET_INIT_H
#define CARET_INIT_H

#include "common_objects.h"
#include "ring.h"

/* Bytes of rmw_gid_t.data: 24 on Humble, 16 later, where what follows is not read as a gid. */
#define GID_SIZE 16

/*
 * Reads a string of the traced process, an empty one where its page is not resident: the record
 * says so, and user space reads the name from the entity in the process's memory. The program does
 * not wait for the page. Whoever serves it (FUSE, userfaultfd) may never do so, and meanwhile
 * nobody could detach a program from a uprobe, on the whole machine.
 */
static __always_inline __u8 read_string(char *to, __u32 size, __u64 address)
{
	long length = bpf_probe_read_user_str(to, size, (const void *)address);

	if (length < 0) {
		to[0] = 0;
		return FLAG_STRING_FAULT;
	}
	return length == size ? FLAG_STRING_CUT : 0;
}

static __always_inline __u64 word_at(__u64 address)
{
	__u64 word = 0;

	return read_word(&word, address) ? word : 0;
}

/* How rmw implementations name themselves: the first bytes of implementation_identifier. */
#define RMW_FAST_DDS	0x747361665f776d72ULL /* rmw_fast */
#define RMW_CYCLONE_DDS 0x6c6379635f776d72ULL /* rmw_cycl */

/* What servers know a client by, and where it is. */
struct client_identity {
	__u64 address;
	__u64 size; /* 0: not known */
};

/*
 * Fast DDS: the GUIDs of the writer of requests and of the reader of responses, at an offset of
 * CustomClientInfo that depends on the distribution. Cyclone DDS: the handle of the writer.
 */
static __always_inline void find_client_identity(struct client_identity *identity, __u64 rmw_client,
						 __u64 fast_dds_offset)
{
	__u64 identifier = word_at(rmw_client + rmw_identifier_offset);
	__u64 data = word_at(rmw_client + rmw_client_data_offset);

	identity->address = 0;
	identity->size = 0;
	switch (word_at(identifier)) {
	case RMW_FAST_DDS:
		identity->address = data + fast_dds_offset;
		identity->size = fast_dds_offset ? CLIENT_GUIDS_SIZE : 0;
		break;
	case RMW_CYCLONE_DDS:
		identity->address =
			word_at(data + cyclone_publisher_offset) + cyclone_handle_offset;
		identity->size = CLIENT_HANDLE_SIZE;
		break;
	}
}

/* Cyclone DDS: the instance handle by which messages name their publisher in its own process. */
static __always_inline __u64 publisher_instance(__u64 rmw_publisher)
{
	if (word_at(word_at(rmw_publisher + rmw_identifier_offset)) != RMW_CYCLONE_DDS)
		return 0;
	return word_at(word_at(rmw_publisher + rmw_publisher_data_offset) + cyclone_handle_offset);
}

/* Which arguments are strings: the first, the second; 0 = none. */
struct init_strings {
	__u64 first;
	__u64 second;
};

static __always_inline void find_strings(const struct event *event, struct init_strings *strings)
{
	strings->first = 0;
	strings->second = 0;
	switch (event->id) {
	case EVENT_RCL_NODE_INIT: /* node, rmw_node, name, namespace */
		strings->first = event->arguments[2];
		strings->second = event->arguments[3];
		break;
	case EVENT_RCL_SERVICE_INIT: /* handle, node, rmw handle, service name */
		strings->first = event->arguments[3];
		strings->second = word_at(event->arguments[2] + rmw_identifier_offset);
		break;
	case EVENT_RCL_PUBLISHER_INIT: /* handle, node, rmw handle, topic or service name, depth */
	case EVENT_RCL_SUBSCRIPTION_INIT:
	case EVENT_RCL_CLIENT_INIT:
		strings->first = event->arguments[3];
		break;
	case EVENT_RCLCPP_CALLBACK_REGISTER: /* callback, symbol */
		strings->first = event->arguments[1];
		break;
	case EVENT_RCL_LIFECYCLE_TRANSITION: /* state machine, start label, goal label */
		strings->first = event->arguments[1];
		strings->second = event->arguments[2];
		break;
	}
}

/*
 * A subscription's rclcpp object has its callback now. On Humble the same event announces an
 * intra-process subscription, with a ring buffer that no tracepoint tells: it is read while it is
 * certainly there.
 */
static __always_inline void complete_subscription(struct event *event, __u64 cookie)
{
	__u64 *arguments = event->arguments;
	struct ring ring;
	__u64 address;

	arguments[2] = 0;
	if (COOKIE_FORM(cookie) != FORM_DERIVED)
		return;
	address = read_ring(&ring, arguments[0]);
	if (address <= RING_UNREADABLE)
		return;
	arguments[2] = address;
	arguments[3] = ring.capacity;
	arguments[4] = word_at(arguments[0] + intra_buffer_offset);
}

/* No type of a callback group, which are 0 and 1. */
#define GROUP_TYPE_UNKNOWN (~0U)

static __always_inline bool read_group_type(__u32 *type, __u64 group)
{
	return !bpf_probe_read_user(type, sizeof(*type), (const void *)(group + group_type_offset));
}

/*
 * Events that no tracepoint has get the arguments that CARET gives them, and some get what is best
 * read at once. The parameter is an offset in a member function's object, the form a number that
 * says which function it was. Nodes, groups, publishers and what a group gets are given by the
 * address of a shared_ptr, which begins with the pointer: that is the C++ library's ABI, not ROS
 * 2's. Stand-ins are compiled with a real one.
 */
static __always_inline void complete_arguments(struct event *event, __u64 cookie)
{
	__u64 *arguments = event->arguments;
	__u64 parameter = COOKIE_PARAMETER(cookie);
	__u32 type;

	switch (event->id) {
	case EVENT_RCLCPP_SUBSCRIPTION_CALLBACK_ADDED:
		complete_subscription(event, cookie);
		break;
	case EVENT_RCL_SERVICE_INIT: /* handle, node, rmw handle, name */
		arguments[4] = word_at(arguments[0] + service_impl_offset);
		break;
	case EVENT_RCLCPP_SERVICE_CALLBACK_ADDED: /* handle, callback */
		arguments[2] = word_at(arguments[0] + service_impl_offset);
		break;
	case EVENT_CONSTRUCT_EXECUTOR: /* constructor of Executor or of a derived class */
		arguments[1] = COOKIE_FORM(cookie);
		arguments[2] = parameter ? arguments[0] + parameter : 0;
		break;
	case EVENT_ADD_CALLBACK_GROUP: /* executor, &group, &node_base */
		arguments[3] = word_at(arguments[2]);
		/* fallthrough */
	case EVENT_ADD_CALLBACK_GROUP_STATIC_EXECUTOR: /* collector, &group */
	case EVENT_CALLBACK_GROUP_TO_EXECUTOR_ENTITY_COLLECTOR:
		arguments[1] = word_at(arguments[1]);
		if (!read_group_type(&type, arguments[1]))
			type = GROUP_TYPE_UNKNOWN;
		arguments[2] = type;
		break;
	case EVENT_ADD_PUBLISHER: /* node_topics, &publisher, &group */
		arguments[1] = word_at(arguments[1]);
		arguments[0] = word_at(arguments[1] + parameter);
		arguments[2] = word_at(arguments[2]);
		break;
	case EVENT_CALLBACK_GROUP_ADD_TIMER: /* group, &object, whose handle is at the parameter */
	case EVENT_CALLBACK_GROUP_ADD_SUBSCRIPTION:
	case EVENT_CALLBACK_GROUP_ADD_SERVICE:
	case EVENT_CALLBACK_GROUP_ADD_CLIENT:
		arguments[1] = word_at(word_at(arguments[1]) + parameter);
		/* and the group's type, counted from 1 */
		arguments[2] = read_group_type(&type, arguments[0]) ? (__u64)type + 1 : 0;
		break;
	}
}

/* What was decided about addresses no longer holds: they belong to another entity. */
static __always_inline void forget_ignored(const struct event *event)
{
	struct process_address key = {.pid = event->pid};

	if (!filter_addresses)
		return;
	for (int i = 0; i < 3; i++) { /* handle, rclcpp object or callback, rmw handle */
		key.address = event->arguments[i];
		bpf_map_delete_elem(&ignored_addresses, &key);
	}
}

/* What was known of the messages of an address no longer holds: it belongs to another entity. */
static __always_inline void forget_header_offset(const struct event *event)
{
	struct process_address key = {.pid = event->pid};

	if (!message_stamps)
		return;
	if (event->id == EVENT_RCL_PUBLISHER_INIT)
		key.address = event->arguments[0];
	else if (event->id == EVENT_RCL_SUBSCRIPTION_INIT)
		key.address = event->arguments[2];
	else
		return;
	bpf_map_delete_elem(&header_offsets, &key);
}

static __always_inline int init_event(struct pt_regs *regs)
{
	__u64 cookie = bpf_get_attach_cookie(regs);
	struct client_identity identity = {};
	struct init_strings strings;
	struct init_record *record;
	struct thread_state *state;
	struct event event;
	__u32 position = gate;
	__u8 flags = 0;

	bool entity = COOKIE_EVENT(cookie) != EVENT_RCL_LIFECYCLE_TRANSITION;

	if (position == GATE_CLOSED || (position != GATE_OPEN && !entity) ||
	    !fill_event(&event, &state, COOKIE_EVENT(cookie), regs, cookie, entity))
		return 0;
	complete_arguments(&event, cookie);
	forget_header_offset(&event);
	forget_ignored(&event);
	if (event.id == EVENT_RCL_SUBSCRIPTION_INIT)
		__sync_fetch_and_add(&subscription_generation, 1);
	find_strings(&event, &strings);
	if (event.id == EVENT_RCL_CLIENT_INIT) { /* client, node, rmw client, name */
		find_client_identity(&identity, event.arguments[2], COOKIE_PARAMETER(cookie));
		event.arguments[4] = identity.size;
	}
	if (position == GATE_OPEN && !event.is_early)
		emit_raw(&event);
	record = reserve(KIND_INIT, sizeof(*record));
	if (!record)
		return 0;
	record->time_ns = event.time_ns;
	for (int i = 0; i < INIT_ARGUMENTS; i++)
		record->arguments[i] = event.arguments[i];
	if (event.id ==
	    EVENT_RCL_PUBLISHER_INIT) /* handle, node, rmw handle; in the name's place */
		record->arguments[3] = publisher_instance(event.arguments[2]);
	record->strings[0] = 0;
	record->strings[INIT_STRING_SIZE] = 0;
	if (event.id == EVENT_RMW_PUBLISHER_INIT) { /* rmw publisher, gid */
		if (bpf_probe_read_user(record->strings, GID_SIZE,
					(const void *)event.arguments[1]))
			flags = FLAG_STRING_FAULT;
	} else if (event.id == EVENT_RCLCPP_CALLBACK_REGISTER) {
		flags = read_string(record->strings, sizeof(record->strings), strings.first);
	} else if (strings.first) {
		flags = read_string(record->strings, INIT_STRING_SIZE, strings.first);
	}
	if (strings.second)
		flags |= read_string(record->strings + INIT_STRING_SIZE, INIT_STRING_SIZE,
				     strings.second);
	if (identity.size &&
	    bpf_probe_read_user(record->strings + INIT_STRING_SIZE,
				identity.size == CLIENT_GUIDS_SIZE ? CLIENT_GUIDS_SIZE
								   : CLIENT_HANDLE_SIZE,
				(const void *)identity.address))
		record->arguments[4] = 0;
	fill_header(&record->header, &event, KIND_INIT, event.id, 0, flags);
	/* The reader resolves names with it: it must not wait for a batch. */
	bpf_ringbuf_submit(record, BPF_RB_FORCE_WAKEUP);
	return 0;
}

#endif
