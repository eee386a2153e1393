/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * Intra-process communication. From Iron on there are tracepoints. Humble has none: its headers, in
 * user code, call exported functions of librclcpp at the same points, and the objects tell the
 * rest.
 *
 *  - Publisher::publish counts its subscriptions first (PublisherBase::get_subscription_count);
 *  - each intra-process subscription that got the message triggers its guard condition, which is a
 *    member of it (GuardCondition::trigger);
 *  - Executor::execute_any_executable is given the subscription and what was taken from its buffer;
 *  - StaticSingleThreadedExecutor takes and calls back at once, on the only thread that takes.
 */
#ifndef CARET_INTRA_PROCESS_PROBES_H
#define CARET_INTRA_PROCESS_PROBES_H

#include "callback.h"
#include "callers.h"
#include "message_stamp.h"
#include "publish.h"
#include "ring_history.h"
#include "take.h"
#include "task.h"

/*
 * What is known of rings. They end unseen, so a new subscription may have one at the address of
 * another: then nothing is known of any.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct process_address);
	__type(value, struct ring_history);
} ring_histories SEC(".maps");

/* The value of a new element, never written. */
static const volatile struct ring_history new_history = {.generation = HISTORY_NEW};

/* The ring of each subscription that showed one. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct process_address);
	__type(value, __u64);
} subscription_rings SEC(".maps");

/*
 * A ring could not be noted: there are too many, perhaps of another process. What is taken from it
 * unseen is lost from then on.
 */
volatile __u32 rings_missing;

/* The ring that a subscription showed before, NULL if it did not. */
static __always_inline __u64 *known_ring(const struct event *event, __u64 subscription)
{
	struct process_address key = {.address = subscription, .pid = event->pid};

	return bpf_map_lookup_elem(&subscription_rings, &key);
}

static __always_inline void note_ring(const struct event *event, __u64 subscription,
				      const __u64 *known, __u64 address)
{
	struct process_address key = {.address = subscription, .pid = event->pid};

	if ((!known || *known != address) &&
	    bpf_map_update_elem(&subscription_rings, &key, &address, BPF_ANY))
		rings_missing = 1;
}

/*
 * An operation of the subscription's ring was seen, but the ring cannot be read: what was known of
 * it holds no more. False if the object never showed a ring: then it is probably no subscription.
 */
static __always_inline bool forget_ring(const struct event *event, const __u64 *known)
{
	struct process_address key = {.pid = event->pid};

	if (!known)
		return false;
	key.address = *known;
	bpf_map_delete_elem(&ring_histories, &key);
	return true;
}

/*
 * Two programs that use a history at once would spoil it: no lock can be had here. False for the
 * second one, which leaves to the next one what it has seen.
 */
static __always_inline bool enter_history(struct ring_history *known)
{
	__sync_fetch_and_add(&known->users, 1);
	return known->users == 1;
}

static __always_inline void leave_history(struct ring_history *known)
{
	__sync_fetch_and_add(&known->users, -1);
}

/* The same for the first enqueue of a ring. */
static __always_inline enum ring_overwritten
begin_ring(struct ring_history *known, const struct ring *ring, __u64 message, __u64 *slot)
{
	*slot = ring->write_index;
	begin_history(known, ring, message);
	known->generation = subscription_generation;
	return ring->size < ring->capacity ? OVERWRITTEN_NO : OVERWRITTEN_UNKNOWN;
}

/* The history of a ring, made when it has none. */
static __always_inline struct ring_history *get_history(const struct event *event, __u64 address)
{
	struct process_address key = {.address = address, .pid = event->pid};
	struct ring_history *known = bpf_map_lookup_elem(&ring_histories, &key);

	if (known)
		return known;
	bpf_map_update_elem(&ring_histories, &key, (const void *)&new_history, BPF_NOEXIST);
	return bpf_map_lookup_elem(&ring_histories, &key);
}

/* An enqueue into a ring: its slot, and whether it dropped a message, as far as that is certain. */
static __always_inline enum ring_overwritten note_enqueue(const struct event *event,
							  const struct ring *ring, __u64 address,
							  __u64 message, __u64 *slot)
{
	struct ring_history *known = get_history(event, address);
	enum ring_overwritten overwritten = OVERWRITTEN_UNKNOWN;

	*slot = SLOT_UNKNOWN;
	if (!known)
		return OVERWRITTEN_UNKNOWN;
	if (!enter_history(known) || !is_ring_at_rest(ring))
		skip_operation(&known->skipped_enqueues);
	else if (known->generation == subscription_generation)
		overwritten = follow_enqueue(known, ring, message, slot);
	else
		overwritten = begin_ring(known, ring, message, slot);
	leave_history(known);
	return overwritten;
}

