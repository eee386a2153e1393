// A message of fixed size, which can be loaned.
#pragma once

#include <cstdint>
#include <memory>

#include "rosidl/message_traits.hpp"

namespace standin_msgs::msg {

template <typename Allocator>
struct Counter_ {
  std::uint64_t number = 0;
  std::uint64_t complement = ~std::uint64_t{0};
};
using Counter = Counter_<std::allocator<void>>;

}  // namespace standin_msgs::msg

template <>
struct rosidl::MessageTraits<standin_msgs::msg::Counter> {
  using Counter = standin_msgs::msg::Counter;
  ROSIDL_MESSAGE_NAMES(standin_msgs, Counter);
  static constexpr bool kIsPlain = true;

  static void write(const Counter &message, std::vector<std::uint8_t> &bytes) {
    rosidl::write(bytes, &message, sizeof message);
  }
  static bool read(const std::uint8_t *bytes, std::size_t size, Counter &message) {
    return Reader(bytes, size).read(&message, sizeof message);
  }
};
