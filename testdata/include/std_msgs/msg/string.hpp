#pragma once

#include <memory>
#include <string>

#include "rosidl/message_traits.hpp"

namespace std_msgs::msg {

template <typename Allocator>
struct String_ {
  std::string data;
};
using String = String_<std::allocator<void>>;

}  // namespace std_msgs::msg

template <>
struct rosidl::MessageTraits<std_msgs::msg::String> {
  ROSIDL_MESSAGE_NAMES(std_msgs, String);

  static void write(const std_msgs::msg::String &message, std::vector<std::uint8_t> &bytes) {
    write_sequence(bytes, message.data);
  }
  static bool read(const std::uint8_t *bytes, std::size_t size, std_msgs::msg::String &message) {
    return Reader(bytes, size).read_sequence(message.data);
  }
};
