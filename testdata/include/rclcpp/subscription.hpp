#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "rclcpp/any_subscription_callback.hpp"
#include "rclcpp/experimental/intra_process_manager.hpp"
#include "rclcpp/logger.hpp"
#include "rclcpp/node_interfaces.hpp"
#include "rclcpp/serialized_message.hpp"
#include "rosidl/header_stamp.hpp"
#include "rosidl/message_traits.hpp"

namespace rclcpp {

class MessageInfo {
 public:
  virtual ~MessageInfo() = default;
  rmw_message_info_t &get_rmw_message_info() { return rmw_message_info_; }
  const rmw_message_info_t &get_rmw_message_info() const { return rmw_message_info_; }

 private:
  rmw_message_info_t rmw_message_info_{};
};

enum class DeliveredMessageKind : std::uint8_t { INVALID, ROS_MESSAGE, SERIALIZED_MESSAGE };

class SubscriptionBase : public std::enable_shared_from_this<SubscriptionBase> {
 public:
  SubscriptionBase(node_interfaces::NodeBaseInterface *node_base,
                   const rosidl_message_type_support_t &type_support, const std::string &topic,
                   const QoS &qos, bool is_serialized = false);
  virtual ~SubscriptionBase();

  std::shared_ptr<rcl_subscription_t> get_subscription_handle();
  const char *get_topic_name() const;
  std::size_t get_publisher_count() const;
  // In place of the wait set: whether a take would find a message.
  bool has_message() const;
  // False if there was no message.
  bool take_type_erased(void *message_out, MessageInfo &message_info_out);
  bool take_serialized(SerializedMessage &message_out, MessageInfo &message_info_out);
  // Null if there was no message. What is taken has to be returned.
  void *take_loaned(MessageInfo &message_info_out);
  void return_loaned(void *loaned_message);
  // Whether the functions with "serialized" or "loaned" in their names are to be called instead.
  bool is_serialized() const;
  bool can_loan_messages() const;
  // The intra-process half, or null.
  std::shared_ptr<experimental::SubscriptionIntraProcessBase> get_intra_process_waitable() const;

  virtual std::shared_ptr<void> create_message() = 0;
  virtual void handle_message(std::shared_ptr<void> &message, const MessageInfo &info) = 0;
  virtual std::shared_ptr<SerializedMessage> create_serialized_message();
  virtual void handle_serialized_message(const std::shared_ptr<SerializedMessage> &message,
                                         const MessageInfo &info);
  virtual void return_serialized_message(std::shared_ptr<SerializedMessage> &message);
  virtual void handle_loaned_message(void *loaned_message, const MessageInfo &info);

 protected:
  friend struct ::LayoutCheck;

  void setup_intra_process(std::uint64_t id,
                           std::weak_ptr<experimental::IntraProcessManager> manager);
  bool matches_any_intra_process_publishers(const rmw_gid_t *gid) const;

  node_interfaces::NodeBaseInterface *node_base_;
  std::shared_ptr<rcl_node_t> node_handle_;
#ifdef STANDIN_HUMBLE
  std::shared_ptr<rcl_subscription_t> subscription_handle_;
  std::shared_ptr<rcl_subscription_t> intra_process_subscription_handle_;
  Logger node_logger_;
  std::unordered_map<int, std::shared_ptr<Waitable>> event_handlers_;
  bool use_intra_process_ = false;
  std::weak_ptr<experimental::IntraProcessManager> weak_ipm_;
  std::uint64_t intra_process_subscription_id_ = 0;
  std::shared_ptr<experimental::SubscriptionIntraProcessBase> subscription_intra_process_;
  rosidl_message_type_support_t type_support_;
  bool is_serialized_;
  std::atomic<bool> subscription_in_use_by_wait_set_{false};
  std::atomic<bool> intra_process_subscription_waitable_in_use_by_wait_set_{false};
  std::unordered_map<void *, std::atomic<bool>> qos_events_in_use_by_wait_set_;
  std::recursive_mutex callback_mutex_;
  std::function<void(std::size_t)> on_new_message_callback_;
#else
  std::recursive_mutex callback_mutex_;
  std::function<void(std::size_t)> on_new_message_callback_;
  std::shared_ptr<rcl_subscription_t> subscription_handle_;
  std::shared_ptr<rcl_subscription_t> intra_process_subscription_handle_;
  Logger node_logger_;
  std::unordered_map<int, std::shared_ptr<Waitable>> event_handlers_;
  bool use_intra_process_ = false;
  std::weak_ptr<experimental::IntraProcessManager> weak_ipm_;
  std::uint64_t intra_process_subscription_id_ = 0;
  std::shared_ptr<experimental::SubscriptionIntraProcessBase> subscription_intra_process_;
  std::byte event_callbacks_[192]{};
  rosidl_message_type_support_t type_support_;
  DeliveredMessageKind delivered_message_kind_;
  std::atomic<bool> subscription_in_use_by_wait_set_{false};
  std::atomic<bool> intra_process_subscription_waitable_in_use_by_wait_set_{false};
  std::unordered_map<void *, std::atomic<bool>> qos_events_in_use_by_wait_set_;
#endif
};

namespace message_memory_strategy {
template <typename MessageT, typename Alloc = std::allocator<void>>
class MessageMemoryStrategy {};
}  // namespace message_memory_strategy

template <typename MessageT, typename AllocatorT = std::allocator<void>,
          typename SubscribedT = MessageT, typename ROSMessageT = MessageT,
          typename MessageMemoryStrategyT =
              message_memory_strategy::MessageMemoryStrategy<ROSMessageT, AllocatorT>>
class Subscription : public SubscriptionBase {
  using IntraProcess = experimental::SubscriptionIntraProcess<MessageT, SubscribedT>;

