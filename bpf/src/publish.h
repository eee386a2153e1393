/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * The layers of a publish on its thread become one record:
 * rclcpp_intra_publish (with its enqueues), rclcpp_publish, rcl_publish, rmw_publish, source
 * timestamp. Any layer may be the first: rcl has users beside rclcpp, and rmw beside rcl.
 */
#ifndef CARET_PUBLISH_H
#define CARET_PUBLISH_H

#include "thread.h"

static __always_inline struct publish_record *open_publish(struct thread_state *state,
							   const struct event *event, __u32 layer)
{
	struct callback_frame *callback = current_callback(state);
	struct publish_record *publish = &state->publish;

	end_publish(state, PUBLISH_NO_LAST_LAYER);
	__builtin_memset(publish, 0, sizeof(*publish));
	fill_header(&publish->header, event, KIND_PUBLISH, 0, state->depth,
		    parent_flags(state) | event->flags);
	publish->number = state->publish_count++;
	if (callback) {
		publish->callback = callback->callback;
		publish->callback_start_ns = callback->start_ns;
	}
	publish->layers = layer;
	state->publish_open = 1;
	return publish;
}

/*
 * Removes dead callbacks before a layer of a publish. The compiler may have made one function of a
 * callback and of the publish in it, with one frame for both.
 */
static __always_inline bool begin_layer(struct thread_state *state, const struct event *event)
{
	if (!has_state(state, KIND_PUBLISH))
		return false;
	unwind_below(state, event->stack_pointer);
	return true;
}

/* header.stamp of the message, and the form in which it was handed over, where the probe knows. */
static __always_inline void add_details(struct publish_record *publish, const struct event *event)
{
	if (event->details & DETAIL_MESSAGE_STAMP)
		publish->message_stamp = event->message_stamp;
	publish->details |= event->details;
}

static __always_inline void close_if_last(struct thread_state *state, const struct event *event)
{
	if (event->last_layer)
		close_publish(state, PUBLISH_COMPLETE);
}

/* rclcpp_intra_publish(publisher, message) */
static __always_inline void rclcpp_intra_publish(struct thread_state *state,
						 const struct event *event)
{
	struct publish_record *publish;

	if (!begin_layer(state, event))
		return;
	publish = open_publish(state, event, LAYER_INTRA);
	publish->publisher = event->arguments[0];
	publish->intra_message = event->arguments[1];
	publish->intra_ns = event->time_ns;
	add_details(publish, event);
}

/* rclcpp_publish(NULL, message): whose publish it is, only rcl_publish tells. */
static __always_inline void rclcpp_publish(struct thread_state *state, const struct event *event)
{
	struct publish_record *publish;

	if (state)
		state->intra_publisher.time_ns = 0; /* the buffers have got their messages before */
	if (!begin_layer(state, event))
		return;
	if (state->publish_open && state->publish.layers == LAYER_INTRA) {
		publish = &state->publish;
		publish->layers |= LAYER_RCLCPP;
	} else {
		publish = open_publish(state, event, LAYER_RCLCPP);
	}
	publish->message = event->arguments[1];
	publish->rclcpp_ns = event->time_ns;
	close_if_last(state, event);
}

/*
 * rcl's function for a serialized or loaned message has been entered, and from Jazzy on its
 * tracepoint follows: one layer, not two.
 */
static __always_inline bool is_tracepoint_of_open(const struct thread_state *state,
						  const struct event *event)
{
	const struct publish_record *publish = &state->publish;

	return state->publish_open && (publish->details & (DETAIL_SERIALIZED | DETAIL_LOANED)) &&
	       !(event->details & (DETAIL_SERIALIZED | DETAIL_LOANED)) &&
	       (publish->layers & LAYER_RCL) && !(publish->layers & (LAYER_RMW | LAYER_STAMP)) &&
	       publish->publisher == event->arguments[0] && publish->message == event->arguments[1];
}

