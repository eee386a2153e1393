/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * The ring buffers of Humble's intra-process subscriptions, read from the objects. Later
 * distributions have tracepoints for them.
 */
#ifndef CARET_RING_H
#define CARET_RING_H

#include "humble_objects.h"
#include "probe.h"

/* RingBufferImplementation, from its capacity on. */
struct ring {
	__u64 capacity;
	__u64 begin, end, end_of_storage;
	__u64 write_index;
	__u64 read_index;
	__u64 size;
};

/* In place of a ring's address: the memory on the way to it, or its own, cannot be read. */
#define RING_UNREADABLE 1

/*
 * The ring buffer of an object that is an intra-process subscription, if it is one: every part of
 * the buffer has to agree with every other. Returns its address, 0 or RING_UNREADABLE.
 */
static __always_inline __u64 read_ring(struct ring *ring, __u64 subscription)
{
	__u64 buffer, address, slots;

	if (!read_word(&buffer, subscription + intra_buffer_offset) ||
	    !read_word(&address, buffer + typed_buffer_ring_offset) ||
	    bpf_probe_read_user(ring, sizeof(*ring),
				(const void *)(address + ring_capacity_offset)))
		return RING_UNREADABLE;
	slots = ring->end - ring->begin;
	if (!ring->capacity || ring->capacity > 1 << 24 ||
	    (slots != ring->capacity * 8 && slots != ring->capacity * 16) ||
	    ring->end_of_storage < ring->end || ring->write_index >= ring->capacity ||
	    ring->read_index >= ring->capacity || ring->size > ring->capacity)
		return 0;
	return address;
}

#endif
