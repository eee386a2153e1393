// Everything that one process does, built from the options.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "behaviour.hpp"
#include "node_features.hpp"
#include "options.hpp"
#include "raw_messages.hpp"
#include "rclcpp/executor.hpp"
#include "recreation.hpp"
#include "sample_node.hpp"
#include "service_calls.hpp"

class Scenario {
 public:
  explicit Scenario(const Options &options);

  // Waits until the publishers and subscriptions of this process know each other and every
  // publisher has `others` more subscriptions. False if the process was asked to stop meanwhile.
  bool wait_for_matches(unsigned others);
  // Executes until rclcpp::request_shutdown().
  void run();
  void load_component(const std::string &path);
  void in_next_callback(std::function<void()> action) {
    behaviour_.in_next_callback(std::move(action));
  }

  // No message is published any more.
  void stop_publishing();
  // Every message of this process has arrived at its subscriptions.
  bool all_received();
  // Prints a summary; true if nothing was corrupted and, with --expect-all, nothing was lost.
  bool verify();

 private:
  std::string topic(unsigned node, unsigned index) const;
  SampleNode &first() { return *nodes_.front(); }
  void add_nodes();
  void add_topics();
  void add_nested_spinning();
  void add_polling();
  void add_outside_publisher();
  void add_thread_churn();
  void add_random_actions();

  void spin_nested();
  void poll();
  void publish_outside();
  void churn();
  void spin_until_shutdown();
  unsigned subscriptions_of(const std::string &topic) const;
  std::uint64_t lost();

  const Options &options_;
  Behaviour behaviour_;
  std::shared_ptr<rclcpp::Context> context_ = std::make_shared<rclcpp::Context>();
  std::vector<std::shared_ptr<SampleNode>> nodes_;
  std::shared_ptr<rclcpp::Node> component_;
  void (*stop_component_)(rclcpp::Node &) = nullptr;
  std::unique_ptr<rclcpp::Executor> executor_;

  std::shared_ptr<rclcpp::CallbackGroup> nested_group_;
  std::atomic<std::uint64_t> nested_spins_{0};
  rclcpp::Subscription<Sample> *polled_ = nullptr;
  std::unique_ptr<Receiver> polled_receiver_;
  std::unique_ptr<ServiceCalls> service_calls_;
  std::unique_ptr<NodeFeatures> node_features_;
  std::unique_ptr<RawMessages> raw_messages_;
  std::unique_ptr<Recreation> recreation_;
  Sender *outside_ = nullptr;
  Sender *churn_sender_ = nullptr;
  std::shared_ptr<rclcpp::CallbackGroup> churn_group_;
  std::atomic<bool> stopping_{false};
};
