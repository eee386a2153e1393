// The part of rcl's interface that the stand-in uses.
#pragma once

#include "rmw/rmw.h"

#define RCL_PUBLIC __attribute__((visibility("default")))

using rcl_ret_t = rmw_ret_t;
inline constexpr rcl_ret_t RCL_RET_OK = 0;
inline constexpr rcl_ret_t RCL_RET_ERROR = 1;
inline constexpr rcl_ret_t RCL_RET_PUBLISHER_INVALID = 300;
inline constexpr rcl_ret_t RCL_RET_SUBSCRIPTION_TAKE_FAILED = 401;
inline constexpr rcl_ret_t RCL_RET_CLIENT_TAKE_FAILED = 501;
inline constexpr rcl_ret_t RCL_RET_SERVICE_TAKE_FAILED = 601;
inline constexpr rcl_ret_t RCL_RET_TIMER_CANCELED = 802;

using rcl_serialized_message_t = rmw_serialized_message_t;

struct rcl_context_s {
  void *global_arguments;
  struct rcl_context_impl_s *impl;
  std::uint64_t instance_id_storage;
};
struct rcl_node_s {
  rcl_context_s *context;
  struct rcl_node_impl_s *impl;
};
struct rcl_publisher_s {
  struct rcl_publisher_impl_s *impl;
};
struct rcl_subscription_s {
  struct rcl_subscription_impl_s *impl;
};
struct rcl_service_s {
  struct rcl_service_impl_s *impl;
};
struct rcl_client_s {
  struct rcl_client_impl_s *impl;
};
struct rcl_timer_s {
  struct rcl_timer_impl_s *impl;
};
struct rcl_guard_condition_s {
  rcl_context_s *context;
  struct rcl_guard_condition_impl_s *impl;
};

enum rcl_clock_type_e { RCL_CLOCK_UNINITIALIZED, RCL_ROS_TIME, RCL_SYSTEM_TIME, RCL_STEADY_TIME };
struct rcl_clock_s {
  rcl_clock_type_e type;
  void *jump_callbacks;
  std::size_t num_jump_callbacks;
  rcl_ret_t (*get_now)(void *data, std::int64_t *now);
  void *data;
  rmw_allocator_t allocator;
};
static_assert(sizeof(rcl_clock_s) == 80 && offsetof(rcl_clock_s, data) == 32);

using rcl_clock_t = rcl_clock_s;
using rcl_context_t = rcl_context_s;
using rcl_node_t = rcl_node_s;
using rcl_publisher_t = rcl_publisher_s;
using rcl_subscription_t = rcl_subscription_s;
using rcl_service_t = rcl_service_s;
using rcl_client_t = rcl_client_s;
using rcl_timer_t = rcl_timer_s;
using rcl_guard_condition_t = rcl_guard_condition_s;

