#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "rclcpp/node.hpp"
#include "rosgraph_msgs/msg/clock.hpp"

namespace rclcpp {

// Sets the attached clocks to what comes on /clock.
class TimeSource {
 public:
  explicit TimeSource(Node &node);
  ~TimeSource();
  TimeSource(const TimeSource &) = delete;
  TimeSource &operator=(const TimeSource &) = delete;

  void attachClock(std::shared_ptr<rcl_clock_t> clock);

 private:
  void clock_cb(const rosgraph_msgs::msg::Clock &message);

  std::mutex clock_list_lock_;
  std::vector<std::shared_ptr<rcl_clock_t>> associated_clocks_;
  std::shared_ptr<Subscription<rosgraph_msgs::msg::Clock>> clock_subscription_;
};

std::shared_ptr<rcl_clock_t> make_ros_clock();

}  // namespace rclcpp
