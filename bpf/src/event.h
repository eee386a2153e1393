/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * One tracepoint hit, freed from how it was observed: probes fill it from registers, tests from a
 * script. The state machine sees nothing else.
 */
#ifndef CARET_EVENT_H
#define CARET_EVENT_H

#include "emit.h"
#include "site.h"

struct event {
	__u64 time_ns;
	__u64 stack_pointer;
	__u32 pid;
	__u32 tid;
	__u32 cpu;
	__u8 id;
	__u8 last_layer;  /* of a publish: nothing is planned after this event */
	__u8 has_stamp;	  /* arguments hold a source timestamp (rmw_publish of Jazzy and later) */
	__u8 has_message; /* dds_bind_addr_to_stamp: arguments hold the message address */
	__u64 arguments[RAW_ARGUMENTS];
	__u64 gid[2];	     /* of the message's publisher, or of a service's client */
	__s64 message_stamp; /* header.stamp of the message */
	__u32 details;	     /* DETAIL_…: which of these are there, and the form of the message */
	__u8 flags;	     /* FLAG_DERIVED */
	__u8 role;	     /* ROLE_…: what kind of place was probed */
	__u16 cost_ns;	     /* what the hit is expected to cost the thread */
	__u32 is_first;	     /* nothing was known of the thread before this hit */
	__u32 is_early;	     /* its process is listed for its entities only */
};

static __always_inline void fill_header(struct record_header *header, const struct event *event,
					enum record_kind kind, __u8 status, __u8 depth, __u8 flags)
{
	header->kind = kind;
	header->status = status;
	header->depth = depth;
	header->flags = flags;
	header->cpu = event->cpu;
	header->pid = event->pid;
	header->tid = event->tid;
}

/* The hit itself, if every one is asked for. */
static __always_inline void emit_raw(const struct event *event)
{
	struct raw_record record;

	if (!raw_records || raw_paused)
		return;
	fill_header(&record.header, event, KIND_RAW, event->id, 0, 0);
	record.time_ns = event->time_ns;
	record.stack_pointer = event->stack_pointer;
	for (int i = 0; i < RAW_ARGUMENTS; i++)
		record.arguments[i] = event->arguments[i];
	output(KIND_RAW, &record, sizeof(record));
}

#endif
