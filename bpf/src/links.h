/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * All links of a recording are replaced by others while it records, and each hit is recorded once.
 *
 * New links are attached beside the old ones, to the same sites. A hit then calls programs twice,
 * those of the new links first: the kernel calls the newest first (6.1 to 6.18). As long as the
 * change is not committed the new ones leave every hit to the old ones. From then on they record,
 * and note that in the thread's state, by which the old ones know.
 *
 * A commit falls between the two programs of some hits: the new link has left the hit, nothing is
 * noted, and the old link records it. Several programs can have one site, and a commit can fall
 * between those of the new links: hence a note for each unit, which they do not share. A note holds
 * for all later hits of the thread, which began after the commit.
 */
#ifndef CARET_LINKS_H
#define CARET_LINKS_H

#include "maps.h"
#include "site.h"

/*
 * After a commit: whether the hit is recorded through this link. Without a state nothing can be
 * noted: the new link has the hit, and counts the loss.
 */
static __always_inline bool takes_hit(struct thread_state *state, __u32 rule, __u32 unit)
{
	__u32 change = rule / LINKS_CHANGE;
	__u32 *taken;

	if (!state)
		return rule & LINKS_TAKE;
	taken = &state->links_taken[unit & (HIT_UNITS - 1)];
	if (rule & LINKS_YIELD)
		return *taken != change;
	*taken = change;
	return true;
}

#endif
