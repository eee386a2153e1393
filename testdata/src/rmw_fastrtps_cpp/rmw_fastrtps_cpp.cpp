#include "../rmw_fastrtps_shared_cpp/rmw_fastrtps_shared_cpp.hpp"

namespace shared = rmw_fastrtps_shared_cpp;

static const char *const identifier = "rmw_fastrtps_cpp";

const char *rmw_get_implementation_identifier() { return identifier; }

rmw_ret_t rmw_init(const rmw_init_options_t *options, rmw_context_t *context) {
  return shared::__rmw_init(identifier, options, context);
}

rmw_ret_t rmw_shutdown(rmw_context_t *context) {
  return shared::__rmw_shutdown(identifier, context);
}

rmw_node_t *rmw_create_node(rmw_context_t *context, const char *name, const char *name_space) {
  return shared::__rmw_create_node(identifier, context, name, name_space);
}

rmw_ret_t rmw_destroy_node(rmw_node_t *node) {
  return shared::__rmw_destroy_node(identifier, node);
}

rmw_publisher_t *rmw_create_publisher(const rmw_node_t *node,
                                      const rosidl_message_type_support_t *type_support,
                                      const char *topic, const rmw_qos_profile_t *qos,
                                      const rmw_publisher_options_t *) {
  return shared::create_publisher(identifier, node, type_support, topic, qos);
}

rmw_ret_t rmw_destroy_publisher(rmw_node_t *node, rmw_publisher_t *publisher) {
  return shared::__rmw_destroy_publisher(identifier, node, publisher);
}

rmw_ret_t rmw_publish(const rmw_publisher_t *publisher, const void *message, void *allocation) {
  return shared::__rmw_publish(identifier, publisher, message, allocation);
}

rmw_ret_t rmw_publish_serialized_message(const rmw_publisher_t *publisher,
                                         const rmw_serialized_message_t *message,
                                         void *allocation) {
  return shared::__rmw_publish_serialized_message(identifier, publisher, message, allocation);
}

rmw_ret_t rmw_publish_loaned_message(const rmw_publisher_t *publisher, void *message,
                                     void *allocation) {
  return shared::__rmw_publish_loaned_message(identifier, publisher, message, allocation);
}

rmw_ret_t rmw_borrow_loaned_message(const rmw_publisher_t *publisher,
                                    const rosidl_message_type_support_t *type_support,
                                    void **message) {
  return shared::__rmw_borrow_loaned_message(identifier, publisher, type_support, message);
}

rmw_ret_t rmw_get_gid_for_publisher(const rmw_publisher_t *publisher, rmw_gid_t *gid) {
  return shared::__rmw_get_gid_for_publisher(identifier, publisher, gid);
}

rmw_ret_t rmw_publisher_count_matched_subscriptions(const rmw_publisher_t *publisher,
                                                    std::size_t *count) {
  return shared::__rmw_publisher_count_matched_subscriptions(publisher, count);
}

rmw_subscription_t *rmw_create_subscription(const rmw_node_t *node,
                                            const rosidl_message_type_support_t *type_support,
                                            const char *topic, const rmw_qos_profile_t *qos,
                                            const rmw_subscription_options_t *) {
  return shared::create_subscription(identifier, node, type_support, topic, qos);
}

rmw_ret_t rmw_destroy_subscription(rmw_node_t *node, rmw_subscription_t *subscription) {
  return shared::__rmw_destroy_subscription(identifier, node, subscription);
}

rmw_ret_t rmw_subscription_count_matched_publishers(const rmw_subscription_t *subscription,
                                                    std::size_t *count) {
  return shared::__rmw_subscription_count_matched_publishers(subscription, count);
}

rmw_ret_t rmw_subscription_set_on_new_message_callback(rmw_subscription_t *subscription,
                                                       rmw_event_callback_t callback,
                                                       const void *user_data) {
  static_cast<shared::CustomSubscriberInfo *>(subscription->data)
      ->listener_->set_on_new_message(callback, user_data);
  return RMW_RET_OK;
}

rmw_ret_t rmw_take_with_info(const rmw_subscription_t *subscription, void *message, bool *taken,
                             rmw_message_info_t *info, void *allocation) {
  return shared::__rmw_take_with_info(identifier, subscription, message, taken, info, allocation);
}

rmw_ret_t rmw_take_serialized_message_with_info(const rmw_subscription_t *subscription,
                                                rmw_serialized_message_t *message, bool *taken,
                                                rmw_message_info_t *info, void *allocation) {
  return shared::__rmw_take_serialized_message_with_info(identifier, subscription, message, taken,
                                                         info, allocation);
}

rmw_ret_t rmw_take_loaned_message_with_info(const rmw_subscription_t *subscription,
                                            void **loaned_message, bool *taken,
                                            rmw_message_info_t *info, void *allocation) {
  return shared::__rmw_take_loaned_message_with_info(identifier, subscription, loaned_message,
                                                     taken, info, allocation);
}

rmw_ret_t rmw_return_loaned_message_from_subscription(const rmw_subscription_t *subscription,
                                                      void *loaned_message) {
  return shared::__rmw_return_loaned_message_from_subscription(identifier, subscription,
                                                               loaned_message);
}

bool standin_has_message(const rmw_subscription_t *subscription) {
  return static_cast<shared::CustomSubscriberInfo *>(subscription->data)
             ->data_reader_->get_unread_count() > 0;
}
