// Every tracepoint of the distribution: X(event, (parameters), (arguments)).
// Not guarded: included once for each use of X.

X(rcl_init, (const void *context), (context))
X(rcl_node_init, (const void *node, const void *rmw_node, const char *name, const char *name_space),
  (node, rmw_node, name, name_space))
X(rcl_publisher_init,
  (const void *publisher, const void *node, const void *rmw_publisher, const char *topic,
   size_t queue_depth),
  (publisher, node, rmw_publisher, topic, queue_depth))
X(rcl_subscription_init,
  (const void *subscription, const void *node, const void *rmw_subscription, const char *topic,
   size_t queue_depth),
  (subscription, node, rmw_subscription, topic, queue_depth))
X(rcl_service_init,
  (const void *service, const void *node, const void *rmw_service, const char *name),
  (service, node, rmw_service, name))
X(rcl_client_init, (const void *client, const void *node, const void *rmw_client, const char *name),
  (client, node, rmw_client, name))
X(rcl_timer_init, (const void *timer, int64_t period), (timer, period))
X(rcl_publish, (const void *publisher, const void *message), (publisher, message))
X(rcl_take, (const void *message), (message))
X(rcl_lifecycle_state_machine_init, (const void *node, const void *state_machine),
  (node, state_machine))
X(rcl_lifecycle_transition,
  (const void *state_machine, const char *start_label, const char *goal_label),
  (state_machine, start_label, goal_label))
X(rmw_publisher_init, (const void *rmw_publisher, const uint8_t *gid), (rmw_publisher, gid))
X(rmw_subscription_init, (const void *rmw_subscription, const uint8_t *gid),
  (rmw_subscription, gid))
#ifdef STANDIN_HUMBLE
X(rmw_publish, (const void *message), (message))
#else
X(rmw_publish, (const void *rmw_publisher, const void *message, int64_t timestamp),
  (rmw_publisher, message, timestamp))
#endif
X(rmw_take,
  (const void *rmw_subscription, const void *message, int64_t source_timestamp, bool taken),
  (rmw_subscription, message, source_timestamp, taken))
X(rclcpp_publish, (const void *publisher, const void *message), (publisher, message))
X(rclcpp_subscription_init, (const void *rcl_subscription, const void *subscription),
  (rcl_subscription, subscription))
X(rclcpp_subscription_callback_added, (const void *subscription, const void *callback),
  (subscription, callback))
X(rclcpp_service_callback_added, (const void *rcl_service, const void *callback),
  (rcl_service, callback))
X(rclcpp_timer_callback_added, (const void *rcl_timer, const void *callback), (rcl_timer, callback))
X(rclcpp_timer_link_node, (const void *rcl_timer, const void *rcl_node), (rcl_timer, rcl_node))
X(rclcpp_callback_register, (const void *callback, const char *symbol), (callback, symbol))
X(callback_start, (const void *callback, bool is_intra_process), (callback, is_intra_process))
X(callback_end, (const void *callback), (callback))
X(rclcpp_take, (const void *message), (message))
X(rclcpp_executor_get_next_ready, (void), ())
X(rclcpp_executor_wait_for_work, (int64_t timeout), (timeout))
X(rclcpp_executor_execute, (const void *handle), (handle))
#ifdef STANDIN_JAZZY
X(rclcpp_intra_publish, (const void *publisher, const void *message), (publisher, message))
X(rclcpp_ipb_to_subscription, (const void *ipb, const void *subscription), (ipb, subscription))
X(rclcpp_buffer_to_ipb, (const void *buffer, const void *ipb), (buffer, ipb))
X(rclcpp_construct_ring_buffer, (const void *buffer, uint64_t capacity), (buffer, capacity))
X(rclcpp_ring_buffer_enqueue, (const void *buffer, uint64_t index, uint64_t size, bool overwritten),
  (buffer, index, size, overwritten))
X(rclcpp_ring_buffer_dequeue, (const void *buffer, uint64_t index, uint64_t size),
  (buffer, index, size))
X(rclcpp_ring_buffer_clear, (const void *buffer), (buffer))
#endif
