/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * Which slot of a ring buffer an operation has used, where that is certain.
 *
 * Humble shows an operation only a moment after it, when another thread may have used the buffer
 * again. So what is read is compared with where the operations that were seen lead to. Where more
 * has happened than was seen, the slot is unknown, and stays so until as many operations have been
 * seen as there were. merge/model states the same in Go.
 */
#ifndef CARET_RING_HISTORY_H
#define CARET_RING_HISTORY_H

#include "ring.h"

enum ring_limit {
	/*
	 * So many uncertain operations in a row are not due to threads that were interrupted: one
	 * was never seen. What is read then counts again.
	 */
	LARGEST_DOUBT = 64,
};

/* Whether a dequeue was seen of a message whose enqueue was not. */
enum seen_early {
	EARLY_NO = 0,
	EARLY_YES = 1,
	EARLY_MAYBE = 2,
};

/* A ring buffer at the last operation that was seen of it. Indices are reduced, as the ring's. */
struct ring_history {
	__u64 generation;  /* subscription_generation when it began, or HISTORY_NEW */
	__u64 users;	   /* programs that use it now */
	__u64 write_index; /* where the seen enqueues lead to */
	__u64 size;
	__u64 size_write_index; /* the write index when the size was noted */
	__u64 message;		/* in the slot of the last seen enqueue; 0: none any more */
	__u32 taken;		/* a dequeue was seen after that enqueue */
	__u32 early;		/* enum seen_early: of a ring with one slot */
	__u32 open_enqueues;	/* as many as these are still to be seen before slots are certain */
	__u32 open_dequeues;
	__u32 doubtful_enqueues; /* in a row */
	__u32 doubtful_dequeues;
	__u32 unseen_dequeues;	/* that the ring shows */
	__u32 skipped_enqueues; /* seen, but not followed yet */
	__u32 skipped_dequeues;
	__u32 reserved;
};

#define HISTORY_NEW (~0ULL) /* it has not begun */

enum ring_overwritten {
	OVERWRITTEN_NO = 0,
	OVERWRITTEN_YES = 1,
	OVERWRITTEN_UNKNOWN = 2,
	NO_ENQUEUE = 3, /* there was none: it has been seen already */
};

/* From one index to another, on the way round. */
static __always_inline __u64 ring_steps(const struct ring *ring, __u64 from, __u64 to)
{
	return to >= from ? to - from : to + ring->capacity - from;
}

static __always_inline __u64 ring_next(const struct ring *ring, __u64 index)
{
	return index + 1 < ring->capacity ? index + 1 : 0;
}

static __always_inline __u64 ring_previous(const struct ring *ring, __u64 index)
{
	return (index ? index : ring->capacity) - 1;
}

/* False in the middle of an operation. */
static __always_inline bool is_ring_at_rest(const struct ring *ring)
{
	__u64 between = ring_steps(ring, ring->read_index, ring_next(ring, ring->write_index));

	return between == ring->size || (!between && ring->size == ring->capacity);
}

/* Operations that are still to be seen, one of which has just been. ahead: so far was the ring. */
static __always_inline __u32 still_open(__u32 open, __u64 ahead)
{
	__u32 others = ahead ? ahead - 1 : 0;

	open = open ? open - 1 : 0;
	return others > open ? others : open;
}

static __always_inline void note_size(struct ring_history *known, const struct ring *ring)
{
	known->size = ring->size;
	known->size_write_index = ring->write_index;
}

/* What has been taken since the size was noted. A ring that has been full may have dropped it. */
static __always_inline __u32 count_dequeues(const struct ring_history *known,
					    const struct ring *ring)
{
	__u64 most = known->size + ring_steps(ring, known->size_write_index, ring->write_index);

	return most <= ring->capacity && most > ring->size ? most - ring->size : 0;
}

/* A history begins with an enqueue: a dequeue may be seen before the enqueue of its message. */
static __always_inline void begin_history(struct ring_history *begin, const struct ring *ring,
					  __u64 message)
{
	begin->write_index = ring->write_index;
	begin->message = message;
	begin->taken = 0;
	begin->early = 0;
	begin->open_enqueues = 0;
	begin->open_dequeues = 0;
	begin->doubtful_enqueues = 0;
	begin->doubtful_dequeues = 0;
	begin->unseen_dequeues = 0;
	begin->skipped_enqueues = 0;
	begin->skipped_dequeues = 0;
	note_size(begin, ring);
}

/* An operation was seen that cannot be followed now: its slot stays unknown. */
static __always_inline void skip_operation(__u32 *skipped)
{
	__sync_fetch_and_add(skipped, 1);
}

/* How many were skipped. Other programs may skip more at any moment. */
static __always_inline __u32 take_skipped(__u32 *skipped)
{
	__u32 count = *(volatile __u32 *)skipped;

	__sync_fetch_and_add(skipped, -count);
	return count;
}

/* What was skipped is not to be seen any more, but may be newer than what is: that is uncertain. */
static __always_inline void follow_skipped_enqueues(struct ring_history *known,
						    const struct ring *ring)
{
	__u64 ahead;

	if (!known->skipped_enqueues)
		return;
	known->write_index += take_skipped(&known->skipped_enqueues);
	known->write_index %= ring->capacity;
	ahead = ring_steps(ring, known->write_index, ring->write_index);
	if (ahead > known->open_enqueues)
		known->open_enqueues = ahead;
}

