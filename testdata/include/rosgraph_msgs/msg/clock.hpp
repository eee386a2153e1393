#pragma once

#include <memory>

#include "rosidl/message_traits.hpp"
#include "std_msgs/msg/header.hpp"

namespace rosgraph_msgs::msg {

template <typename Allocator>
struct Clock_ {
  builtin_interfaces::msg::Time_<Allocator> clock;
};
using Clock = Clock_<std::allocator<void>>;

}  // namespace rosgraph_msgs::msg

template <>
struct rosidl::MessageTraits<rosgraph_msgs::msg::Clock> {
  using Clock = rosgraph_msgs::msg::Clock;
  ROSIDL_MESSAGE_NAMES(rosgraph_msgs, Clock);

  static void write(const Clock &message, std::vector<std::uint8_t> &bytes) {
    rosidl::write(bytes, &message.clock, sizeof message.clock);
  }
  static bool read(const std::uint8_t *bytes, std::size_t size, Clock &message) {
    return Reader(bytes, size).read(&message.clock, sizeof message.clock);
  }
};
