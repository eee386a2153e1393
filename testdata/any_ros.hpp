#pragma once

// What programs need that are built against the stand-ins and against ROS 2.

#include <cstdlib>
#include <memory>

#ifdef STANDIN_DISTRO
#include "rclcpp/executor.hpp"
#else
#include "rclcpp/rclcpp.hpp"
#endif

namespace any_ros {

#ifdef STANDIN_DISTRO
inline void initialize(int, char **) {}

inline std::shared_ptr<rclcpp::Node> make_node(const char *name) {
  static const std::shared_ptr<rclcpp::Context> context = [] {
    const char *const domain = std::getenv("ROS_DOMAIN_ID");
    auto made = std::make_shared<rclcpp::Context>();
    made->init(domain == nullptr ? 0 : std::strtoul(domain, nullptr, 10));
    return made;
  }();
  return std::make_shared<rclcpp::Node>(name, "/", context, false);
}
#else
inline void initialize(int count, char **arguments) { rclcpp::init(count, arguments); }

inline std::shared_ptr<rclcpp::Node> make_node(const char *name) {
  return std::make_shared<rclcpp::Node>(name);
}
#endif

}  // namespace any_ros
