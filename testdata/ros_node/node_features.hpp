// A node with a life cycle, and clocks that follow /clock.
#pragma once

#include <memory>
#include <vector>

#include "options.hpp"
#include "rcl_lifecycle/rcl_lifecycle.h"
#include "rclcpp/time_source.hpp"
#include "sample_node.hpp"

class NodeFeatures {
 public:
  // Creates what the options ask for, on the node.
  NodeFeatures(SampleNode &node, const Options &options);

 private:
  using Clock = rosgraph_msgs::msg::Clock;

  void add_lifecycle();
  void add_sim_time();
  void next_transition();
  void publish_clock();

  SampleNode &node_;
  const Options &options_;
  rcl_lifecycle_state_machine_t state_machine_{};
  std::size_t next_transition_ = 0;
  std::unique_ptr<rclcpp::TimeSource> time_source_;
  std::shared_ptr<rclcpp::Publisher<Clock>> clock_publisher_;
  std::int64_t sim_time_;
};
