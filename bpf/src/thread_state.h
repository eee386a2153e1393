/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * What is remembered of a thread between two of its events. Only the thread itself writes it, so it
 * needs no lock; user space reads it once, after the probes are gone.
 */
#ifndef CARET_THREAD_STATE_H
#define CARET_THREAD_STATE_H

#include "records.h"

/* Callbacks that may be open at once on a thread. A power of two: it is used as a mask. */
#define MAX_DEPTH 16

struct callback_frame {
	__u64 callback;
	__u64 start_ns;
	__u64 stack_pointer;
	struct feed feed;
	__u32 cpu;
	__u8 flags;
	__u8 reserved[3];
};

struct thread_state {
	__u32 pid;
	__u32 tid;
	__u64 publish_count;
	__u32 depth;
	/* Callbacks open beyond MAX_DEPTH, and the stack pointer of the outermost of them. */
	__u32 overflow;
	__u64 overflow_stack_pointer;
	__u32 publish_open;
	__u32 take_pending;
	__u32 dequeue_pending;
	__u32 reserved;
	/* Kept as the records that they become if nothing follows. */
	struct take_record take;
	struct take_record dequeue;
	struct publish_record publish;
	struct callback_frame frames[MAX_DEPTH];
};

#endif
