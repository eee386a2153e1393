#include "rcl/impl.h"
#include "standin/evicted.hpp"
#include "standin/failure.hpp"
#include "standin/ground_truth.hpp"
#include "tracetools/tracetools.h"

using ground_truth::Layer;

rcl_ret_t rcl_publisher_init(rcl_publisher_t *publisher, const rcl_node_t *node,
                             const rosidl_message_type_support_t *type_support, const char *topic,
                             const rmw_qos_profile_t *qos) {
  const rmw_publisher_options_t options{};
  rmw_publisher_t *const rmw_publisher =
      rmw_create_publisher(rcl_node_get_rmw_handle(node), type_support, topic, qos, &options);
  if (rmw_publisher == nullptr) return RCL_RET_ERROR;
  publisher->impl = new rcl_publisher_impl_s{};
  publisher->impl->options.qos = *qos;
  publisher->impl->actual_qos = *qos;
  publisher->impl->context = node->context;
  publisher->impl->rmw_handle = rmw_publisher;
  ros_trace_rcl_publisher_init(publisher, node, rmw_publisher, evicted::String(topic).get(),
                               qos->depth);
  ground_truth::entity(
      "publisher\tpublisher=" + ground_truth::hex(publisher) + "\tnode=" + ground_truth::hex(node) +
      "\trmw_publisher=" + ground_truth::hex(rmw_publisher) +
      "\ttopic=" + rmw_publisher->topic_name + "\tdepth=" + std::to_string(qos->depth));
  return RCL_RET_OK;
}

rcl_ret_t rcl_publisher_fini(rcl_publisher_t *publisher, rcl_node_t *node) {
  const rcl_ret_t result =
      rmw_destroy_publisher(rcl_node_get_rmw_handle(node), publisher->impl->rmw_handle);
  delete publisher->impl;
  publisher->impl = nullptr;
  return result;
}

rcl_ret_t rcl_publish(const rcl_publisher_t *publisher, const void *message, void *allocation) {
  if (!rcl_publisher_is_valid_except_context(publisher)) return RCL_RET_PUBLISHER_INVALID;
  rmw_publisher_t *const rmw_publisher = publisher->impl->rmw_handle;
  const ground_truth::PublishScope scope(publisher, rmw_publisher, rmw_publisher->topic_name);
  if (failure::due(failure::Point::rcl)) return RCL_RET_PUBLISHER_INVALID;
  const ground_truth::Bracket times =
      ground_truth::bracket([&] { ros_trace_rcl_publish(publisher, message); });
  ground_truth::publish_layer(Layer::rcl, times, message);
  return rmw_publish(rmw_publisher, message, allocation) == RMW_RET_OK ? RCL_RET_OK : RCL_RET_ERROR;
}

// Jazzy traces serialized and loaned messages like others, Humble not at all.
static void trace_raw_publish([[maybe_unused]] const rcl_publisher_t *publisher,
                              [[maybe_unused]] const void *message) {
#ifdef STANDIN_JAZZY
  const ground_truth::Bracket times =
      ground_truth::bracket([&] { ros_trace_rcl_publish(publisher, message); });
  ground_truth::publish_layer(Layer::rcl, times, message);
#endif
}

rcl_ret_t rcl_publish_serialized_message(const rcl_publisher_t *publisher,
                                         const rcl_serialized_message_t *message,
                                         void *allocation) {
  if (!rcl_publisher_is_valid_except_context(publisher)) return RCL_RET_PUBLISHER_INVALID;
  if (failure::due(failure::Point::rcl)) return RCL_RET_PUBLISHER_INVALID;
  trace_raw_publish(publisher, message);
  return rmw_publish_serialized_message(publisher->impl->rmw_handle, message, allocation);
}

rcl_ret_t rcl_publish_loaned_message(const rcl_publisher_t *publisher, void *message,
                                     void *allocation) {
  if (!rcl_publisher_is_valid_except_context(publisher)) return RCL_RET_PUBLISHER_INVALID;
  if (failure::due(failure::Point::rcl)) return RCL_RET_PUBLISHER_INVALID;
  trace_raw_publish(publisher, message);
  return rmw_publish_loaned_message(publisher->impl->rmw_handle, message, allocation);
}

rcl_ret_t rcl_borrow_loaned_message(const rcl_publisher_t *publisher,
                                    const rosidl_message_type_support_t *type_support,
                                    void **message) {
  if (!rcl_publisher_is_valid_except_context(publisher)) return RCL_RET_PUBLISHER_INVALID;
  return rmw_borrow_loaned_message(publisher->impl->rmw_handle, type_support, message);
}

bool rcl_publisher_can_loan_messages(const rcl_publisher_t *publisher) {
  return rcl_publisher_is_valid_except_context(publisher) &&
         publisher->impl->rmw_handle->can_loan_messages;
}

bool rcl_publisher_is_valid_except_context(const rcl_publisher_t *publisher) {
  return publisher != nullptr && publisher->impl != nullptr &&
         publisher->impl->rmw_handle != nullptr;
}

rmw_publisher_t *rcl_publisher_get_rmw_handle(const rcl_publisher_t *publisher) {
  if (!rcl_publisher_is_valid_except_context(publisher)) return nullptr;
  return publisher->impl->rmw_handle;
}

const char *rcl_publisher_get_topic_name(const rcl_publisher_t *publisher) {
  if (!rcl_publisher_is_valid_except_context(publisher)) return nullptr;
  return publisher->impl->rmw_handle->topic_name;
}

const rmw_qos_profile_t *rcl_publisher_get_actual_qos(const rcl_publisher_t *publisher) {
  if (!rcl_publisher_is_valid_except_context(publisher)) return nullptr;
  return &publisher->impl->actual_qos;
}

rcl_context_t *rcl_publisher_get_context(const rcl_publisher_t *publisher) {
  if (!rcl_publisher_is_valid_except_context(publisher)) return nullptr;
  return publisher->impl->context;
}

rcl_ret_t rcl_publisher_get_subscription_count(const rcl_publisher_t *publisher,
                                               std::size_t *count) {
  if (!rcl_publisher_is_valid_except_context(publisher)) return RCL_RET_PUBLISHER_INVALID;
  return rmw_publisher_count_matched_subscriptions(publisher->impl->rmw_handle, count);
}
