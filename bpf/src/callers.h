/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * One call can be seen twice: at the instruction of a caller that calls a function, and at the
 * function's first instruction, its body. Bodies are probed beside callers as long as not all
 * callers are known. The first sight of a call counts.
 *
 * Nothing can happen on a thread between the two, so one note of the last sight at a caller is
 * enough. Event, arguments and the stack pointer that the body finds identify the call.
 */
#ifndef CARET_CALLERS_H
#define CARET_CALLERS_H

#include "thread.h"

static __always_inline void note_caller_hit(struct thread_state *state, const struct event *event)
{
	struct caller_hit *hit;

	if (!state) /* the state machine counts the loss */
		return;
	hit = &state->caller_hit;
	hit->stack_pointer = event->stack_pointer;
	for (int i = 0; i < RAW_ARGUMENTS; i++)
		hit->arguments[i] = event->arguments[i];
	hit->event = event->id;
}

/* A note serves once: a second body with the same values is another call. */
static __always_inline bool was_seen_at_caller(struct thread_state *state,
					       const struct event *event)
{
	struct caller_hit *hit;
	bool same;

	if (!state)
		return false;
	hit = &state->caller_hit;
	same = hit->event == event->id && hit->stack_pointer == event->stack_pointer;
	for (int i = 0; i < RAW_ARGUMENTS; i++)
		same = same && hit->arguments[i] == event->arguments[i];
	hit->event = 0;
	return same;
}

/*
 * The second sight of a call. Arguments are compared as the registers hold them, before a program
 * makes something else of them.
 *
 * A link goes when nobody has it open any more. A child of the recorder has it, too, between fork
 * and exec, so that bodies can be hit for some 80 ms after they were detached. Callers are not
 * noted then: all of them are probed, or nothing of the file is to be recorded.
 */
static __always_inline bool is_repeated(struct thread_state *state, const struct event *event)
{
	if (event->role == ROLE_CALLER && bodies_probed)
		note_caller_hit(state, event);
	return event->role == ROLE_BODY && (!bodies_probed || was_seen_at_caller(state, event));
}

#endif
