/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * Maps and settings. Settings are rodata, so the verifier prunes what a recording does not use.
 */
#ifndef CARET_MAPS_H
#define CARET_MAPS_H

#include "thread_state.h"

enum gate_position {
	GATE_CLOSED = 0,
	GATE_ENTITIES = 1, /* only what is created and destroyed is recorded */
	GATE_OPEN = 2,
};

/* What is recorded now, an enum gate_position: one store opens the recording, one closes it. */
volatile __u32 gate;

/* CLOCK_MONOTONIC at which the gate was open for certain. */
volatile __u64 open_since_ns = ~0ULL;

/* Bodies are probed beside callers: what is seen at a caller has to be noted. */
volatile __u32 bodies_probed;

/*
 * How often links for intra-process communication have changed hands; 0: never, odd: the links of
 * single processes are the newer ones. See callers.h.
 */
volatile __u32 own_links_change;

/*
 * Bits of units that are no longer probed: what their probes have left in the state of threads is
 * out of date.
 */
volatile __u32 units_retired;

/* No raw records are made, although they were asked for. */
volatile __u32 raw_paused;

/* What the links of a set do with a hit: see links.h. */
enum links_rule {
	LINKS_FILTER = 1, /* record only the processes listed in `processes` */
	LINKS_EARLY = 2,  /* do not record yet */
	LINKS_TAKE = 4,	  /* record in place of the other set's, and note that */
	LINKS_YIELD = 8,  /* record what the other set's have not taken */
	LINKS_CHANGE =
		16, /* the rest: the number of the change that LINKS_TAKE and LINKS_YIELD are of */
};

/* By set. */
volatile __u32 links[2];

/* Counts the subscriptions that were created in recorded processes. */
volatile __u64 subscription_generation;

/* A process forked by a listed one is listed too. */
const volatile bool follow_children = false;
/* Report every exec on the machine: any program may turn out to be a ROS 2 process. */
const volatile bool report_all_execs = false;
/* Emit every hit as a raw record as well. */
const volatile bool raw_records = false;
/* Drop what `ignored_addresses` names. */
const volatile bool filter_addresses = false;
/* Read header.stamp of the messages whose publisher or subscription is in `header_offsets`. */
const volatile bool message_stamps = false;
/* Enqueues and dequeues of intra-process buffers are probed. */
const volatile bool intra_process = true;
/* Wake the reader whenever this many bytes more wait in the ring buffer: a power of two. */
const volatile __u64 wakeup_bytes = 65536;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20);
} records SEC(".maps");

/*
 * Per-thread state by thread id. Not preallocated: few threads run ROS callbacks, but their number
 * is not known. Not an LRU map: that would evict live threads.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, struct thread_state);
} threads SEC(".maps");

/* Of a process in `processes`, in place of when it began. */
enum listed {
	LISTED_FOR_ENTITIES = 1, /* only what it creates and destroys is recorded */
};

/* Who is recorded, with when it began, in nanoseconds since boot; 0: user space has not said. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 262144);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, __u64);
} processes SEC(".maps");

struct process_address {
	__u64 address;
	__u32 pid;
	__u32 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct process_address);
	__type(value, __u8);
} ignored_addresses SEC(".maps");

/* Where the messages of a publisher or an rmw subscription have their std_msgs/Header. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct process_address);
	__type(value, __u32);
} header_offsets SEC(".maps");

enum header_offset {
	/* With an offset: intra-process messages of the publisher may be of another type. */
	HEADER_ADAPTED = 1U << 31,
};

/* Counters by kind and reason: kind * REASON_COUNT + reason. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, KIND_COUNT *REASON_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} losses SEC(".maps");

#endif
