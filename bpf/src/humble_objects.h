/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * Where Humble's rclcpp keeps what is read from its objects: what layouts/offsets.csv says, with
 * which a test compares the enum.
 */
#ifndef CARET_HUMBLE_OBJECTS_H
#define CARET_HUMBLE_OBJECTS_H

enum humble_offset {
	PUBLISHER_BASE_HANDLE = 40,    /* PublisherBase::publisher_handle_ */
	SUBSCRIPTION_BASE_HANDLE = 48, /* SubscriptionBase::subscription_handle_ */
	TYPED_BUFFER_RING = 8,	       /* TypedIntraProcessBuffer::buffer_ */
#if defined(__TARGET_ARCH_x86)
	INTRA_BUFFER = 352,   /* SubscriptionIntraProcessBuffer::buffer_ */
	INTRA_CALLBACK = 368, /* SubscriptionIntraProcess::any_callback_ */
#else
	INTRA_BUFFER = 368,
	INTRA_CALLBACK = 384,
#endif
};

/* Named so that it is in the object's BTF. */
const enum humble_offset *values_of_humble_offset __attribute__((unused));

#endif
