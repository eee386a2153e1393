/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * CARET's message_timestamp: header.stamp of messages whose type has a std_msgs/Header. User space
 * knows the types, and writes down where the messages of a publisher or subscription have theirs.
 */
#ifndef CARET_MESSAGE_STAMP_H
#define CARET_MESSAGE_STAMP_H

#include "common_objects.h"
#include "probe.h"

/* The CDR encapsulation that precedes a serialized message; its second byte is odd for little
 * endian. */
#define CDR_ENCAPSULATION_SIZE 4

/* builtin_interfaces/Time. */
struct message_time {
	__s32 sec;
	__u32 nanosec;
};

/*
 * owner is the handle that the map is keyed by. The first field of a serialized message has a known
 * place, others have not.
 */
static __always_inline void read_message_stamp(struct event *event, __u64 owner, __u64 message)
{
	struct process_address key = {.address = owner, .pid = event->pid};
	__u8 encapsulation[CDR_ENCAPSULATION_SIZE];
	struct message_time time;
	__u64 address = message;
	__u32 *offset;
	__u32 place;

	if (!message_stamps)
		return;
	offset = bpf_map_lookup_elem(&header_offsets, &key);
	if (!offset || (*offset & HEADER_ADAPTED && event->id == EVENT_RCLCPP_INTRA_PUBLISH))
		return;
	place = *offset & ~HEADER_ADAPTED;
	if (event->details & DETAIL_SERIALIZED) {
		if (place || !read_word(&address, message + serialized_buffer_offset) ||
		    bpf_probe_read_user(encapsulation, sizeof(encapsulation),
					(const void *)address) ||
		    !(encapsulation[1] & 1))
			return;
		address += CDR_ENCAPSULATION_SIZE;
	} else {
		address += place;
	}
	if (bpf_probe_read_user(&time, sizeof(time), (const void *)address))
		return;
	event->message_stamp = (__s64)time.sec * 1000000000 + time.nanosec;
	event->details |= DETAIL_MESSAGE_STAMP;
}

#endif
