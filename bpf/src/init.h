/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * Initialization events: rare, and the only ones that carry strings.
 */
#ifndef CARET_INIT_H
#define CARET_INIT_H

#include "event.h"

/*
 * Reads a string of the traced process, an empty one where its page is not resident: the record
 * says so, and user space reads it from the process's memory or files.
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

static __always_inline void emit_init(const struct event *event)
{
	struct init_record *record = reserve(RECORD_INIT, sizeof(*record));
	__u8 flags = 0;

	if (!record)
		return;
	record->time_ns = event->time_ns;
	for (int i = 0; i < INIT_ARGUMENTS; i++)
		record->arguments[i] = event->arguments[i];
	record->strings[0] = 0;
	record->strings[INIT_STRING_SIZE] = 0;
	switch (event->id) {
	case EVENT_RCL_NODE_INIT: /* node, rmw_node, name, namespace */
		flags = read_string(record->strings, INIT_STRING_SIZE, event->arguments[2]);
		flags |= read_string(record->strings + INIT_STRING_SIZE, INIT_STRING_SIZE,
				     event->arguments[3]);
		break;
	case EVENT_RCL_PUBLISHER_INIT: /* handle, node, rmw handle, topic or service name, depth */
	case EVENT_RCL_SUBSCRIPTION_INIT:
	case EVENT_RCL_SERVICE_INIT:
	case EVENT_RCL_CLIENT_INIT:
		flags = read_string(record->strings, INIT_STRING_SIZE, event->arguments[3]);
		break;
	case EVENT_RCLCPP_CALLBACK_REGISTER: /* callback, symbol */
		flags = read_string(record->strings, sizeof(record->strings), event->arguments[1]);
		break;
	}
	fill_header(&record->header, event, RECORD_INIT, event->id, 0, flags);
	/* The reader resolves names with it: it must not wait for a batch. */
	bpf_ringbuf_submit(record, BPF_RB_FORCE_WAKEUP);
}

#endif
