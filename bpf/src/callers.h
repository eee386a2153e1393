/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * One call can be seen several times: at the instruction of a caller that calls a function, and at
 * the function's first instruction, its body. Bodies are probed beside callers as long as not all
 * callers are known. A body can have two links for a moment: one of a process alone, and a newer
 * one of every process, whose program the kernel calls first (6.1 to 6.18). The first sight of a
 * call counts.
 *
 * Nothing can happen on a thread between these sights, so one note of the last is enough. Event,
 * arguments and the stack pointer that the body finds identify the call.
 */
#ifndef CARET_CALLERS_H
#define CARET_CALLERS_H

#include "thread.h"

static __always_inline void note_sight(struct thread_state *state, const struct event *event)
{
	struct sight *last;

	if (!state) /* the state machine counts the loss */
		return;
	last = &state->sight;
	last->role = event->role;
	last->stack_pointer = event->stack_pointer;
	for (int i = 0; i < RAW_ARGUMENTS; i++)
		last->arguments[i] = event->arguments[i];
	last->event = event->id;
}

/*
 * A note serves once: a second body with the same values is another call. What one link of a body
 * has seen was seen before only for the body's other link.
 */
static __always_inline bool was_seen_before(struct thread_state *state, const struct event *event)
{
	struct sight *last;
	bool same;

	if (!state)
		return false;
	last = &state->sight;
	same = last->event == event->id && last->stack_pointer == event->stack_pointer &&
	       (last->role == ROLE_CALLER || event->role == ROLE_OWN_BODY);
	for (int i = 0; i < RAW_ARGUMENTS; i++)
		same = same && last->arguments[i] == event->arguments[i];
	last->event = 0;
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
	bool repeated = false;

	if (event->role == ROLE_BODY || event->role == ROLE_OWN_BODY)
		repeated = !bodies_probed || was_seen_before(state, event);
	if (bodies_probed && (event->role == ROLE_CALLER || event->role == ROLE_BODY))
		note_sight(state, event);
	return repeated;
}

/*
 * Of what shows intra-process communication, a process can have links of its own while every
 * process has others, for the moment in which one kind takes the place of the other. The kernel
 * calls the newest first (6.1 to 6.18): the newer kind records, and the older one sees the note of
 * that. Each change has a number, odd where links of single processes are the newer ones, so that
 * notes of earlier times count for nothing.
 */
static __always_inline bool is_hit_of_newer(struct thread_state *state, const struct event *event)
{
	__u32 change = own_links_change;
	struct sight *last;
	bool noted;

	if (!change || !state)
		return false;
	last = &state->sight;
	noted = last->event == event->id && last->role == change &&
		last->stack_pointer == event->stack_pointer;
	last->event = 0;
	if ((event->role == ROLE_OWN_FUNCTION) != (change & 1))
		return noted;
	last->event = event->id;
	last->role = change;
	last->stack_pointer = event->stack_pointer;
	return false;
}

#endif