/* The slot that a dequeue emptied, as far as that is certain. */
static __always_inline __u64 note_dequeue(const struct event *event, const struct ring *ring,
					  __u64 address, __u64 message)
{
	struct process_address key = {.address = address, .pid = event->pid};
	struct ring_history *known = bpf_map_lookup_elem(&ring_histories, &key);
	__u64 slot = SLOT_UNKNOWN;

	if (!known)
		return SLOT_UNKNOWN;
	if (!enter_history(known) || !is_ring_at_rest(ring))
		skip_operation(&known->skipped_dequeues);
	else if (known->generation == subscription_generation)
		slot = follow_dequeue(known, ring, message);
	leave_history(known);
	return slot;
}

/* rclcpp_intra_publish(publisher, message) | get_subscription_count(PublisherBase *) */
SEC("uprobe.multi")
int on_rclcpp_intra_publish(struct pt_regs *regs)
{
	__u64 cookie = bpf_get_attach_cookie(regs);
	struct thread_state *state;
	struct event event;
	__u64 handle;

	if (!begin_event(&event, &state, EVENT_RCLCPP_INTRA_PUBLISH, regs, cookie))
		return 0;
	if (COOKIE_FORM(cookie) == FORM_ARGUMENTS) {
		read_message_stamp(&event, event.arguments[0], event.arguments[1]);
		emit_raw(&event);
		rclcpp_intra_publish(state, &event);
		return 0;
	}
	if (is_hit_of_newer(state, &event))
		return 0;
	/*
	 * It becomes a publish when a buffer gets a message; others ask for the count, too. The
	 * parameter leads from PublisherBase to publisher_handle_.
	 */
	if (!read_word(&handle, event.arguments[0] + COOKIE_PARAMETER(cookie)))
		handle = 0;
	if (!state)
		return 0;
	state->intra_publisher.handle = handle;
	state->intra_publisher.time_ns = event.time_ns;
	state->intra_publisher.opened = 0;
	return 0;
}

/* The publish of an enqueue on Humble, begun when its subscriptions were counted. */
static __always_inline void open_intra_publish(struct thread_state *state,
					       const struct event *enqueue, __u64 message)
{
	struct event event;

	if (state->intra_publisher.opened)
		return;
	state->intra_publisher.opened = 1;
	__builtin_memcpy(&event, enqueue, sizeof(event));
	event.id = EVENT_RCLCPP_INTRA_PUBLISH;
	event.time_ns = state->intra_publisher.time_ns;
	event.arguments[0] = state->intra_publisher.handle;
	event.arguments[1] = message;
	event.arguments[2] = 0;
	event.arguments[3] = 0;
	event.arguments[4] = 0;
	read_message_stamp(&event, event.arguments[0], message);
	emit_raw(&event);
	rclcpp_intra_publish(state, &event);
}

/* rclcpp_ring_buffer_enqueue(buffer, index, size, overwritten) | trigger(GuardCondition *) */
SEC("uprobe.multi")
int on_rclcpp_ring_buffer_enqueue(struct pt_regs *regs)
{
	__u64 cookie = bpf_get_attach_cookie(regs);
	struct thread_state *state;
	enum ring_overwritten overwritten;
	struct event event;
	struct ring ring;
	__u64 subscription, address, slot, message = 0;
	__u64 *known;

	if (!begin_event(&event, &state, EVENT_RCLCPP_RING_BUFFER_ENQUEUE, regs, cookie))
		return 0;
	if (COOKIE_FORM(cookie) == FORM_ARGUMENTS) {
		emit_raw(&event);
		ring_buffer_enqueue(state, &event);
		return 0;
	}
	if (!state || is_hit_of_newer(state, &event) || !state->intra_publisher.time_ns)
		return 0;
	subscription = event.arguments[0] - intra_guard_condition_offset;
	address = read_ring(&ring, subscription);
	known = known_ring(&event, subscription);
	if (address == RING_UNREADABLE && forget_ring(&event, known))
		count_loss(KIND_ENQUEUE, REASON_FAULT);
	if (address <= RING_UNREADABLE)
		return 0;
	note_ring(&event, subscription, known, address);
	event.flags = FLAG_DERIVED;
	read_word(&message,
		  ring.begin + ring.write_index * ((ring.end - ring.begin) / ring.capacity));
	overwritten = note_enqueue(&event, &ring, address, message, &slot);
	if (overwritten == NO_ENQUEUE)
		return 0;
	if (overwritten == OVERWRITTEN_UNKNOWN)
		event.flags |= FLAG_OVERWRITTEN_UNKNOWN;
	if (slot == SLOT_UNKNOWN)
		message = 0; /* another thread's */
	open_intra_publish(state, &event, message);
	event.arguments[0] = address;
	event.arguments[1] = slot;
	event.arguments[2] = ring.size;
	event.arguments[3] = overwritten == OVERWRITTEN_YES;
	event.arguments[4] = 0;
	emit_raw(&event);
	ring_buffer_enqueue(state, &event);
	return 0;
}

