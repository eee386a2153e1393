/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * The life of a thread's state, its stack of open callbacks, and how each thing in it closes.
 *
 * What closes things is global: the verifier then looks at each once, for any state, and not anew
 * on every path of every program that calls it. Kernel 6.1 gives up on the latter.
 */
#ifndef CARET_THREAD_H
#define CARET_THREAD_H

#include "event.h"
#include "scheduling.h"

/* The value of a new element: too large for the BPF stack, never written. */
static const volatile struct thread_state empty_thread_state;

/*
 * The thread's state, made when it has none; NULL when it cannot be made. A probe looks once:
 * everything else is given what it has found.
 */
static __always_inline struct thread_state *get_thread(struct event *event)
{
	__u32 tid = event->tid; /* a copy: an event whose address escapes stays in memory */
	struct thread_state *state = bpf_map_lookup_elem(&threads, &tid);

	event->is_first = !state;
	if (state)
		return state;
	bpf_map_update_elem(&threads, &tid, (const void *)&empty_thread_state, BPF_NOEXIST);
	state = bpf_map_lookup_elem(&threads, &tid);
	if (!state)
		return NULL;
	state->pid = event->pid;
	state->tid = event->tid;
	return state;
}

/* The thread's account of what it is recorded for. Every hit is counted, whatever becomes of it. */
static __always_inline void count_hit(struct thread_state *state, const struct event *event,
				      __u32 unit)
{
	struct hit_count *count;

	if (!state)
		return;
	count = &state->account.units[unit & (HIT_UNITS - 1)];
	count->hits++;
	count->cost_ns += event->cost_ns;
	state->account.cost_ns += event->cost_ns;
}

/* Asked for an event of which a record is to come: without a state it is lost, which is counted. */
static __always_inline bool has_state(const struct thread_state *state, enum record_kind kind)
{
	if (!state)
		count_loss(kind, REASON_NO_THREAD_STATE);
	return state;
}

/* The innermost open callback, NULL outside of callbacks and beyond MAX_DEPTH. */
static __always_inline struct callback_frame *current_callback(struct thread_state *state)
{
	if (!state->depth || state->overflow)
		return NULL;
	return &state->frames[(state->depth - 1) & (MAX_DEPTH - 1)];
}

/* What is known of the steps of the executor that runs the thread's callbacks now, or will. */
static __always_inline __u8 *executor_steps(struct thread_state *state)
{
	struct callback_frame *callback = current_callback(state);

	return callback ? &callback->steps : &state->steps;
}

static __always_inline __u8 parent_flags(const struct thread_state *state)
{
	return state->overflow ? FLAG_PARENT_UNKNOWN : 0;
}

__noinline int close_publish(struct thread_state *state, __u8 status)
{
	struct publish_record *publish;

	if (!state)
		return 0;
	publish = &state->publish;
	state->publish_open = 0;
	publish->header.status = status;
	if (is_ignored(state->pid,
		       publish->publisher ? publish->publisher : publish->rmw_publisher))
		return 0;
	output(KIND_PUBLISH, publish, sizeof(*publish));
	return 0;
}

/*
 * An intra-process publish and the rclcpp_publish after it are one publish when the same publisher
 * says so in rcl_publish, or, where that never came, when they have the same message. Otherwise
 * they are two, and the first one is emitted here.
 */
__noinline int split_off_intra_publish(struct thread_state *state)
{
	struct publish_record *publish;
	__u64 rclcpp_ns, message;

	if (!state)
		return 0;
	publish = &state->publish;
	rclcpp_ns = publish->rclcpp_ns;
	message = publish->message;
	publish->rclcpp_ns = 0;
	publish->message = 0;
	publish->layers = LAYER_INTRA;
	close_publish(state, PUBLISH_COMPLETE);
	publish->header.flags &= ~FLAG_DERIVED;
	publish->message_stamp = 0;
	publish->details = 0;
	publish->number = state->publish_count++;
	publish->publisher = 0;
	publish->intra_message = 0;
	publish->intra_ns = 0;
	publish->enqueues = 0;
	publish->rclcpp_ns = rclcpp_ns;
	publish->message = message;
	publish->layers = LAYER_RCLCPP;
	state->publish_open = 1;
	return 0;
}

/* The publish ends without its last layer, because something else begins on the thread. */
static __always_inline void end_publish(struct thread_state *state, __u8 status)
{
	struct publish_record *publish = &state->publish;

	if (!state->publish_open)
		return;
	if (publish->layers == (LAYER_INTRA | LAYER_RCLCPP) &&
	    publish->message != publish->intra_message)
		split_off_intra_publish(state);
	/* Only intra-process subscriptions received it: no further layer was to come. */
	if (status == PUBLISH_NO_LAST_LAYER && publish->layers == LAYER_INTRA)
		status = PUBLISH_COMPLETE;
	close_publish(state, status);
}

static __always_inline void emit_take(struct thread_state *state, struct take_record *take)
{
	if (is_ignored(state->pid, take->feed.source))
		return;
	output(KIND_TAKE, take, sizeof(*take));
}

/* A take that no callback consumed is a polled one. */
__noinline int flush_take(struct thread_state *state)
{
	if (!state || !state->take_pending)
		return 0;
	state->take_pending = 0;
	emit_take(state, &state->take);
	return 0;
}

