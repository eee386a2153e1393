// The header.stamp of a message, for the ground truth. Nothing in here exists in ROS 2.
#pragma once

#include <cstdint>

namespace rosidl {

// In nanoseconds; zero if the message has no header.
template <typename MessageT>
std::int64_t header_stamp(const MessageT &message) {
  if constexpr (requires { message.header.stamp.nanosec; }) {
    constexpr std::int64_t kSecond = 1'000'000'000;
    return message.header.stamp.sec * kSecond + message.header.stamp.nanosec;
  } else {
    return 0;
  }
}

}  // namespace rosidl
