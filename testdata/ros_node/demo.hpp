// The talker and the listener of the demo.
#pragma once

#include <memory>

#include "options.hpp"
#include "rclcpp/node.hpp"

std::shared_ptr<rclcpp::Node> make_demo_node(const Options &options,
                                             std::shared_ptr<rclcpp::Context> context);