__noinline int flush_dequeue(struct thread_state *state)
{
	if (!state || !state->dequeue_pending)
		return 0;
	state->dequeue_pending = 0;
	emit_take(state, &state->dequeue);
	return 0;
}

/* A request that no callback consumed was taken by hand, or by an action's server. */
__noinline int flush_request(struct thread_state *state)
{
	if (!state || !state->request_pending)
		return 0;
	state->request_pending = 0;
	if (!is_ignored(state->pid, state->request.handle))
		output(KIND_SERVICE, &state->request, sizeof(state->request));
	return 0;
}

/* A wait is over, or nothing more is to be seen of it. end_ns is 0 where its end was not seen. */
__noinline int close_wait(struct thread_state *state, __u64 end_ns, __u8 status)
{
	if (!state || !state->wait_open)
		return 0;
	state->wait_open = 0;
	state->wait.end_ns = end_ns;
	state->wait.header.status = status;
	output(KIND_WAIT, &state->wait, sizeof(state->wait));
	return 0;
}

/* Pops the innermost callback and emits it. end_ns and end_cpu are 0 where the end was not seen. */
__noinline int close_callback(struct thread_state *state, __u64 end_ns, __u32 end_cpu, __u8 status)
{
	struct scheduled_callback_record *scheduled;
	struct callback_frame *frame, *parent;
	struct callback_record *record;
	bool is_scheduled;
	__u64 size;

	if (!state || !state->depth)
		return 0;
	state->depth--;
	frame = &state->frames[state->depth & (MAX_DEPTH - 1)];
	if (is_ignored(state->pid, frame->callback))
		return 0;
	is_scheduled = scheduling && state->is_scheduling_known;
	size = is_scheduled ? sizeof(*scheduled) : sizeof(*record);
	record = reserve(KIND_CALLBACK, size);
	if (!record)
		return 0;
	record->header.kind = is_scheduled ? KIND_SCHEDULED_CALLBACK : KIND_CALLBACK;
	record->header.status = status;
	record->header.depth = state->depth;
	record->header.flags = frame->flags;
	record->header.cpu = frame->cpu;
	record->header.pid = state->pid;
	record->header.tid = state->tid;
	record->callback = frame->callback;
	record->start_ns = frame->start_ns;
	record->end_ns = end_ns;
	record->parent_callback = 0;
	record->parent_start_ns = 0;
	/* All between the two instants, and of the hits at them about a half each. */
	record->overhead_ns = end_ns ? state->account.cost_ns - frame->cost_ns : 0;
	if (state->depth) {
		parent = &state->frames[(state->depth - 1) & (MAX_DEPTH - 1)];
		record->parent_callback = parent->callback;
		record->parent_start_ns = parent->start_ns;
	}
	record->feed = frame->feed;
	record->feed.callback_end_cpu = end_cpu;
	if (is_scheduled) {
		scheduled = (void *)record;
		scheduled->scheduling = state->scheduling;
	}
	submit(record, size);
	return 0;
}

/* The innermost callback is complete: it is known what it was off the CPU for, if that is asked. */
static __always_inline void end_callback(struct thread_state *state, const struct event *event)
{
	const struct callback_frame *frame;

	if (scheduling && state->depth) {
		frame = &state->frames[(state->depth - 1) & (MAX_DEPTH - 1)];
		state->is_scheduling_known = scheduling_at_end(state->depth - 1, frame->start_ns,
							       event->time_ns, &state->scheduling);
	}
	close_callback(state, event->time_ns, event->cpu, CALLBACK_COMPLETE);
	if (scheduling)
		state->is_scheduling_known = false;
}

/*
 * An exception leaves callbacks without callback_end. Stacks grow downwards, so a callback whose
 * frame lies below the stack pointer of a later event is gone.
 */
__noinline int unwind_below(struct thread_state *state, __u64 stack_pointer)
{
	if (!state)
		return 0;
	if (state->overflow && state->overflow_stack_pointer < stack_pointer)
		state->overflow = 0;
	for (int i = 0; i < MAX_DEPTH; i++) {
		if (!state->depth ||
		    state->frames[(state->depth - 1) & (MAX_DEPTH - 1)].stack_pointer >=
			    stack_pointer)
			break;
		close_callback(state, 0, 0, CALLBACK_UNWOUND);
	}
	return 0;
}

/* The same for events that do not happen in the very frame of a callback: its frame is free. */
static __always_inline void unwind(struct thread_state *state, __u64 stack_pointer)
{
	unwind_below(state, stack_pointer + 1);
}

/* The thread ends, or becomes another program. */
static __always_inline void close_thread(const struct event *event, __u32 tid)
{
	struct thread_state *state = bpf_map_lookup_elem(&threads, &tid);

	if (!state)
		return;
	end_publish(state, PUBLISH_THREAD_EXIT);
	flush_take(state);
	flush_dequeue(state);
	flush_request(state);
	for (int i = 0; i < MAX_DEPTH && state->depth; i++)
		close_callback(state, 0, 0, CALLBACK_THREAD_EXIT);
	close_wait(state, 0, WAIT_THREAD_EXIT);
	fill_header(&state->account.header, event, KIND_THREAD, 0, 0, 0);
	state->account.header.tid = tid;
	state->account.time_ns = event->time_ns;
	output(KIND_THREAD, &state->account, sizeof(state->account));
	bpf_map_delete_elem(&threads, &tid);
}

#endif