/* rcl_publish(publisher, message, rmw handle of a publisher on the stack) */
static __always_inline void rcl_publish(struct thread_state *state, const struct event *event)
{
	__u64 publisher = event->arguments[0];
	__u64 message = event->arguments[1];
	struct publish_record *publish;
	__u32 layers;

	if (!begin_layer(state, event))
		return;
	publish = &state->publish;
	layers = state->publish_open ? publish->layers : 0;
	if (layers == (LAYER_INTRA | LAYER_RCLCPP) && publish->message == message &&
	    publish->publisher && publish->publisher != publisher) {
		split_off_intra_publish(state);
		layers = LAYER_RCLCPP;
	}
	if ((layers == LAYER_RCLCPP && publish->message == message) ||
	    (layers == (LAYER_INTRA | LAYER_RCLCPP) && publish->message == message) ||
	    (layers == LAYER_INTRA && publish->publisher == publisher) ||
	    is_tracepoint_of_open(state, event))
		publish->layers |= LAYER_RCL;
	else
		publish = open_publish(state, event, LAYER_RCL);
	publish->publisher = publisher;
	publish->message = message;
	publish->rcl_ns = event->time_ns;
	if (event->details & DETAIL_STACK_HANDLE)
		publish->rmw_publisher = event->arguments[2];
	add_details(publish, event);
	close_if_last(state, event);
}

/* rmw_publish(rmw_publisher or 0, message, source_timestamp) */
static __always_inline void rmw_publish(struct thread_state *state, const struct event *event)
{
	__u64 message = event->arguments[1];
	struct publish_record *publish;

	if (!begin_layer(state, event))
		return;
	publish = &state->publish;
	if (state->publish_open && !(publish->layers & (LAYER_RMW | LAYER_STAMP)) &&
	    (publish->layers & (LAYER_RCLCPP | LAYER_RCL)) && publish->message == message)
		publish->layers |= LAYER_RMW;
	else
		publish = open_publish(state, event, LAYER_RMW);
	if (event->arguments[0])
		publish->rmw_publisher = event->arguments[0];
	publish->message = message;
	publish->rmw_ns = event->time_ns;
	if (event->has_stamp) {
		publish->layers |= LAYER_STAMP;
		publish->source_timestamp = event->arguments[2];
		publish->stamp_ns = event->time_ns;
	}
	close_if_last(state, event);
}

/*
 * dds_bind_addr_to_stamp(message or 0, source_timestamp). The DDS library also writes for itself
 * (discovery, services): only a write inside a publish of this thread counts.
 */
static __always_inline void dds_bind_addr_to_stamp(struct thread_state *state,
						   const struct event *event)
{
	struct publish_record *publish;

	if (!state || !state->publish_open)
		return;
	publish = &state->publish;
	if ((publish->layers & LAYER_STAMP) || !(publish->layers & (LAYER_RCL | LAYER_RMW)))
		return;
	if (event->has_message && event->arguments[0] != publish->message)
		return;
	publish->layers |= LAYER_STAMP;
	publish->source_timestamp = event->arguments[1];
	publish->stamp_ns = event->time_ns;
	close_if_last(state, event);
}

/* rclcpp_ring_buffer_enqueue(buffer, index, size, overwritten) */
static __always_inline void ring_buffer_enqueue(struct thread_state *state,
						const struct event *event)
{
	struct publish_record *publish;
	struct callback_frame *callback;
	struct enqueue_record *record;
	__u8 flags;

	if (!has_state(state, KIND_ENQUEUE))
		return;
	unwind_below(state, event->stack_pointer);
	publish = &state->publish;
	flags = parent_flags(state) | event->flags;
	if (event->arguments[3] & 0xff)
		flags |= FLAG_OVERWRITTEN;
	if (state->publish_open && publish->layers == LAYER_INTRA) {
		flags |= FLAG_IN_PUBLISH;
		publish->enqueues++;
		if (is_ignored(event->pid, publish->publisher))
			return;
	}
	record = reserve(KIND_ENQUEUE, sizeof(*record));
	if (!record)
		return;
	fill_header(&record->header, event, KIND_ENQUEUE, 0, state->depth, flags);
	record->buffer = event->arguments[0];
	record->index = event->arguments[1];
	record->size = event->arguments[2];
	record->time_ns = event->time_ns;
	record->publish_number = flags & FLAG_IN_PUBLISH ? publish->number : 0;
	record->publisher = flags & FLAG_IN_PUBLISH ? publish->publisher : 0;
	callback = current_callback(state);
	record->callback = callback ? callback->callback : 0;
	record->callback_start_ns = callback ? callback->start_ns : 0;
	submit(record, sizeof(*record));
}

#endif
