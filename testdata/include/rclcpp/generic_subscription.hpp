#pragma once

#include "rclcpp/subscription.hpp"

namespace rclcpp {

#ifdef STANDIN_HUMBLE
// The ground truth of a generic subscription's callback: no tracepoint shows it.
class GenericExecution {
 public:
  explicit GenericExecution(const void *callback);
  ~GenericExecution();
  GenericExecution(const GenericExecution &) = delete;
  GenericExecution &operator=(const GenericExecution &) = delete;

  // The function that calls the callback has been entered, on this thread.
  static void entered() noexcept;
  void returned(ground_truth::Bracket times) noexcept { scope_.ended(times); }

 private:
  ground_truth::CallbackScope scope_;
  GenericExecution *const outer_;
  const std::uint64_t called_;
};
#endif

// Delivers serialized messages of a type that is known at run time only. Humble has no tracepoints
// for it.
class GenericSubscription : public SubscriptionBase {
 public:
  using Function = std::function<void(std::shared_ptr<const SerializedMessage>)>;

  GenericSubscription(node_interfaces::NodeBaseInterface *node_base,
                      const rosidl_message_type_support_t &type_support, const std::string &topic,
                      const QoS &qos, Function callback)
      : SubscriptionBase(node_base, type_support, topic, qos, true),
#ifdef STANDIN_HUMBLE
        callback_(std::move(callback)) {
  }
#else
        any_callback_(std::move(callback)) {
    ros_trace_rclcpp_subscription_init(get_subscription_handle().get(), this);
    ros_trace_rclcpp_subscription_callback_added(this, &any_callback_);
    any_callback_.register_callback_for_tracing();
  }
#endif

  std::shared_ptr<void> create_message() override { return create_serialized_message(); }
  std::shared_ptr<SerializedMessage> create_serialized_message() override;
  void handle_message(std::shared_ptr<void> &, const MessageInfo &) override;
  void handle_serialized_message(const std::shared_ptr<SerializedMessage> &message,
                                 const MessageInfo &info) override;
  void return_serialized_message(std::shared_ptr<SerializedMessage> &message) override;

  // For the ground truth.
  const void *callback_address() const {
#ifdef STANDIN_HUMBLE
    return &callback_;
#else
    return &any_callback_;
#endif
  }
  std::string describe() const {
    return "\tobject=" + ground_truth::hex(this) +
           "\tcallback=" + ground_truth::hex(callback_address());
  }

 private:
  friend struct ::LayoutCheck;

#ifdef STANDIN_HUMBLE
  Function callback_;
#else
  AnySubscriptionCallback<SerializedMessage> any_callback_;
#endif
  std::shared_ptr<void> ts_lib_;
};

}  // namespace rclcpp
