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
  void add_polling();
  void publish_serialized();
  void publish_loaned();
  // Publishes, or fails to when it is the turn of --fail-every.
  template <typename Publish>
  void publish(Publish &&publish);
  void receive_serialized(const rclcpp::SerializedMessage &message, Receiver &receiver);
  void receive_loaned(const Counter &message);
  void poll();

  SampleNode &node_;
  const Options &options_;
  Behaviour &behaviour_;
  std::uint64_t publisher_id_ = next_sender_id();
  std::atomic<std::uint64_t> next_number_{0};
  std::shared_ptr<rclcpp::GenericPublisher> generic_publisher_;
  std::shared_ptr<rclcpp::GenericSubscription> generic_subscription_;
  std::unique_ptr<Receiver> receiver_;
  std::unique_ptr<Receiver> polled_receiver_;
  std::shared_ptr<rclcpp::Publisher<Counter>> counter_publisher_;
  std::shared_ptr<rclcpp::Subscription<Counter>> counter_subscription_;
  // Of which no executor knows.
  std::shared_ptr<rclcpp::GenericSubscription> polled_serialized_;
  std::shared_ptr<rclcpp::Subscription<Counter>> polled_loaned_;
  std::atomic<std::uint64_t> attempts_{0};
  std::atomic<bool> wrong_{false};
};