/*
 * What has just been taken from the buffer of a subscription, if it is one. known is the ring that
 * it showed before, data what holds the message, 0 if unknown.
 */
static __always_inline void derive_dequeue(struct thread_state *state, struct event *event,
					   __u64 subscription, const __u64 *known, __u64 data)
{
	__u64 address, messages[3];
	struct ring ring;

	address = read_ring(&ring, subscription);
	if (address == RING_UNREADABLE) /* the callback that follows does not tell what fed it */
		forget_ring(event, known);
	if (address <= RING_UNREADABLE)
		return;
	note_ring(event, subscription, known, address);
	/* std::pair<std::shared_ptr, std::unique_ptr>, one of which has the message */
	if (data && !bpf_probe_read_user(messages, sizeof(messages), (const void *)data))
		event->gid[0] = messages[0] ? messages[0] : messages[2];
	event->id = EVENT_RCLCPP_RING_BUFFER_DEQUEUE;
	event->flags = FLAG_DERIVED;
	event->arguments[0] = address;
	event->arguments[1] = note_dequeue(event, &ring, address, event->gid[0]);
	event->arguments[2] = ring.size;
	event->arguments[3] = 0;
	event->arguments[4] = 0;
	emit_raw(event);
	ring_buffer_dequeue(state, event);
}

/* Executor::execute_any_executable(Executor *, AnyExecutable *) */
SEC("uprobe.multi")
int on_executor_execute(struct pt_regs *regs)
{
	__u64 cookie = bpf_get_attach_cookie(regs), waitable, data;
	struct thread_state *state;
	struct event event;

	if (!begin_event(&event, &state, EVENT_EXECUTOR_EXECUTE, regs, cookie) ||
	    is_hit_of_newer(state, &event))
		return 0;
	emit_raw(&event);
	executor_execute(state, &event);
	if (intra_process && COOKIE_FORM(cookie) == FORM_DERIVED &&
	    read_word(&waitable, event.arguments[1] + executable_waitable_offset) && waitable &&
	    read_word(&data, event.arguments[1] + executable_data_offset) && data)
		derive_dequeue(state, &event, waitable, known_ring(&event, waitable), data);
	return 0;
}

/* Whether the executor that begins a callback now does not show its steps. */
static __always_inline bool hides_steps(struct thread_state *state)
{
	const struct callback_frame *within = current_callback(state);
	__u8 steps = within ? within->steps : state->steps;

	/* Of its first callback the step would have been seen. */
	return steps == STEPS_HIDDEN ||
	       (steps == STEPS_UNKNOWN && (within || is_seen_from_its_beginning()));
}

/*
 * What a callback shows that has begun: that its message was taken. It is one of Humble's whose
 * subscription has shown its buffer.
 */
static __always_inline void derive_unseen_dequeue(struct thread_state *state,
						  const struct event *callback, __u64 subscription)
{
	struct event dequeue;
	__u64 *known;

	if (!state || state->dequeue_pending || !hides_steps(state))
		return;
	known = known_ring(callback, subscription);
	if (!known) {
		if (rings_missing) /* as likely as not it is one of those */
			count_loss(KIND_TAKE, REASON_MAP_FULL);
		return;
	}
	__builtin_memcpy(&dequeue, callback, sizeof(dequeue));
	derive_dequeue(state, &dequeue, subscription, known, 0);
}

#endif
