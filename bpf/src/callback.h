/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * callback_start and callback_end become one record; takes and dequeues that came before a start on
 * its thread are what fed it.
 */
#ifndef CARET_CALLBACK_H
#define CARET_CALLBACK_H

#include "thread.h"

static const volatile struct feed no_feed;

static __always_inline void push_callback(struct thread_state *state, const struct event *event,
					  const struct feed *feed, __u8 flags)
{
	struct callback_frame *frame;

	if (state->overflow || state->depth >= MAX_DEPTH) {
		if (!state->overflow++)
			state->overflow_stack_pointer = event->stack_pointer;
		count_loss(KIND_CALLBACK, REASON_DEPTH_EXCEEDED);
		return;
	}
	frame = &state->frames[state->depth & (MAX_DEPTH - 1)];
	frame->callback = event->arguments[0];
	frame->start_ns = event->time_ns;
	frame->stack_pointer = event->stack_pointer;
	frame->cost_ns = state->account.cost_ns;
	frame->cpu = event->cpu;
	frame->flags = flags;
	frame->steps = STEPS_UNKNOWN;
	frame->feed = *feed;
	state->depth++;
	if (scheduling)
		scheduling_at_start(state->depth - 1, event->time_ns);
}

/*
 * Whether what is told by this header happened in a callback that is over. An exception has
 * unwound it, which nothing showed before a callback began further up.
 */
static __always_inline bool was_unwound(const struct thread_state *state,
					const struct record_header *header)
{
	return header->depth > state->depth ||
	       (header->flags & FLAG_PARENT_UNKNOWN && !state->overflow);
}

/*
 * Emits what was taken and cannot feed the callback that starts: what is of the other kind, was
 * taken in a callback that an exception has left, or is an ignored callback's, which has no record
 * that could tell of it. What is left waiting feeds the callback, but for a request: it has a
 * record of its own. Returns the flags of what feeds it. (Once each: an emission is many
 * instructions.)
 */
static __always_inline __u8 flush_others(struct thread_state *state, const struct event *event,
					 bool intra_process)
{
	__u8 flags = 0;

	if (state->take_pending && (intra_process || was_unwound(state, &state->take.header) ||
				    is_ignored(event->pid, event->arguments[0])))
		flush_take(state);
	if (state->dequeue_pending &&
	    (!intra_process || was_unwound(state, &state->dequeue.header)))
		flush_dequeue(state);
	if (state->request_pending) {
		if (!intra_process && !was_unwound(state, &state->request.header)) {
			flags = FLAG_FED_BY_REQUEST;
			state->request.header.flags = FLAG_FED_CALLBACK;
			state->request.callback = event->arguments[0];
			state->request.callback_start_ns = event->time_ns;
		}
		flush_request(state);
	}
	return flags;
}

/* callback_start(callback, is_intra_process) */
static __always_inline void callback_start(struct thread_state *state, const struct event *event)
{
	bool intra_process = event->arguments[1] & 1;
	__u8 flags = event->flags & FLAG_DERIVED;
	const struct feed *feed = (const struct feed *)&no_feed;

	if (!has_state(state, KIND_CALLBACK))
		return;
	end_publish(state, PUBLISH_NO_LAST_LAYER);
	unwind(state, event->stack_pointer);
	flags |= flush_others(state, event, intra_process);
	if (intra_process)
		flags |= FLAG_INTRA_PROCESS;
	if (state->dequeue_pending) {
		state->dequeue_pending = 0;
		flags |= FLAG_FED_BY_DEQUEUE | (state->dequeue.header.flags & FLAG_DERIVED);
		feed = &state->dequeue.feed;
	} else if (state->take_pending) {
		state->take_pending = 0;
		flags |= FLAG_FED_BY_TAKE;
		feed = &state->take.feed;
	}
	push_callback(state, event, feed, flags);
}

/* The end of a callback whose start was not seen. */
static __always_inline void emit_callback_without_start(const struct event *event, __u8 depth)
{
	struct callback_record *record;

	if (is_ignored(event->pid, event->arguments[0]))
		return;
	record = reserve(KIND_CALLBACK, sizeof(*record));
	if (!record)
		return;
	__builtin_memset(record, 0, sizeof(*record));
	fill_header(&record->header, event, KIND_CALLBACK, CALLBACK_START_MISSING, depth, 0);
	record->callback = event->arguments[0];
	record->end_ns = event->time_ns;
	record->feed.callback_end_cpu = event->cpu;
	submit(record, sizeof(*record));
}