 public:
  Subscription(node_interfaces::NodeBaseInterface *node_base, const std::string &topic,
               const QoS &qos, AnySubscriptionCallback<MessageT, AllocatorT> callback)
      : SubscriptionBase(node_base, message_type_support<MessageT>(), topic, qos),
        any_callback_(callback) {
    if (node_base->get_use_intra_process_default()) {
      const std::shared_ptr<Context> context = node_base->get_context();
      subscription_intra_process_ =
          std::make_shared<IntraProcess>(callback, context, get_topic_name(), qos);
      ros_trace_rclcpp_subscription_init(get_subscription_handle().get(),
                                         subscription_intra_process_.get());
      const auto manager = context->get_intra_process_manager();
      setup_intra_process(manager->add_subscription(subscription_intra_process_), manager);
    }
    ros_trace_rclcpp_subscription_init(get_subscription_handle().get(), this);
    ros_trace_rclcpp_subscription_callback_added(this, &any_callback_);
    any_callback_.register_callback_for_tracing();
  }

  // Takes the next message without a callback. False if there was none.
  bool take(MessageT &message_out, MessageInfo &message_info_out) {
    const bool taken = take_type_erased(&message_out, message_info_out);
    if (!taken) return false;
    ground_truth::took_header(rosidl::header_stamp(message_out));
    ground_truth::take_was_polled();
    return true;
  }

  std::shared_ptr<void> create_message() override { return std::make_shared<MessageT>(); }

  void handle_message(std::shared_ptr<void> &message, const MessageInfo &info) override {
    deliver(std::static_pointer_cast<MessageT>(message), info);
  }

  void handle_loaned_message(void *loaned_message, const MessageInfo &info) override {
    deliver(std::shared_ptr<MessageT>(static_cast<MessageT *>(loaned_message), [](MessageT *) {}),
            info);
  }

  // For the ground truth.
  std::string describe() const {
    using ground_truth::hex;
    std::string line = "\tobject=" + hex(this) + "\tcallback=" + hex(&any_callback_);
    if (const auto intra =
            std::dynamic_pointer_cast<const IntraProcess>(subscription_intra_process_)) {
      line += "\tintra_object=" + hex(intra.get()) +
              "\tintra_callback=" + hex(intra->callback_address()) +
              "\tbuffer=" + hex(intra->ring_buffer());
    }
    return line;
  }

 private:
  friend struct ::LayoutCheck;

  void deliver(std::shared_ptr<MessageT> message, const MessageInfo &info) {
    ground_truth::took_header(rosidl::header_stamp(*message));
    if (matches_any_intra_process_publishers(&info.get_rmw_message_info().publisher_gid)) {
      ground_truth::take_was_discarded();
      return;
    }
    any_callback_.dispatch(std::move(message));
  }

  AnySubscriptionCallback<MessageT, AllocatorT> any_callback_;
#ifdef STANDIN_HUMBLE
  std::byte options_[416]{};
#else
  std::byte options_[568]{};
#endif
  std::shared_ptr<MessageMemoryStrategyT> message_memory_strategy_;
  std::shared_ptr<void> subscription_topic_statistics_;
};

}  // namespace rclcpp
