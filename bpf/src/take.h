/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * Takes and dequeues wait on their thread for the callback that they feed.
 */
#ifndef CARET_TAKE_H
#define CARET_TAKE_H

#include "thread.h"

static __always_inline void hold_take(struct thread_state *state, const struct event *event,
				      struct take_record *take, __u64 source, __u64 message,
				      __s64 stamp, __u8 flags)
{
	struct callback_frame *callback = current_callback(state);

	fill_header(&take->header, event, KIND_TAKE, 0, state->depth, flags | parent_flags(state));
	take->feed.source = source;
	take->feed.message = message;
	take->feed.stamp = stamp;
	take->feed.time_ns = event->time_ns;
	take->feed.gid[0] = event->gid[0];
	take->feed.gid[1] = event->gid[1];
	take->feed.message_stamp = event->message_stamp;
	take->feed.details = event->details;
	take->feed.callback_end_cpu = 0;
	take->callback = callback ? callback->callback : 0;
	take->callback_start_ns = callback ? callback->start_ns : 0;
}

/* rmw_take(rmw_subscription, message, source_timestamp, taken) */
static __always_inline void rmw_take(struct thread_state *state, const struct event *event)
{
	if (!(event->arguments[3] & 0xff) || !has_state(state, KIND_TAKE))
		return;
	if (scheduling)
		watch_thread(state);
	unwind(state, event->stack_pointer);
	flush_take(state);
	flush_request(state);
	hold_take(state, event, &state->take, event->arguments[0], event->arguments[1],
		  event->arguments[2], FLAG_FED_BY_TAKE);
	state->take_pending = 1;
}

/* rclcpp_ring_buffer_dequeue(buffer, index, size) */
static __always_inline void ring_buffer_dequeue(struct thread_state *state,
						const struct event *event)
{
	if (!has_state(state, KIND_TAKE))
		return;
	unwind(state, event->stack_pointer);
	flush_dequeue(state);
	hold_take(state, event, &state->dequeue, event->arguments[0], event->arguments[1],
		  event->arguments[2], FLAG_FED_BY_DEQUEUE | event->flags);
	state->dequeue_pending = 1;
}

#endif
