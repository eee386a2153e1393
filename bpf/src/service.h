/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * The steps of service calls. A taken request waits on its thread for the callback that it feeds.
 */
#ifndef CARET_SERVICE_H
#define CARET_SERVICE_H

#include "thread.h"

/*
 * A service function of rcl begins. It writes through the DDS library, too: a publish that is still
 * open has failed, and must not take that write's timestamp for its own.
 */
static __always_inline void service_call(struct thread_state *state, const struct event *event)
{
	if (state)
		end_publish(state, PUBLISH_NO_LAST_LAYER);
}

static __always_inline void fill_service(struct thread_state *state, struct service_record *record,
					 const struct event *event, enum service_step step)
{
	struct callback_frame *callback = current_callback(state);

	fill_header(&record->header, event, KIND_SERVICE, step, state->depth,
		    parent_flags(state) | (event->flags & FLAG_TAKEN));
	record->time_ns = event->time_ns;
	record->handle = event->arguments[0];
	record->message = event->arguments[1];
	record->gid[0] = event->gid[0];
	record->gid[1] = event->gid[1];
	record->sequence = event->arguments[2];
	record->stamp = event->arguments[3];
	record->callback = callback ? callback->callback : 0;
	record->callback_start_ns = callback ? callback->start_ns : 0;
}

/* (handle, message, sequence number, source timestamp), and the client's gid where it is known */
static __always_inline void service_step(struct thread_state *state, const struct event *event,
					 enum service_step step)
{
	struct service_record *record;

	if (!has_state(state, KIND_SERVICE))
		return;
	unwind_below(state, event->stack_pointer);
	flush_request(state);
	if (is_ignored(event->pid, event->arguments[0]))
		return;
	record = reserve(KIND_SERVICE, sizeof(*record));
	if (!record)
		return;
	fill_service(state, record, event, step);
	submit(record, sizeof(*record));
}

static __always_inline void request_taken(struct thread_state *state, const struct event *event)
{
	if (!has_state(state, KIND_SERVICE))
		return;
	unwind(state, event->stack_pointer);
	flush_take(state);
	flush_request(state);
	fill_service(state, &state->request, event, SERVICE_REQUEST_TAKEN);
	state->request_pending = 1;
}

/*
 * The executor goes on after Executor::execute_service, in a frame above. rclcpp has no
 * callback_end for a callback that defers its response: it ends here. It is the outermost of
 * those below; others were begun in it.
 */
static __always_inline void service_executed(struct thread_state *state, const struct event *event)
{
	struct callback_frame *frame, *outer;

	if (!state)
		return;
	end_publish(state, PUBLISH_NO_LAST_LAYER);
	flush_take(state);
	flush_dequeue(state);
	flush_request(state);
	state->intra_publisher.time_ns = 0;
	if (state->overflow && state->overflow_stack_pointer < event->stack_pointer)
		state->overflow = 0;
	for (int i = 0; i < MAX_DEPTH; i++) {
		frame = &state->frames[(state->depth - 1) & (MAX_DEPTH - 1)];
		if (!state->depth || frame->stack_pointer >= event->stack_pointer)
			break;
		outer = &state->frames[(state->depth - 2) & (MAX_DEPTH - 1)];
		if (state->depth == 1 || outer->stack_pointer >= event->stack_pointer) {
			frame->flags |= FLAG_DERIVED;
			end_callback(state, event);
		} else {
			close_callback(state, 0, 0, CALLBACK_UNWOUND);
		}
	}
}

#endif
