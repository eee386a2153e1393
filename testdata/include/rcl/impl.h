// The structures behind rcl's handles, with the layout of the distribution.
#pragma once

#include <atomic>
#include <string>

#include "rcl/rcl.h"

struct rosidl_type_hash_t {
  std::uint8_t version;
  std::uint8_t value[32];
};

struct rcl_context_impl_s {
  rmw_allocator_t allocator;
  void *init_options;
  std::int64_t argc;
  char **argv;
  rmw_context_t rmw_context;
};
static_assert(offsetof(rcl_context_impl_s, rmw_context) == 64);

struct rcl_node_impl_s {
  struct {
    rmw_allocator_t allocator;
    bool use_global_arguments;
    void *arguments;
    bool enable_rosout;
    rmw_qos_profile_t rosout_qos;
  } options;
  rmw_node_t *rmw_node_handle;
  void *graph_guard_condition;
  const char *logger_name;
  const char *fq_name;
#ifdef STANDIN_JAZZY
  void *registered_types_by_type_hash;
#endif
};
static_assert(offsetof(rcl_node_impl_s, rmw_node_handle) == 152);
static_assert(offsetof(rcl_node_impl_s, logger_name) == 168);
static_assert(offsetof(rcl_node_impl_s, fq_name) == 176);

struct rcl_publisher_options_t {
  rmw_qos_profile_t qos;
  rmw_allocator_t allocator;
  rmw_publisher_options_t rmw_publisher_options;
#ifdef STANDIN_JAZZY
  bool disable_loaned_message;
#endif
};

struct rcl_publisher_impl_s {
  rcl_publisher_options_t options;
  rmw_qos_profile_t actual_qos;
  rcl_context_t *context;
  rmw_publisher_t *rmw_handle;
#ifdef STANDIN_JAZZY
  rosidl_type_hash_t type_hash;
#endif
};

struct rcl_subscription_options_t {
  rmw_qos_profile_t qos;
  rmw_allocator_t allocator;
  rmw_subscription_options_t rmw_subscription_options;
#ifdef STANDIN_JAZZY
  bool disable_loaned_message;
#endif
};

struct rcl_subscription_impl_s {
  rcl_subscription_options_t options;
  rmw_qos_profile_t actual_qos;
  rmw_subscription_t *rmw_handle;
#ifdef STANDIN_JAZZY
  rosidl_type_hash_t type_hash;
#endif
};

struct rcl_service_options_t {
  rmw_qos_profile_t qos;
  rmw_allocator_t allocator;
};

struct rcl_service_impl_s {
  rcl_service_options_t options;
  rmw_qos_profile_t actual_request_subscription_qos;
  rmw_qos_profile_t actual_response_publisher_qos;
  rmw_service_t *rmw_handle;
#ifdef STANDIN_JAZZY
  void *service_event_publisher;
  const char *remapped_service_name;
  rosidl_type_hash_t type_hash;
#endif
};
static_assert(offsetof(rcl_service_impl_s, rmw_handle) == 304);

struct rcl_client_impl_s {
  rcl_service_options_t options;
  rmw_qos_profile_t actual_request_publisher_qos;
  rmw_qos_profile_t actual_response_subscription_qos;
  rmw_client_t *rmw_handle;
  std::atomic<std::int64_t> sequence_number;
#ifdef STANDIN_JAZZY
  void *service_event_publisher;
  const char *remapped_service_name;
  rosidl_type_hash_t type_hash;
#endif
};
static_assert(offsetof(rcl_client_impl_s, rmw_handle) == 304);
static_assert(offsetof(rcl_client_impl_s, sequence_number) == 312);

struct rcl_timer_impl_s {
  void *clock;
  rcl_context_t *context;
  rcl_guard_condition_t guard_condition;
  std::uintptr_t callback;
  std::int64_t period;
  std::atomic<std::int64_t> last_call_time;
  std::atomic<std::int64_t> next_call_time;
  std::int64_t time_credit;
  std::atomic<bool> canceled;
  rmw_allocator_t allocator;
#ifdef STANDIN_JAZZY
  struct {
    void *on_reset_callback;
    const void *user_data;
    std::size_t reset_counter;
  } callback_data;
#endif
};
static_assert(offsetof(rcl_timer_impl_s, period) == 40);
static_assert(offsetof(rcl_timer_impl_s, next_call_time) == 56);
static_assert(offsetof(rcl_timer_impl_s, canceled) == 72);

#ifdef STANDIN_HUMBLE
static_assert(sizeof(rcl_context_impl_s) == 200 && sizeof(rcl_node_impl_s) == 184);
static_assert(offsetof(rcl_publisher_impl_s, actual_qos) == 144);
static_assert(offsetof(rcl_publisher_impl_s, context) == 232);
static_assert(offsetof(rcl_publisher_impl_s, rmw_handle) == 240);
static_assert(offsetof(rcl_subscription_impl_s, actual_qos) == 152);
static_assert(offsetof(rcl_subscription_impl_s, rmw_handle) == 240);
static_assert(sizeof(rcl_timer_impl_s) == 120);
#else
static_assert(sizeof(rcl_context_impl_s) == 264 && sizeof(rcl_node_impl_s) == 192);
static_assert(offsetof(rcl_publisher_impl_s, actual_qos) == 152);
static_assert(offsetof(rcl_publisher_impl_s, context) == 240);
static_assert(offsetof(rcl_publisher_impl_s, rmw_handle) == 248);
static_assert(offsetof(rcl_subscription_impl_s, actual_qos) == 160);
static_assert(offsetof(rcl_subscription_impl_s, rmw_handle) == 248);
static_assert(offsetof(rcl_service_impl_s, remapped_service_name) == 320);
static_assert(sizeof(rcl_timer_impl_s) == 144);
#endif

// A copy that the caller owns.
inline const char *copy_string(const std::string &text) {
  char *copy = new char[text.size() + 1];
  text.copy(copy, text.size());
  copy[text.size()] = '\0';
  return copy;
}
