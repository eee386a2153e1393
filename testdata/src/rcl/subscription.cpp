#include "rcl/impl.h"
#include "standin/evicted.hpp"
#include "tracetools/tracetools.h"

rcl_ret_t rcl_subscription_init(rcl_subscription_t *subscription, const rcl_node_t *node,
                                const rosidl_message_type_support_t *type_support,
                                const char *topic, const rmw_qos_profile_t *qos) {
  const rmw_subscription_options_t options{};
  rmw_subscription_t *const rmw_subscription =
      rmw_create_subscription(rcl_node_get_rmw_handle(node), type_support, topic, qos, &options);
  if (rmw_subscription == nullptr) return RCL_RET_ERROR;
  subscription->impl = new rcl_subscription_impl_s{};
  subscription->impl->options.qos = *qos;
  subscription->impl->actual_qos = *qos;
  subscription->impl->rmw_handle = rmw_subscription;
  ros_trace_rcl_subscription_init(subscription, node, rmw_subscription,
                                  evicted::String(topic).get(), qos->depth);
  return RCL_RET_OK;
}

rcl_ret_t rcl_subscription_fini(rcl_subscription_t *subscription, rcl_node_t *node) {
  const rcl_ret_t result =
      rmw_destroy_subscription(rcl_node_get_rmw_handle(node), subscription->impl->rmw_handle);
  delete subscription->impl;
  subscription->impl = nullptr;
  return result;
}

rcl_ret_t rcl_take(const rcl_subscription_t *subscription, void *message, rmw_message_info_t *info,
                   void *allocation) {
  if (!rcl_subscription_is_valid(subscription)) return RCL_RET_ERROR;
  *info = {};
  bool taken = false;
  const rcl_ret_t result =
      rmw_take_with_info(subscription->impl->rmw_handle, message, &taken, info, allocation);
  if (result != RMW_RET_OK) return result;
  ros_trace_rcl_take(message);
  return taken ? RCL_RET_OK : RCL_RET_SUBSCRIPTION_TAKE_FAILED;
}

rcl_ret_t rcl_take_serialized_message(const rcl_subscription_t *subscription,
                                      rcl_serialized_message_t *message, rmw_message_info_t *info,
                                      void *allocation) {
  if (!rcl_subscription_is_valid(subscription)) return RCL_RET_ERROR;
  *info = {};
  bool taken = false;
  const rcl_ret_t result = rmw_take_serialized_message_with_info(subscription->impl->rmw_handle,
                                                                 message, &taken, info, allocation);
  if (result != RMW_RET_OK) return result;
#ifdef STANDIN_JAZZY
  ros_trace_rcl_take(message);
#endif
  return taken ? RCL_RET_OK : RCL_RET_SUBSCRIPTION_TAKE_FAILED;
}

rcl_ret_t rcl_take_loaned_message(const rcl_subscription_t *subscription, void **loaned_message,
                                  rmw_message_info_t *info, void *allocation) {
  if (!rcl_subscription_is_valid(subscription)) return RCL_RET_ERROR;
  *info = {};
  bool taken = false;
  const rcl_ret_t result = rmw_take_loaned_message_with_info(
      subscription->impl->rmw_handle, loaned_message, &taken, info, allocation);
  if (result != RMW_RET_OK) return result;
  ros_trace_rcl_take(*loaned_message);
  return taken ? RCL_RET_OK : RCL_RET_SUBSCRIPTION_TAKE_FAILED;
}

rcl_ret_t rcl_return_loaned_message_from_subscription(const rcl_subscription_t *subscription,
                                                      void *loaned_message) {
  if (!rcl_subscription_is_valid(subscription)) return RCL_RET_ERROR;
  return rmw_return_loaned_message_from_subscription(subscription->impl->rmw_handle,
                                                     loaned_message);
}

bool rcl_subscription_can_loan_messages(const rcl_subscription_t *subscription) {
  return rcl_subscription_is_valid(subscription) &&
         subscription->impl->rmw_handle->can_loan_messages;
}

bool rcl_subscription_is_valid(const rcl_subscription_t *subscription) {
  return subscription != nullptr && subscription->impl != nullptr &&
         subscription->impl->rmw_handle != nullptr;
}

rmw_subscription_t *rcl_subscription_get_rmw_handle(const rcl_subscription_t *subscription) {
  if (!rcl_subscription_is_valid(subscription)) return nullptr;
  return subscription->impl->rmw_handle;
}

const char *rcl_subscription_get_topic_name(const rcl_subscription_t *subscription) {
  if (!rcl_subscription_is_valid(subscription)) return nullptr;
  return subscription->impl->rmw_handle->topic_name;
}

const rmw_qos_profile_t *rcl_subscription_get_actual_qos(const rcl_subscription_t *subscription) {
  if (!rcl_subscription_is_valid(subscription)) return nullptr;
  return &subscription->impl->actual_qos;
}
