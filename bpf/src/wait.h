/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * When a thread waits for work: the entry of Executor::wait_for_work and where it returns to become
 * one record. No callback runs meanwhile, so a thread is in one such call at most.
 */
#ifndef CARET_WAIT_H
#define CARET_WAIT_H

#include "thread.h"

static __always_inline void open_wait(struct thread_state *state, const struct event *event,
				      __u64 start_ns, __u64 executor, __s64 timeout_ns)
{
	fill_header(&state->wait.header, event, KIND_WAIT, 0, 0, 0);
	state->wait.start_ns = start_ns;
	state->wait.end_ns = 0;
	state->wait.executor = executor;
	state->wait.timeout_ns = timeout_ns;
	state->wait_stack_pointer = event->stack_pointer;
	state->wait_open = 1;
}

/*
 * wait_for_work(executor, timeout). A wait that is still open was left by an exception, or where it
 * returned to is not probed.
 */
static __always_inline void wait_begins(struct thread_state *state, const struct event *event)
{
	if (!has_state(state, KIND_WAIT))
		return;
	close_wait(state, 0, WAIT_END_MISSING);
	open_wait(state, event, event->time_ns, event->arguments[0], event->arguments[1]);
}

/*
 * An instruction behind a call of wait_for_work, to which other ways may lead, too. It is the end
 * of the open wait if its stack pointer is that of the caller: no more than the return address
 * above the one at the entry. A thread of which nothing was known has waited since before the
 * recording.
 */
static __always_inline void wait_ends(struct thread_state *state, const struct event *event)
{
	if (!state)
		return;
	if (event->is_first) {
		open_wait(state, event, 0, 0, 0);
		close_wait(state, event->time_ns, WAIT_START_MISSING);
	} else if (event->stack_pointer - state->wait_stack_pointer <= sizeof(__u64)) {
		close_wait(state, event->time_ns, WAIT_COMPLETE);
	}
}

static __always_inline void wait_for_work(struct thread_state *state, const struct event *event)
{
	if (event->role == ROLE_RETURN)
		wait_ends(state, event);
	else
		wait_begins(state, event);
}

#endif
