/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * Probes of the layers of a publish whose arguments are not simply those of the tracepoint.
 */
#ifndef CARET_PUBLISH_PROBES_H
#define CARET_PUBLISH_PROBES_H

#include "common_objects.h"
#include "message_stamp.h"
#include "publish.h"
#include "task.h"

/* What lies this far above the stack pointer may be a local variable of a caller. */
#define CALLERS_STACK (1 << 16)

/*
 * rcl's logging publishes through a copy of the publisher on the stack. What it leads to identifies
 * the publisher; the parameter leads from rcl_publisher_impl_t to rmw.
 */
static __always_inline void note_stack_handle(struct event *event, __u64 rmw_handle)
{
	__u64 impl, publisher;

	if (event->arguments[0] - event->stack_pointer >= CALLERS_STACK)
		return;
	event->details |= DETAIL_STACK_HANDLE;
	if (read_word(&impl, event->arguments[0] + publisher_impl_offset) &&
	    read_word(&publisher, impl + rmw_handle))
		event->arguments[2] = publisher;
}

/*
 * The function for serialized or loaned messages tells their form when it is entered; the
 * tracepoint in it does not. If nothing was seen of the thread before the tracepoint, the function
 * may have been entered before the recording began.
 */
static __always_inline bool is_form_unknown(const struct event *event)
{
	return event->is_first && !(event->details & (DETAIL_SERIALIZED | DETAIL_LOANED)) &&
	       !is_seen_from_its_beginning();
}

/* rcl_publish(publisher, message), and its siblings for serialized and loaned messages */
SEC("uprobe.multi")
int on_rcl_publish(struct pt_regs *regs)
{
	__u64 cookie = bpf_get_attach_cookie(regs);
	struct thread_state *state;
	struct event event;

	if (!begin_tracepoint(&event, &state, EVENT_RCL_PUBLISH, regs, cookie))
		return 0;
	event.last_layer = COOKIE_LAST_LAYER(cookie);
	if (COOKIE_FORM(cookie) == FORM_SERIALIZED)
		event.details = DETAIL_SERIALIZED;
	else if (COOKIE_FORM(cookie) == FORM_LOANED)
		event.details = DETAIL_LOANED;
	event.arguments[2] = 0;
	note_stack_handle(&event, COOKIE_PARAMETER(cookie));
	if (is_form_unknown(&event))
		event.details |= DETAIL_FORM_UNKNOWN;
	else if (message_stamps && state && !is_tracepoint_of_open(state, &event))
		read_message_stamp(&event, event.arguments[0], event.arguments[1]);
	emit_raw(&event);
	rcl_publish(state, &event);
	return 0;
}

SEC("uprobe.multi")
int on_rmw_publish(struct pt_regs *regs)
{
	__u64 cookie = bpf_get_attach_cookie(regs);
	struct thread_state *state;
	struct event event;

	if (!begin_tracepoint(&event, &state, EVENT_RMW_PUBLISH, regs, cookie))
		return 0;
	event.last_layer = COOKIE_LAST_LAYER(cookie);
	if (COOKIE_FORM(cookie) == FORM_MESSAGE_ONLY) {
		event.arguments[1] = event.arguments[0];
		event.arguments[0] = 0;
		event.arguments[2] = 0;
	} else {
		event.has_stamp = 1;
	}
	emit_raw(&event);
	rmw_publish(state, &event);
	return 0;
}

/* Fast DDS: rtps::Time_t, whose third word is the nanosecond that the reader will recover. */
static __always_inline bool read_cache_change_stamp(__u64 address, __s64 *stamp)
{
	struct {
		__s32 seconds;
		__u32 fraction;
		__u32 nanoseconds;
	} time;

	if (bpf_probe_read_user(&time, sizeof(time), (const void *)address))
		return false;
	*stamp = (__s64)time.seconds * 1000000000 + time.nanoseconds;
	return true;
}

SEC("uprobe.multi")
int on_dds_bind_addr_to_stamp(struct pt_regs *regs)
{
	__u64 cookie = bpf_get_attach_cookie(regs);
	struct thread_state *state;
	struct event event;
	__s64 stamp;

	if (!begin_event(&event, &state, EVENT_DDS_BIND_ADDR_TO_STAMP, regs, cookie))
		return 0;
	event.last_layer = COOKIE_LAST_LAYER(cookie);
	switch (COOKIE_FORM(cookie)) {
	case FORM_FAST_DDS: /* set_fragments(this, change) */
		if (!read_cache_change_stamp(event.arguments[1] + COOKIE_PARAMETER(cookie), &stamp))
			return 0; /* the publish closes without its last layer */
		event.arguments[0] = 0;
		break;
	case FORM_CYCLONE_DDS_WRITE:	   /* dds_write_impl(writer, data, timestamp, action) */
	case FORM_CYCLONE_DDS_WRITE_STAMP: /* dds_write_ts(writer, data, timestamp) */
		event.arguments[0] = event.arguments[1];
		event.has_message = 1;
		stamp = event.arguments[2];
		break;
	case FORM_CYCLONE_DDS_SERDATA: /* dds_writecdr_impl(writer, packet, serdata, flush) */
		if (bpf_probe_read_user(
			    &stamp, sizeof(stamp),
			    (const void *)(event.arguments[2] + COOKIE_PARAMETER(cookie))))
			return 0;
		event.arguments[0] = 0;
		break;
	default:
		return 0;
	}
	event.arguments[1] = stamp;
	emit_raw(&event);
	dds_bind_addr_to_stamp(state, &event);
	return 0;
}

#endif
