/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * What every probe does first. The attach cookie says what a site needs beside its program:
 *
 *	bits  0-7	event id
 *	bits  8-15	form: where the arguments are
 *	bit  16		the publish closes here, no later layer is planned
 *	bits 17-18	role of the site
 *	bits 19-23	unit: the part of the plan that the site belongs to
 *	bits 24-31	signed words from here to the stack pointer at function entry
 *	bits 32-47	parameter: a byte offset
 *	bits 48-63	what a hit is expected to cost, in nanoseconds
 */
#ifndef CARET_PROBE_H
#define CARET_PROBE_H

#include "callers.h"
#include "registers.h"

#define COOKIE_EVENT(cookie)	  ((cookie)&0xff)
#define COOKIE_FORM(cookie)	  (((cookie) >> 8) & 0xff)
#define COOKIE_LAST_LAYER(cookie) (((cookie) >> 16) & 1)
#define COOKIE_ROLE(cookie)	  (((cookie) >> 17) & 3)
#define COOKIE_UNIT(cookie)	  (((cookie) >> 19) & 31)
#define COOKIE_STACK(cookie)	  ((__s64)(__s8)((cookie) >> 24) * 8)
#define COOKIE_PARAMETER(cookie)  (((cookie) >> 32) & 0xffff)
#define COOKIE_COST(cookie)	  ((cookie) >> 48)

/* False when the hit is of a process that is not recorded. The state is that of the thread. */
static __always_inline bool fill_event(struct event *event, struct thread_state **state, __u8 id,
				       struct pt_regs *regs, __u64 cookie)
{
	__u64 pid_tid;
	__u32 pid;

	pid_tid = bpf_get_current_pid_tgid();
	pid = pid_tid >> 32;
	if (filter_processes && !bpf_map_lookup_elem(&processes, &pid))
		return false;
	event->pid = pid;
	event->tid = pid_tid;
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
	*state = get_thread(event);
	count_hit(*state, event, COOKIE_UNIT(cookie));
	return true;
}

/* False when this hit is not to be recorded. */
static __always_inline bool begin_event(struct event *event, struct thread_state **state, __u8 id,
					struct pt_regs *regs, __u64 cookie)
{
	return gate == GATE_OPEN && fill_event(event, state, id, regs, cookie);
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