static __always_inline void follow_skipped_dequeues(struct ring_history *known)
{
	__u32 skipped;

	if (!known->skipped_dequeues)
		return;
	skipped = take_skipped(&known->skipped_dequeues);
	known->unseen_dequeues -=
		skipped < known->unseen_dequeues ? skipped : known->unseen_dequeues;
	if (known->unseen_dequeues > known->open_dequeues)
		known->open_dequeues = known->unseen_dequeues;
}

/* A slot that is the only one shows by its message whether it was used by somebody else. */
static __always_inline __u64 enqueues_ahead(const struct ring_history *known,
					    const struct ring *ring, __u64 message)
{
	if (ring->capacity > 1)
		return ring_steps(ring, known->write_index, ring->write_index);
	return message && message == known->message && !known->taken ? 2 : 1;
}

/*
 * An enqueue was seen: its slot, and whether it dropped a message. message is what is in the slot
 * that was written last, 0 if it has been taken.
 */
static __always_inline enum ring_overwritten
follow_enqueue(struct ring_history *known, const struct ring *ring, __u64 message, __u64 *slot)
{
	bool skipped_enqueues = known->skipped_enqueues;
	bool skipped = skipped_enqueues || known->skipped_dequeues;
	bool only = ring->capacity == 1, early, gone = !ring->size;
	enum ring_overwritten overwritten = OVERWRITTEN_UNKNOWN;
	__u64 ahead, since;

	*slot = SLOT_UNKNOWN;
	follow_skipped_enqueues(known, ring);
	ahead = enqueues_ahead(known, ring, message);
	/*
	 * Whoever takes a message while more are left triggers, too. One that was skipped may have
	 * been such a trigger, or older than the history: then this one looks as if it were none.
	 */
	if (!ahead && !known->open_enqueues && !skipped_enqueues)
		return NO_ENQUEUE;
	early = known->early == EARLY_YES || (known->early == EARLY_MAYBE && gone);
	if (ahead == 1 && !known->open_enqueues && (!early || gone) && !(only && skipped)) {
		*slot = ring->write_index;
		known->doubtful_enqueues = 0;
	} else {
		known->doubtful_enqueues++;
	}
	since = only ? !early : ring_steps(ring, known->size_write_index, ring->write_index);
	if (*slot != SLOT_UNKNOWN && since == 1 && !skipped) {
		if (known->size < ring->capacity)
			overwritten = OVERWRITTEN_NO;
		else if (ring->size == ring->capacity)
			overwritten = OVERWRITTEN_YES;
	}
	known->open_enqueues = still_open(known->open_enqueues, only ? 1 : ahead);
	if (ahead)
		known->write_index = ring_next(ring, known->write_index);
	if (known->doubtful_enqueues >= LARGEST_DOUBT) {
		known->open_enqueues = 0;
		known->write_index = ring->write_index;
	}
	known->unseen_dequeues += count_dequeues(known, ring);
	follow_skipped_dequeues(known);
	known->message = message;
	known->taken = early && gone;
	known->early = EARLY_NO;
	note_size(known, ring);
	return overwritten;
}

/* Whether the enqueue of what has just been taken has been seen, of a ring with one slot. */
static __always_inline bool is_last_enqueue(struct ring_history *known, __u64 message)
{
	bool same = !known->taken && message && message == known->message;

	if (known->taken || (!same && message && known->message))
		known->early = EARLY_YES;
	else
		known->early = same ? EARLY_NO : EARLY_MAYBE;
	known->taken = 1;
	return same;
}

/*
 * A dequeue was seen: the slot that it emptied, if the last enqueue into it that was seen is that
 * of what it took. message is what it took, 0 if unknown.
 */
static __always_inline __u64 follow_dequeue(struct ring_history *known, const struct ring *ring,
					    __u64 message)
{
	__u32 unseen, open, doubtful;
	__u64 ahead;

	if (ring->capacity == 1) {
		if (take_skipped(&known->skipped_dequeues))
			known->taken = 1;
		note_size(known, ring);
		return is_last_enqueue(known, message) ? 0 : SLOT_UNKNOWN;
	}
	known->unseen_dequeues += count_dequeues(known, ring);
	follow_skipped_dequeues(known);
	unseen = known->unseen_dequeues;
	open = known->open_dequeues;
	doubtful = unseen == 1 && !open ? 0 : known->doubtful_dequeues + 1;
	open = still_open(open, unseen);
	unseen = unseen ? unseen - 1 : 0;
	if (doubtful >= LARGEST_DOUBT)
		open = unseen = 0;
	known->open_dequeues = open;
	known->unseen_dequeues = unseen;
	known->doubtful_dequeues = doubtful;
	note_size(known, ring);
	/*
	 * What was written after the seen enqueues is still there, but for what has been taken. A
	 * full ring has been written since: then its oldest message was not behind what was taken.
	 */
	ahead = ring_steps(ring, known->write_index, ring->write_index);
	if (doubtful || ahead > ring->size || ring->size == ring->capacity)
		return SLOT_UNKNOWN;
	return ring_previous(ring, ring->read_index);
}

#endif
