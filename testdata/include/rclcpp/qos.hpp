#pragma once

#include "rmw/rmw.h"

namespace rclcpp {

// Keep last, reliable, volatile.
class QoS {
 public:
  explicit QoS(std::size_t depth) {
    profile_.history = 1;
    profile_.depth = depth;
    profile_.reliability = 1;
    profile_.durability = 2;
  }
  const rmw_qos_profile_t &get_rmw_qos_profile() const { return profile_; }
  std::size_t depth() const { return profile_.depth; }

 private:
  rmw_qos_profile_t profile_{};
};

}  // namespace rclcpp