/*
 * Open callbacks outside the one that ends, itself included; 0 = none. The same callback may be
 * open several times. All of them at or below the stack pointer are over: the outermost of those
 * ends here, the others were left by an exception.
 */
static __always_inline __u32 find_callback(const struct thread_state *state,
					   const struct event *event)
{
	const struct callback_frame *frame;

	for (__u32 i = 1; i <= MAX_DEPTH; i++) {
		frame = &state->frames[i - 1];
		if (i <= state->depth && frame->callback == event->arguments[0] &&
		    frame->stack_pointer <= event->stack_pointer)
			return i;
	}
	for (__u32 i = MAX_DEPTH; i > 0; i--) {
		frame = &state->frames[i - 1];
		if (i <= state->depth && frame->callback == event->arguments[0])
			return i;
	}
	return 0;
}

/*
 * callback_end(callback). A derived one also follows when nothing was there to be taken: without a
 * start that was seen, it is the end of nothing that is known.
 */
static __always_inline void callback_end(struct thread_state *state, const struct event *event)
{
	bool derived = event->flags & FLAG_DERIVED;
	__u32 match;
	__u8 *steps;

	if (!state) {
		if (!derived)
			emit_callback_without_start(event, 0);
		return;
	}
	end_publish(state, PUBLISH_NO_LAST_LAYER);
	flush_take(state);
	flush_dequeue(state);
	flush_request(state);
	state->intra_publisher.time_ns = 0;
	if (state->overflow) {
		if (event->stack_pointer <
		    state->frames[(state->depth - 1) & (MAX_DEPTH - 1)].stack_pointer) {
			state->overflow--;
			return;
		}
		state->overflow = 0;
	}
	/*
	 * The frame of the ending callback itself may lie below the stack pointer (a tail call
	 * releases it first), so the address decides, and only then the stack pointer.
	 */
	match = find_callback(state, event);
	if (!match) {
		unwind(state, event->stack_pointer);
		if (derived)
			return;
		/* What was shown since it began was shown by an executor within it. */
		*executor_steps(state) = STEPS_HIDDEN;
		emit_callback_without_start(event, state->depth);
		return;
	}
	for (int i = 0; i < MAX_DEPTH && state->depth > match; i++)
		close_callback(state, 0, 0, CALLBACK_UNWOUND);
	end_callback(state, event);
	steps = executor_steps(state);
	if (*steps == STEPS_UNKNOWN)
		*steps = STEPS_HIDDEN;
}

/*
 * Executor::execute_any_executable: a new executable begins. What was taken before does not feed
 * it, and callbacks below this stack pointer were left by an exception.
 */
static __always_inline void executor_execute(struct thread_state *state, const struct event *event)
{
	if (!state)
		return;
	if (scheduling)
		watch_thread(state);
	end_publish(state, PUBLISH_NO_LAST_LAYER);
	unwind(state, event->stack_pointer);
	flush_take(state);
	flush_request(state);
	state->intra_publisher.time_ns = 0;
	*executor_steps(state) = STEPS_SHOWN;
}

enum stack_limit {
	/*
	 * No stack is larger, as a rule: what is caught further up is on another one, of a
	 * coroutine that runs within the callback.
	 */
	LARGEST_STACK = 8 << 20,
};

/*
 * The stack pointer of the innermost callback, of the outermost one of those that are nested too
 * deep, the largest one outside of callbacks.
 */
static __always_inline __u64 innermost_frame(const struct thread_state *state)
{
	if (state->overflow)
		return state->overflow_stack_pointer;
	return state->depth ? state->frames[(state->depth - 1) & (MAX_DEPTH - 1)].stack_pointer
			    : ~0ULL;
}

/*
 * A handler is entered, in a function that has called what is below this stack pointer. What was
 * taken in a callback that is left so feeds none.
 */
static __always_inline void exception_caught(struct thread_state *state, const struct event *event)
{
	__u64 innermost;

	if (!state)
		return;
	innermost = innermost_frame(state);
	if (innermost >= event->stack_pointer || event->stack_pointer - innermost > LARGEST_STACK)
		return;
	flush_take(state);
	flush_dequeue(state);
	flush_request(state);
	state->intra_publisher.time_ns = 0;
	unwind_below(state, event->stack_pointer);
}

#endif
