/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * Where rcl, rmw, its implementations and rclcpp keep what is read from their objects, in bytes.
 * All distributions agree on these. The loader fills them from layouts/offsets.csv.
 */
#ifndef CARET_COMMON_OBJECTS_H
#define CARET_COMMON_OBJECTS_H

const volatile __u64 publisher_impl_offset;	      /* rcl_publisher_t::impl */
const volatile __u64 subscription_impl_offset;	      /* rcl_subscription_t::impl */
const volatile __u64 service_impl_offset;	      /* rcl_service_t::impl */
const volatile __u64 rmw_identifier_offset;	      /* rmw_*_t::implementation_identifier */
const volatile __u64 rmw_publisher_data_offset;	      /* rmw_publisher_t::data */
const volatile __u64 rmw_client_data_offset;	      /* rmw_client_t::data */
const volatile __u64 message_source_timestamp_offset; /* rmw_message_info_t::source_timestamp */
const volatile __u64 message_publisher_gid_offset;    /* rmw_message_info_t::publisher_gid.data */
const volatile __u64 serialized_buffer_offset;	      /* rcl_serialized_message_t::buffer */
const volatile __u64 cyclone_publisher_offset;	      /* CddsCS::pub of rmw_cyclonedds */
const volatile __u64 cyclone_handle_offset;	      /* CddsPublisher::pubiid of rmw_cyclonedds */
const volatile __u64 group_type_offset;		      /* CallbackGroup::type_ */

#endif