extern "C" {
RCL_PUBLIC rcl_ret_t rcl_init(std::size_t domain_id, rcl_context_t *context);
RCL_PUBLIC rcl_ret_t rcl_shutdown(rcl_context_t *context);

RCL_PUBLIC rcl_ret_t rcl_node_init(rcl_node_t *node, const char *name, const char *name_space,
                                   rcl_context_t *context);
RCL_PUBLIC rcl_ret_t rcl_node_fini(rcl_node_t *node);
RCL_PUBLIC bool rcl_node_is_valid_except_context(const rcl_node_t *node);
RCL_PUBLIC rmw_node_t *rcl_node_get_rmw_handle(const rcl_node_t *node);
RCL_PUBLIC const char *rcl_node_get_logger_name(const rcl_node_t *node);
RCL_PUBLIC const char *rcl_node_get_fully_qualified_name(const rcl_node_t *node);

RCL_PUBLIC rcl_ret_t rcl_publisher_init(rcl_publisher_t *publisher, const rcl_node_t *node,
                                        const rosidl_message_type_support_t *type_support,
                                        const char *topic, const rmw_qos_profile_t *qos);
RCL_PUBLIC rcl_ret_t rcl_publisher_fini(rcl_publisher_t *publisher, rcl_node_t *node);
RCL_PUBLIC rcl_ret_t rcl_publish(const rcl_publisher_t *publisher, const void *message,
                                 void *allocation);
RCL_PUBLIC rcl_ret_t rcl_publish_serialized_message(const rcl_publisher_t *publisher,
                                                    const rcl_serialized_message_t *message,
                                                    void *allocation);
RCL_PUBLIC rcl_ret_t rcl_publish_loaned_message(const rcl_publisher_t *publisher, void *message,
                                                void *allocation);
RCL_PUBLIC rcl_ret_t rcl_borrow_loaned_message(const rcl_publisher_t *publisher,
                                               const rosidl_message_type_support_t *type_support,
                                               void **message);
RCL_PUBLIC bool rcl_publisher_can_loan_messages(const rcl_publisher_t *publisher);
RCL_PUBLIC rmw_publisher_t *rcl_publisher_get_rmw_handle(const rcl_publisher_t *publisher);
RCL_PUBLIC const char *rcl_publisher_get_topic_name(const rcl_publisher_t *publisher);
RCL_PUBLIC const rmw_qos_profile_t *rcl_publisher_get_actual_qos(const rcl_publisher_t *publisher);
RCL_PUBLIC rcl_context_t *rcl_publisher_get_context(const rcl_publisher_t *publisher);
RCL_PUBLIC rcl_ret_t rcl_publisher_get_subscription_count(const rcl_publisher_t *publisher,
                                                          std::size_t *count);
RCL_PUBLIC bool rcl_publisher_is_valid_except_context(const rcl_publisher_t *publisher);

RCL_PUBLIC rcl_ret_t rcl_subscription_init(rcl_subscription_t *subscription, const rcl_node_t *node,
                                           const rosidl_message_type_support_t *type_support,
                                           const char *topic, const rmw_qos_profile_t *qos);
RCL_PUBLIC rcl_ret_t rcl_subscription_fini(rcl_subscription_t *subscription, rcl_node_t *node);
RCL_PUBLIC rcl_ret_t rcl_take(const rcl_subscription_t *subscription, void *message,
                              rmw_message_info_t *info, void *allocation);
RCL_PUBLIC rcl_ret_t rcl_take_serialized_message(const rcl_subscription_t *subscription,
                                                 rcl_serialized_message_t *message,
                                                 rmw_message_info_t *info, void *allocation);
RCL_PUBLIC rcl_ret_t rcl_take_loaned_message(const rcl_subscription_t *subscription,
                                             void **loaned_message, rmw_message_info_t *info,
                                             void *allocation);
RCL_PUBLIC rcl_ret_t rcl_return_loaned_message_from_subscription(
    const rcl_subscription_t *subscription, void *loaned_message);
RCL_PUBLIC bool rcl_subscription_can_loan_messages(const rcl_subscription_t *subscription);
RCL_PUBLIC rmw_subscription_t *rcl_subscription_get_rmw_handle(
    const rcl_subscription_t *subscription);
RCL_PUBLIC const char *rcl_subscription_get_topic_name(const rcl_subscription_t *subscription);
RCL_PUBLIC const rmw_qos_profile_t *rcl_subscription_get_actual_qos(
    const rcl_subscription_t *subscription);
RCL_PUBLIC bool rcl_subscription_is_valid(const rcl_subscription_t *subscription);

RCL_PUBLIC rcl_ret_t rcl_service_init(rcl_service_t *service, const rcl_node_t *node,
                                      const char *name, const rmw_qos_profile_t *qos);
RCL_PUBLIC rcl_ret_t rcl_service_fini(rcl_service_t *service, rcl_node_t *node);
RCL_PUBLIC rmw_service_t *rcl_service_get_rmw_handle(const rcl_service_t *service);
RCL_PUBLIC rcl_ret_t rcl_take_request_with_info(const rcl_service_t *service,
                                                rmw_service_info_t *info, void *request);
RCL_PUBLIC rcl_ret_t rcl_take_request(const rcl_service_t *service, rmw_request_id_t *header,
                                      void *request);
RCL_PUBLIC rcl_ret_t rcl_send_response(const rcl_service_t *service, rmw_request_id_t *header,
                                       void *response);

RCL_PUBLIC rcl_ret_t rcl_client_init(rcl_client_t *client, const rcl_node_t *node, const char *name,
                                     const rmw_qos_profile_t *qos);
RCL_PUBLIC rcl_ret_t rcl_client_fini(rcl_client_t *client, rcl_node_t *node);
RCL_PUBLIC rmw_client_t *rcl_client_get_rmw_handle(const rcl_client_t *client);
RCL_PUBLIC rcl_ret_t rcl_send_request(const rcl_client_t *client, const void *request,
                                      std::int64_t *sequence);
RCL_PUBLIC rcl_ret_t rcl_take_response_with_info(const rcl_client_t *client,
                                                 rmw_service_info_t *info, void *response);
RCL_PUBLIC rcl_ret_t rcl_take_response(const rcl_client_t *client, rmw_request_id_t *header,
                                       void *response);

RCL_PUBLIC rcl_ret_t rcl_ros_clock_init(rcl_clock_t *clock);
RCL_PUBLIC rcl_ret_t rcl_ros_clock_fini(rcl_clock_t *clock);
RCL_PUBLIC rcl_ret_t rcl_enable_ros_time_override(rcl_clock_t *clock);
RCL_PUBLIC rcl_ret_t rcl_set_ros_time_override(rcl_clock_t *clock, std::int64_t time);
RCL_PUBLIC rcl_ret_t rcl_clock_get_now(rcl_clock_t *clock, std::int64_t *time);

RCL_PUBLIC rcl_ret_t rcl_timer_init(rcl_timer_t *timer, rcl_context_t *context,
                                    std::int64_t period);
#ifndef STANDIN_HUMBLE
RCL_PUBLIC rcl_ret_t rcl_timer_init2(rcl_timer_t *timer, rcl_context_t *context,
                                     std::int64_t period, bool autostart);
#endif
RCL_PUBLIC rcl_ret_t rcl_timer_fini(rcl_timer_t *timer);
RCL_PUBLIC rcl_ret_t rcl_timer_call(rcl_timer_t *timer);
RCL_PUBLIC rcl_ret_t rcl_timer_cancel(rcl_timer_t *timer);
RCL_PUBLIC rcl_ret_t rcl_timer_get_period(const rcl_timer_t *timer, std::int64_t *period);
RCL_PUBLIC rcl_ret_t rcl_timer_get_time_until_next_call(const rcl_timer_t *timer,
                                                        std::int64_t *nanoseconds);
}
