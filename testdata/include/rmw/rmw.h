// The part of the rmw interface that the stand-in uses. Layouts are those of the distribution.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rosidl/type_support.h"

#ifdef STANDIN_HUMBLE
inline constexpr std::size_t RMW_GID_STORAGE_SIZE = 24;
#else
inline constexpr std::size_t RMW_GID_STORAGE_SIZE = 16;
#endif

using rmw_ret_t = std::int32_t;
inline constexpr rmw_ret_t RMW_RET_OK = 0;
inline constexpr rmw_ret_t RMW_RET_ERROR = 1;

struct rmw_time_t {
  std::uint64_t sec;
  std::uint64_t nsec;
};

struct rmw_qos_profile_t {
  std::int32_t history;
  std::size_t depth;
  std::int32_t reliability;
  std::int32_t durability;
  rmw_time_t deadline;
  rmw_time_t lifespan;
  std::int32_t liveliness;
  rmw_time_t liveliness_lease_duration;
  bool avoid_ros_namespace_conventions;
};
static_assert(sizeof(rmw_qos_profile_t) == 88);

struct rmw_gid_t {
  const char *implementation_identifier;
  std::uint8_t data[RMW_GID_STORAGE_SIZE];
};

struct rmw_allocator_t {
  void *allocate, *deallocate, *reallocate, *zero_allocate, *state;
};

struct rmw_init_options_t {
  std::uint64_t instance_id;
  const char *implementation_identifier;
  std::size_t domain_id;
  struct {
    std::int32_t enforce_security;
    char *security_root_path;
  } security_options;
  std::int32_t localhost_only;
#ifdef STANDIN_JAZZY
  struct {
    std::int32_t automatic_discovery_range;
    void *static_peers;
    std::size_t static_peers_count;
    rmw_allocator_t allocator;
  } discovery_options;
#endif
  char *enclave;
  rmw_allocator_t allocator;
  void *impl;
};

struct rmw_context_t {
  std::uint64_t instance_id;
  const char *implementation_identifier;
  rmw_init_options_t options;
  std::size_t actual_domain_id;
  void *impl;
};
#ifdef STANDIN_HUMBLE
static_assert(sizeof(rmw_context_t) == 136 && offsetof(rmw_context_t, impl) == 128);
#else
static_assert(sizeof(rmw_context_t) == 200 && offsetof(rmw_context_t, impl) == 192);
#endif

struct rmw_node_t {
  const char *implementation_identifier;
  void *data;
  const char *name;
  const char *namespace_;
  rmw_context_t *context;
};

struct rmw_publisher_options_t {
  void *rmw_specific_publisher_payload;
  std::int32_t require_unique_network_flow_endpoints;
};

struct rmw_publisher_t {
  const char *implementation_identifier;
  void *data;
  const char *topic_name;
  rmw_publisher_options_t options;
  bool can_loan_messages;
};
static_assert(sizeof(rmw_publisher_t) == 48);

struct rmw_subscription_options_t {
  void *rmw_specific_subscription_payload;
  bool ignore_local_publications;
  std::int32_t require_unique_network_flow_endpoints;
  void *content_filter_options;
};

struct rmw_subscription_t {
  const char *implementation_identifier;
  void *data;
  const char *topic_name;
  rmw_subscription_options_t options;
  bool can_loan_messages;
  bool is_cft_enabled;
};
static_assert(sizeof(rmw_subscription_t) == 56);

struct rmw_service_t {
  const char *implementation_identifier;
  void *data;
  const char *service_name;
};

struct rmw_client_t {
  const char *implementation_identifier;
  void *data;
  const char *service_name;
};

struct rmw_message_info_t {
  std::int64_t source_timestamp;
  std::int64_t received_timestamp;
  std::uint64_t publication_sequence_number;
  std::uint64_t reception_sequence_number;
  rmw_gid_t publisher_gid;
  bool from_intra_process;
};

static_assert(offsetof(rmw_message_info_t, publisher_gid.data) == 40);

struct rmw_request_id_s {
  std::int8_t writer_guid[16];
  std::int64_t sequence_number;
};
using rmw_request_id_t = rmw_request_id_s;

struct rmw_service_info_t {
  std::int64_t source_timestamp;
  std::int64_t received_timestamp;
  rmw_request_id_t request_id;
};
static_assert(sizeof(rmw_service_info_t) == 40 && offsetof(rmw_service_info_t, request_id) == 16);

struct rcutils_uint8_array_t {
  std::uint8_t *buffer;
  std::size_t buffer_length;
  std::size_t buffer_capacity;
  rmw_allocator_t allocator;
};
using rmw_serialized_message_t = rcutils_uint8_array_t;

using rmw_event_callback_t = void (*)(const void *user_data, std::size_t number_of_events);

