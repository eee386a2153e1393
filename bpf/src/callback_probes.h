/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * Probes of callbacks. Humble has no tracepoint for those of generic subscriptions: they start with
 * GenericSubscription::handle_serialized_message, which calls them, and are over when the executor
 * gives the message back, to GenericSubscription::return_serialized_message.
 */
#ifndef CARET_CALLBACK_PROBES_H
#define CARET_CALLBACK_PROBES_H

#include "callback.h"
#include "intra_process_probes.h"

struct shown_subscription {
	__u64 handle;
	__u64 generation; /* subscription_generation then */
};

/* Generic subscriptions that user space has been told of. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct process_address);
	__type(value, struct shown_subscription);
} shown_subscriptions SEC(".maps");

/*
 * No event announces the object of a generic subscription, and it may be gone before anybody has
 * searched the memory for it. The object itself says whose it is. It is told anew when another
 * subscription may have its address.
 */
static __always_inline void show_generic_subscription(const struct event *event, __u64 object,
						      __u64 handle_offset)
{
	struct process_address key = {.address = object, .pid = event->pid};
	struct shown_subscription shown = {.generation = subscription_generation};
	struct shown_subscription *known = bpf_map_lookup_elem(&shown_subscriptions, &key);
	struct init_record *record;

	if (!read_word(&shown.handle, object + handle_offset))
		return;
	if (known && known->handle == shown.handle && known->generation == shown.generation)
		return;
	record = reserve(KIND_INIT, sizeof(*record));
	if (!record)
		return;
	fill_header(&record->header, event, KIND_INIT, EVENT_GENERIC_SUBSCRIPTION, 0, 0);
	record->time_ns = event->time_ns;
	record->arguments[0] = shown.handle;
	record->arguments[1] = object;
	record->arguments[2] = event->arguments[0];
	record->arguments[3] = 0;
	record->arguments[4] = 0;
	record->strings[0] = 0;
	record->strings[INIT_STRING_SIZE] = 0;
	bpf_ringbuf_submit(record, BPF_RB_FORCE_WAKEUP);
	bpf_map_update_elem(&shown_subscriptions, &key, &shown, BPF_ANY);
}

/* The callback is a member of the object that the member function is called for. */
static __always_inline void derive_callback(struct event *event)
{
	event->arguments[0] += generic_callback_offset;
	event->arguments[1] = 0;
	event->flags = FLAG_DERIVED;
}

/* callback_start(callback, is_intra_process) | handle_serialized_message(GenericSubscription *) */
SEC("uprobe.multi")
int on_callback_start(struct pt_regs *regs)
{
	__u64 cookie = bpf_get_attach_cookie(regs), object;
	struct thread_state *state;
	struct event event;

	if (!begin_tracepoint(&event, &state, EVENT_CALLBACK_START, regs, cookie))
		return 0;
	if (COOKIE_FORM(cookie) == FORM_GENERIC_CALLBACK) {
		object = event.arguments[0];
		derive_callback(&event);
		show_generic_subscription(&event, object, COOKIE_PARAMETER(cookie));
	} else if (intra_process && event.arguments[1] & 1) {
		derive_unseen_dequeue(state, &event, event.arguments[0] - intra_callback_offset);
	}
	emit_raw(&event);
	callback_start(state, &event);
	return 0;
}

/* callback_end(callback) | return_serialized_message(GenericSubscription *) */
SEC("uprobe.multi")
int on_callback_end(struct pt_regs *regs)
{
	__u64 cookie = bpf_get_attach_cookie(regs);
	struct thread_state *state;
	struct event event;

	if (!begin_tracepoint(&event, &state, EVENT_CALLBACK_END, regs, cookie))
		return 0;
	if (COOKIE_FORM(cookie) == FORM_GENERIC_CALLBACK)
		derive_callback(&event);
	emit_raw(&event);
	callback_end(state, &event);
	return 0;
}

#endif
