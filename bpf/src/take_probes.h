/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * Probes of takes. The tracepoint rmw_take tells subscription, message and source timestamp; the
 * publisher's gid is in the rmw_message_info_t that rcl's caller gave. Takes without a tracepoint
 * (serialized ones on Humble and Iron, loaned ones with Fast DDS) are seen when rcl's call of the
 * rmw function returns.
 */
#ifndef CARET_TAKE_PROBES_H
#define CARET_TAKE_PROBES_H

#include "common_objects.h"
#include "message_stamp.h"
#include "take.h"

/* (subscription, message, message_info): the parameter leads from rcl_subscription_impl_t to rmw.
 */
static __always_inline void open_take_call(struct thread_state *state, const struct event *event,
					   __u32 details, __u64 rmw_handle)
{
	__u64 subscription = 0, impl;

	if (!state)
		return;
	if (details && (!read_word(&impl, event->arguments[0] + subscription_impl_offset) ||
			!read_word(&subscription, impl + rmw_handle)))
		subscription = 0; /* unknown */
	state->take_call.subscription = subscription;
	state->take_call.message = event->arguments[1];
	state->take_call.info = event->arguments[2];
	state->take_call.details = details;
	state->take_call.open = 1;
}

/* What the call that encloses the tracepoint knows of the take; false if it was not seen. */
static __always_inline bool add_take_details(struct thread_state *state, struct event *event)
{
	struct take_call *call;
	__u64 gid[2];

	if (!state || !state->take_call.open)
		return false;
	call = &state->take_call;
	if (!(call->details & DETAIL_LOANED) && call->message != event->arguments[1])
		return false;
	if (!call->details && unit_is_retired(UNIT_TAKE_DETAILS)) {
		call->open = 0; /* it was another call, also when its unit is probed again */
		return false;
	}
	call->open = 0;
	event->details |= call->details;
	if (call->info &&
	    !bpf_probe_read_user(gid, sizeof(gid),
				 (const void *)(call->info + message_publisher_gid_offset))) {
		event->gid[0] = gid[0];
		event->gid[1] = gid[1];
		event->details |= DETAIL_GID;
	}
	return true;
}

/* rcl empties the info before the call, so that a source timestamp says that something was taken.
 */
static __always_inline bool read_untraced_take(struct thread_state *state, struct event *event)
{
	struct take_call *call;
	__u64 message, stamp;

	if (!state || !state->take_call.open)
		return false;
	call = &state->take_call;
	message = call->message;
	if (!call->details || !call->info) {
		call->open = 0;
		return false;
	}
	if (!read_word(&stamp, call->info + message_source_timestamp_offset)) {
		count_loss(KIND_TAKE, REASON_FAULT);
		stamp = 0;
	}
	if (!stamp) {
		call->open = 0;
		return false;
	}
	if ((call->details & DETAIL_LOANED) && !read_word(&message, call->message))
		message = 0; /* unknown */
	event->arguments[0] = call->subscription;
	event->arguments[1] = message;
	event->arguments[2] = stamp;
	event->arguments[3] = 1;
	event->arguments[4] = 0;
	add_take_details(state, event);
	return true;
}

SEC("uprobe.multi")
int on_rmw_take(struct pt_regs *regs)
{
	__u64 cookie = bpf_get_attach_cookie(regs);
	struct thread_state *state;
	bool form_known = false;
	struct event event;

	if (!begin_tracepoint(&event, &state, EVENT_RMW_TAKE, regs, cookie))
		return 0;
	switch (COOKIE_FORM(cookie)) {
	case FORM_TAKE_ENTRY:
		open_take_call(state, &event, 0, 0);
		return 0;
	case FORM_TAKE_SERIALIZED_ENTRY:
		open_take_call(state, &event, DETAIL_SERIALIZED, COOKIE_PARAMETER(cookie));
		return 0;
	case FORM_TAKE_LOANED_ENTRY:
		open_take_call(state, &event, DETAIL_LOANED, COOKIE_PARAMETER(cookie));
		return 0;
	case FORM_TAKE_SERIALIZED_RETURN:
	case FORM_TAKE_LOANED_RETURN:
		if (!read_untraced_take(state, &event))
			return 0;
		form_known = true;
		break;
	default:
		if (event.arguments[3] & 0xff)
			form_known = add_take_details(state, &event);
	}
	if (form_known)
		read_message_stamp(&event, event.arguments[0], event.arguments[1]);
	emit_raw(&event);
	rmw_take(state, &event);
	return 0;
}

#endif
