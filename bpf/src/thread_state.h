/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * What is remembered of a thread between two of its events. Only the thread itself writes it, so it
 * needs no lock; user space reads it once, after the probes are gone.
 */
#ifndef CARET_THREAD_STATE_H
#define CARET_THREAD_STATE_H

#include "records.h"

struct callback_frame {
	__u64 callback;
	__u64 start_ns;
	__u64 stack_pointer;
	__u64 cost_ns; /* the thread's account when it began */
	struct feed feed;
	__u32 cpu;
	__u8 flags;
	__u8 steps; /* one of STEPS_..., of the executor that the callback spins */
	__u8 reserved[2];
};

/*
 * A call of librcl that gives its values only when it returns: what its second site needs. Probes
 * use it, the state machine does not.
 */
struct take_call {
	__u64 subscription; /* rmw handle; 0 where the tracepoint tells it */
	__u64 message;	    /* rcl_take_loaned_message: where its address will be */
	__u64 info;	    /* rmw_message_info_t */
	__u32 details;
	__u32 open;
};

struct service_call {
	__u64 handle;
	__u64 message;
	__u64 values; /* rmw_service_info_t, or rcl_send_request's int64_t sequence number */
	__u64 time_ns;
	/* What was there before: it stays when nothing is taken. */
	__u64 gid[2];
	__s64 sequence;
	__u64 open; /* one of CALL_..., 0: none is under way */
};

#define CALL_OPEN   1
#define CALL_UNREAD 2 /* what was there before could not be read */

/* Humble: the last publisher whose subscriptions were counted, as every intra-process publish does.
 */
struct intra_publisher {
	__u64 handle;  /* 0: it could not be read */
	__u64 time_ns; /* 0: there is none */
	__u64 opened;  /* its publish has been opened */
};

/* The last event that may be seen once more, until it was: see callers.h. */
struct sight {
	__u64 stack_pointer;
	__u64 arguments[RAW_ARGUMENTS];
	__u32 event; /* its id, 0: there is none */
	__u32 role;  /* where it was seen; of links that change hands: the change */
};

/*
 * Whether an executor shows when it executes something: STEPS_HIDDEN after a callback that ended
 * without.
 */
#define STEPS_UNKNOWN 0
#define STEPS_SHOWN   1
#define STEPS_HIDDEN  2

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
	__u32 request_pending;
	__u8 steps; /* one of STEPS_..., of the executor outside of callbacks */
	__u8 is_watched;
	__u8 reserved[2];
	__u32 wait_open;
	__u64 wait_stack_pointer; /* at the entry of the function that waits */
	/* The change of links, by unit, that was committed when a new link last recorded a hit. */
	__u32 links_taken[HIT_UNITS];
	/* Kept as the records that they become if nothing follows. */
	struct thread_record account;
	struct take_record take;
	struct take_record dequeue;
	struct publish_record publish;
	struct service_record request;
	struct wait_record wait;
	struct take_call take_call;
	struct service_call service_call;
	struct intra_publisher intra_publisher;
	struct sight sight;
	/* Of the callback that ends at this moment. */
	struct scheduling scheduling;
	__u64 is_scheduling_known;
	struct callback_frame frames[MAX_DEPTH];
};

#endif