// Every function of the interface: X(return type, name, (parameters), (arguments)).
#define RMW_FUNCTIONS(X)                                                                           \
  X(const char *, rmw_get_implementation_identifier, (), ())                                       \
  X(rmw_ret_t, rmw_init, (const rmw_init_options_t *options, rmw_context_t *context),              \
    (options, context))                                                                            \
  X(rmw_ret_t, rmw_shutdown, (rmw_context_t * context), (context))                                 \
  X(rmw_node_t *, rmw_create_node,                                                                 \
    (rmw_context_t * context, const char *name, const char *name_space),                           \
    (context, name, name_space))                                                                   \
  X(rmw_ret_t, rmw_destroy_node, (rmw_node_t * node), (node))                                      \
  X(rmw_publisher_t *, rmw_create_publisher,                                                       \
    (const rmw_node_t *node, const rosidl_message_type_support_t *type_support, const char *topic, \
     const rmw_qos_profile_t *qos, const rmw_publisher_options_t *options),                        \
    (node, type_support, topic, qos, options))                                                     \
  X(rmw_ret_t, rmw_destroy_publisher, (rmw_node_t * node, rmw_publisher_t * publisher),            \
    (node, publisher))                                                                             \
  X(rmw_ret_t, rmw_publish,                                                                        \
    (const rmw_publisher_t *publisher, const void *message, void *allocation),                     \
    (publisher, message, allocation))                                                              \
  X(rmw_ret_t, rmw_publish_serialized_message,                                                     \
    (const rmw_publisher_t *publisher, const rmw_serialized_message_t *message, void *allocation), \
    (publisher, message, allocation))                                                              \
  X(rmw_ret_t, rmw_publish_loaned_message,                                                         \
    (const rmw_publisher_t *publisher, void *message, void *allocation),                           \
    (publisher, message, allocation))                                                              \
  X(rmw_ret_t, rmw_borrow_loaned_message,                                                          \
    (const rmw_publisher_t *publisher, const rosidl_message_type_support_t *type_support,          \
     void **message),                                                                              \
    (publisher, type_support, message))                                                            \
  X(rmw_ret_t, rmw_get_gid_for_publisher, (const rmw_publisher_t *publisher, rmw_gid_t *gid),      \
    (publisher, gid))                                                                              \
  X(rmw_ret_t, rmw_publisher_count_matched_subscriptions,                                          \
    (const rmw_publisher_t *publisher, std::size_t *count), (publisher, count))                    \
  X(rmw_subscription_t *, rmw_create_subscription,                                                 \
    (const rmw_node_t *node, const rosidl_message_type_support_t *type_support, const char *topic, \
     const rmw_qos_profile_t *qos, const rmw_subscription_options_t *options),                     \
    (node, type_support, topic, qos, options))                                                     \
  X(rmw_ret_t, rmw_destroy_subscription, (rmw_node_t * node, rmw_subscription_t * subscription),   \
    (node, subscription))                                                                          \
  X(rmw_ret_t, rmw_subscription_count_matched_publishers,                                          \
    (const rmw_subscription_t *subscription, std::size_t *count), (subscription, count))           \
  X(rmw_ret_t, rmw_subscription_set_on_new_message_callback,                                       \
    (rmw_subscription_t * subscription, rmw_event_callback_t callback, const void *user_data),     \
    (subscription, callback, user_data))                                                           \
  X(rmw_ret_t, rmw_take_with_info,                                                                 \
    (const rmw_subscription_t *subscription, void *message, bool *taken, rmw_message_info_t *info, \
     void *allocation),                                                                            \
    (subscription, message, taken, info, allocation))                                              \
  X(rmw_ret_t, rmw_take_serialized_message_with_info,                                              \
    (const rmw_subscription_t *subscription, rmw_serialized_message_t *message, bool *taken,       \
     rmw_message_info_t *info, void *allocation),                                                  \
    (subscription, message, taken, info, allocation))                                              \
  X(rmw_ret_t, rmw_take_loaned_message_with_info,                                                  \
    (const rmw_subscription_t *subscription, void **loaned_message, bool *taken,                   \
     rmw_message_info_t *info, void *allocation),                                                  \
    (subscription, loaned_message, taken, info, allocation))                                       \
  X(rmw_ret_t, rmw_return_loaned_message_from_subscription,                                        \
    (const rmw_subscription_t *subscription, void *loaned_message),                                \
    (subscription, loaned_message))                                                                \
  X(rmw_service_t *, rmw_create_service, (const rmw_node_t *node, const char *name), (node, name)) \
  X(rmw_ret_t, rmw_destroy_service, (rmw_node_t * node, rmw_service_t * service), (node, service)) \
  X(rmw_client_t *, rmw_create_client, (const rmw_node_t *node, const char *name), (node, name))   \
  X(rmw_ret_t, rmw_destroy_client, (rmw_node_t * node, rmw_client_t * client), (node, client))     \
  X(rmw_ret_t, rmw_send_request,                                                                   \
    (const rmw_client_t *client, const void *request, std::int64_t *sequence),                     \
    (client, request, sequence))                                                                   \
  X(rmw_ret_t, rmw_take_request,                                                                   \
    (const rmw_service_t *service, rmw_service_info_t *info, void *request, bool *taken),          \
    (service, info, request, taken))                                                               \
  X(rmw_ret_t, rmw_send_response,                                                                  \
    (const rmw_service_t *service, rmw_request_id_t *header, void *response),                      \
    (service, header, response))                                                                   \
  X(rmw_ret_t, rmw_service_set_on_new_request_callback,                                            \
    (rmw_service_t * service, rmw_event_callback_t callback, const void *user_data),               \
    (service, callback, user_data))                                                                \
  X(rmw_ret_t, rmw_client_set_on_new_response_callback,                                            \
    (rmw_client_t * client, rmw_event_callback_t callback, const void *user_data),                 \
    (client, callback, user_data))                                                                 \
  /* In place of rmw_wait: whether a take would find something. */                                 \
  X(bool, standin_has_message, (const rmw_subscription_t *subscription), (subscription))           \
  X(bool, standin_has_request, (const rmw_service_t *service), (service))                          \
  X(bool, standin_has_response, (const rmw_client_t *client), (client))                            \
  X(rmw_ret_t, rmw_take_response,                                                                  \
    (const rmw_client_t *client, rmw_service_info_t *info, void *response, bool *taken),           \
    (client, info, response, taken))

extern "C" {
#define X(type, name, parameters, arguments) type name parameters;
RMW_FUNCTIONS(X)
#undef X
}
