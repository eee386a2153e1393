/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * Where Humble's rclcpp keeps what is read from its objects, in bytes. The loader fills it from
 * layouts/offsets.csv. What accessor functions of a library prove comes with the cookies of the
 * sites in that library.
 */
#ifndef CARET_HUMBLE_OBJECTS_H
#define CARET_HUMBLE_OBJECTS_H

const volatile __u64 generic_callback_offset;	   /* GenericSubscription::callback_ */
const volatile __u64 intra_guard_condition_offset; /* SubscriptionIntraProcessBase::gc_ */
const volatile __u64 intra_buffer_offset;	   /* SubscriptionIntraProcessBuffer::buffer_ */
const volatile __u64 intra_callback_offset;	   /* SubscriptionIntraProcess::any_callback_ */
const volatile __u64 typed_buffer_ring_offset;	   /* TypedIntraProcessBuffer::buffer_ */
const volatile __u64 ring_capacity_offset;	   /* RingBufferImplementation::capacity_ */
const volatile __u64 executable_waitable_offset;   /* AnyExecutable::waitable */
const volatile __u64 executable_data_offset;	   /* AnyExecutable::data */

#endif
