#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace builtin_interfaces::msg {

template <typename Allocator>
struct Time_ {
  std::int32_t sec = 0;
  std::uint32_t nanosec = 0;
};
using Time = Time_<std::allocator<void>>;

}  // namespace builtin_interfaces::msg

namespace std_msgs::msg {

template <typename Allocator>
struct Header_ {
  builtin_interfaces::msg::Time_<Allocator> stamp;
  std::string frame_id;
};
using Header = Header_<std::allocator<void>>;

}  // namespace std_msgs::msg
