#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "rclcpp/experimental/intra_process_manager.hpp"
#include "rclcpp/loaned_message.hpp"
#include "rclcpp/node_interfaces.hpp"
#include "rosidl/header_stamp.hpp"
#include "rosidl/message_traits.hpp"
#include "standin/ground_truth.hpp"
#include "standin/intra_truth.hpp"
#include "standin/raw_truth.hpp"
#include "tracetools/tracetools.h"

namespace rclcpp {

class PublisherBase : public std::enable_shared_from_this<PublisherBase> {
 public:
  PublisherBase(node_interfaces::NodeBaseInterface *node_base, const std::string &topic,
                const rosidl_message_type_support_t &type_support, const QoS &qos);
  virtual ~PublisherBase();

  std::shared_ptr<rcl_publisher_t> get_publisher_handle();
  const char *get_topic_name() const;
  std::size_t get_subscription_count() const;
  std::size_t get_intra_process_subscription_count() const;
  bool matches_gid(const rmw_gid_t &gid) const;
  // Makes the publisher known to the intra-process manager.
  void setup_intra_process(std::shared_ptr<experimental::IntraProcessManager> manager);
  // The QoS event handler that hangs in the callback group.
  std::shared_ptr<Waitable> event_handler() const;

 protected:
  friend struct ::LayoutCheck;

  std::shared_ptr<rcl_node_t> rcl_node_handle_;
  std::shared_ptr<rcl_publisher_t> publisher_handle_;
  std::unordered_map<int, std::shared_ptr<Waitable>> event_handlers_;
  bool intra_process_is_enabled_ = false;
  std::weak_ptr<experimental::IntraProcessManager> weak_ipm_;
  std::uint64_t intra_process_publisher_id_ = 0;
  rmw_gid_t rmw_gid_{};
  rosidl_message_type_support_t type_support_;
#ifdef STANDIN_JAZZY
  std::byte event_callbacks_[160]{};
#endif
};

template <typename MessageT, typename AllocatorT = std::allocator<void>>
class Publisher : public PublisherBase {
 public:
  Publisher(node_interfaces::NodeBaseInterface *node_base, const std::string &topic, const QoS &qos)
      : PublisherBase(node_base, topic, message_type_support<MessageT>(), qos) {}

  void publish(std::unique_ptr<MessageT> message) {
    const rmw_publisher_t *const rmw_publisher =
        rcl_publisher_get_rmw_handle(publisher_handle_.get());
    const ground_truth::PublishScope scope(publisher_handle_.get(), rmw_publisher,
                                           rmw_publisher->topic_name);
    ground_truth::publish_header(rosidl::header_stamp(*message));
    if (!intra_process_is_enabled_) {
      do_inter_process_publish(*message);
      return;
    }
    ground_truth::IntraPublish intra(publisher_handle_.get(), message.get());
    const bool inter_process_publish_needed =
        get_subscription_count() > get_intra_process_subscription_count();
    if (inter_process_publish_needed) {
      const std::shared_ptr<const MessageT> shared =
          do_intra_process_ros_message_publish_and_return_shared(std::move(message));
      intra.finish();
      do_inter_process_publish(*shared);
    } else {
      do_intra_process_ros_message_publish(std::move(message));
      intra.finish();
    }
  }

  void publish(const MessageT &message) {
    if (intra_process_is_enabled_) {
      publish(std::make_unique<MessageT>(message));
      return;
    }
    do_inter_process_publish(message);
  }

  // Of messages of fixed size only.
  LoanedMessage<MessageT> borrow_loaned_message() {
    void *message = nullptr;
    if (rcl_borrow_loaned_message(publisher_handle_.get(), &type_support_, &message) !=
        RCL_RET_OK) {
      throw std::runtime_error("failed to borrow a message");
    }
    return LoanedMessage<MessageT>(new (message) MessageT);
  }

  void publish(LoanedMessage<MessageT> &&loaned) {
    if (!rcl_publisher_can_loan_messages(publisher_handle_.get())) {
      throw std::runtime_error("the middleware does not loan messages");
    }
    do_loaned_message_publish(loaned.release());
  }

 private:
  friend struct ::LayoutCheck;

  void do_loaned_message_publish(MessageT *message) {
    const rmw_publisher_t *const rmw_publisher =
        rcl_publisher_get_rmw_handle(publisher_handle_.get());
    const ground_truth::PublishScope scope(publisher_handle_.get(), rmw_publisher,
                                           rmw_publisher->topic_name);
#ifdef STANDIN_JAZZY
    const ground_truth::Bracket times =
        ground_truth::bracket([&] { ros_trace_rclcpp_publish(nullptr, message); });
    ground_truth::publish_layer(ground_truth::Layer::rclcpp, times, message);
#endif
    const ground_truth::RawPublish raw(ground_truth::RawKind::loaned, publisher_handle_.get(),
                                       message);
    if (rcl_publish_loaned_message(publisher_handle_.get(), message, nullptr) != RCL_RET_OK) {
      throw std::runtime_error("failed to publish message");
    }
  }

  void do_inter_process_publish(const MessageT &message) {
    const rmw_publisher_t *const rmw_publisher =
        rcl_publisher_get_rmw_handle(publisher_handle_.get());
    const ground_truth::PublishScope scope(publisher_handle_.get(), rmw_publisher,
                                           rmw_publisher->topic_name);
    ground_truth::publish_header(rosidl::header_stamp(message));
    const ground_truth::Bracket times =
        ground_truth::bracket([&] { ros_trace_rclcpp_publish(nullptr, &message); });
    ground_truth::publish_layer(ground_truth::Layer::rclcpp, times, &message);
    if (rcl_publish(publisher_handle_.get(), &message, nullptr) != RCL_RET_OK) {
      throw std::runtime_error("failed to publish message");
    }
  }

  void do_intra_process_ros_message_publish(std::unique_ptr<MessageT> message) {
    const auto manager = lock_intra_process_manager();
    trace_intra_publish(message.get());
    manager->do_intra_process_publish(intra_process_publisher_id_, std::move(message));
  }

  std::shared_ptr<const MessageT> do_intra_process_ros_message_publish_and_return_shared(
      std::unique_ptr<MessageT> message) {
    const auto manager = lock_intra_process_manager();
    trace_intra_publish(message.get());
    return manager->do_intra_process_publish_and_return_shared(intra_process_publisher_id_,
                                                               std::move(message));
  }

  std::shared_ptr<experimental::IntraProcessManager> lock_intra_process_manager() const {
    auto manager = weak_ipm_.lock();
    if (manager == nullptr) throw std::runtime_error("no intra-process manager");
    return manager;
  }

  // Humble has no tracepoint there.
  void trace_intra_publish([[maybe_unused]] const MessageT *message) {
#ifdef STANDIN_JAZZY
    const ground_truth::Bracket times = ground_truth::bracket(
        [&] { ros_trace_rclcpp_intra_publish(publisher_handle_.get(), message); });
    ground_truth::publish_layer(ground_truth::Layer::intra, times, message);
#endif
  }

#ifdef STANDIN_HUMBLE
  std::byte options_[288]{};
#else
  std::byte options_[352]{};
  std::shared_ptr<void> buffer_;
#endif
};

}  // namespace rclcpp
