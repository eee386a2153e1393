// Serialized messages through a generic publisher and subscription, and loaned ones.
#pragma once

#include <atomic>
#include <memory>

#include "options.hpp"
#include "rclcpp/generic_publisher.hpp"
#include "rclcpp/generic_subscription.hpp"
#include "sample_node.hpp"
#include "standin_msgs/msg/counter.hpp"

class RawMessages {
 public:
  // Creates what the options ask for, on the node.
  RawMessages(SampleNode &node, const Options &options, Behaviour &behaviour);

  bool corrupted() const { return wrong_; }

 private:
  using Counter = standin_msgs::msg::Counter;

  void add_serialized();
  void add_loaned();
  void publish_serialized();
  void publish_loaned();
  void receive_serialized(const rclcpp::SerializedMessage &message);

  SampleNode &node_;
  const Options &options_;
  Behaviour &behaviour_;
  std::uint64_t publisher_id_ = next_sender_id();
  std::atomic<std::uint64_t> next_number_{0};
  std::shared_ptr<rclcpp::GenericPublisher> generic_publisher_;
  std::shared_ptr<rclcpp::GenericSubscription> generic_subscription_;
  std::unique_ptr<Receiver> receiver_;
  std::shared_ptr<rclcpp::Publisher<Counter>> counter_publisher_;
  std::shared_ptr<rclcpp::Subscription<Counter>> counter_subscription_;
  std::atomic<bool> wrong_{false};
};
