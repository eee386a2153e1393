/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * Into the ring buffer, or into the loss counters: nothing vanishes in between.
 */
#ifndef CARET_EMIT_H
#define CARET_EMIT_H

#include "maps.h"

static __always_inline void count_losses(enum record_kind kind, enum loss_reason reason, __u64 more)
{
	__u32 index = kind * REASON_COUNT + reason;
	__u64 *count = bpf_map_lookup_elem(&losses, &index);

	if (count)
		__sync_fetch_and_add(count, more);
}

static __noinline int count_loss(enum record_kind kind, enum loss_reason reason)
{
	count_losses(kind, reason, 1);
	return 0;
}

/*
 * Waking the reader costs more than a record, so only the record that takes what waits across a
 * multiple of wakeup_bytes does it: also while the reader is behind, one wake-up serves many
 * records. Threads that add at the same time may each take the other for the one that crosses it;
 * the next multiple, or the reader's own clock, makes up for it.
 */
static __always_inline __u64 wakeup_flag(__u64 waiting, __u64 size)
{
	size += BPF_RINGBUF_HDR_SZ;
	return (waiting ^ (waiting - size)) & -wakeup_bytes ? BPF_RB_FORCE_WAKEUP
							    : BPF_RB_NO_WAKEUP;
}

static __always_inline void *reserve(enum record_kind kind, __u64 size)
{
	void *record = bpf_ringbuf_reserve(&records, size, 0);

	if (!record)
		count_loss(kind, REASON_RING_FULL);
	return record;
}

static __always_inline void submit(void *record, __u64 size)
{
	bpf_ringbuf_submit(record,
			   wakeup_flag(bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA), size));
}

/* For what is ready to be copied. A subprogram: some programs do so in five places. */
static __noinline int output(enum record_kind kind, void *record, __u64 size)
{
	__u64 waiting = bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA) + size + BPF_RINGBUF_HDR_SZ;

	if (bpf_ringbuf_output(&records, record, size, wakeup_flag(waiting, size)))
		count_loss(kind, REASON_RING_FULL);
	return 0;
}

static __always_inline bool unit_is_retired(__u32 unit)
{
	return units_retired & 1U << unit;
}

static __noinline bool is_ignored(__u32 pid, __u64 address)
{
	struct process_address key = {.address = address, .pid = pid};

	return filter_addresses && bpf_map_lookup_elem(&ignored_addresses, &key);
}

#endif
