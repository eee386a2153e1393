/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/* What every probe does first. */
#ifndef CARET_PROBE_H
#define CARET_PROBE_H

#include "callers.h"
#include "links.h"
#include "registers.h"

/*
 * False when the hit is of a process that is not recorded, or recorded through another link. The
 * state is that of the thread. entity says that it tells of what is created and destroyed.
 */
static __always_inline bool fill_event(struct event *event, struct thread_state **state, __u8 id,
				       struct pt_regs *regs, __u64 cookie, bool entity)
{
	__u64 pid_tid, *listed;
	__u32 pid, rule;

	pid_tid = bpf_get_current_pid_tgid();
	pid = pid_tid >> 32;
	rule = links[COOKIE_SET(cookie)];
	/* Before the thread gets a state: it does so for the first hit that is recorded. */
	if (rule & LINKS_EARLY)
		return false;
	event->is_early = false;
	if (rule & LINKS_FILTER) {
		listed = bpf_map_lookup_elem(&processes, &pid);
		if (!listed)
			return false;
		event->is_early = *listed == LISTED_FOR_ENTITIES;
		if (event->is_early && !entity)
			return false;
	}
	event->pid = pid_tid >> 32; /* not pid, which stays in memory: its address escapes */
	event->tid = pid_tid;
	*state = get_thread(event);
	if (rule & (LINKS_TAKE | LINKS_YIELD) && !takes_hit(*state, rule, COOKIE_UNIT(cookie)))
		return false;
	event->id = id;
	event->time_ns = bpf_ktime_get_ns();
	event->cpu = bpf_get_smp_processor_id();
	event->stack_pointer = STACK_POINTER(regs) + COOKIE_STACK(cookie);
	event->last_layer = 0;
	event->has_stamp = 0;
	event->has_message = 0;
	event->gid[0] = 0;
	event->gid[1] = 0;
	event->message_stamp = 0;
	event->details = 0;
	event->flags = 0;
	event->role = COOKIE_ROLE(cookie);
	event->cost_ns = COOKIE_COST(cookie);
	event->arguments[0] = ARGUMENT_1(regs);
	event->arguments[1] = ARGUMENT_2(regs);
	event->arguments[2] = ARGUMENT_3(regs);
	event->arguments[3] = ARGUMENT_4(regs);
	event->arguments[4] = ARGUMENT_5(regs);
	count_hit(*state, event, COOKIE_UNIT(cookie));
	return true;
}

/* False when this hit is not to be recorded. */
static __always_inline bool begin_event(struct event *event, struct thread_state **state, __u8 id,
					struct pt_regs *regs, __u64 cookie)
{
	return gate == GATE_OPEN && fill_event(event, state, id, regs, cookie, false);
}

/* The same for tracepoints, whose callers may be probed: a call that is seen twice begins once. */
static __always_inline bool begin_tracepoint(struct event *event, struct thread_state **state,
					     __u8 id, struct pt_regs *regs, __u64 cookie)
{
	return begin_event(event, state, id, regs, cookie) && !is_repeated(*state, event);
}

/* Reads a pointer-sized word of the traced process; false where its page is not resident. */
static __always_inline bool read_word(__u64 *word, __u64 address)
{
	return !bpf_probe_read_user(word, sizeof(*word), (const void *)address);
}

#endif
