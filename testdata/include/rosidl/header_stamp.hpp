// The header.stamp of a message, for the ground truth. Nothing in here exists in ROS 2.
#pragma once

#include <cstdint>

#include "rosidl/type_support.h"

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

// The same of a serialized message, with its encapsulation.
inline std::int64_t header_stamp(const rosidl_message_type_support_t &type_support,
                                 const std::uint8_t *bytes, std::size_t size) {
  constexpr std::size_t kEncapsulationSize = 4;
  const auto *const found = type_support.func(&type_support, kFastrtpsTypesupportIdentifier);
  if (found == nullptr || size < kEncapsulationSize) return 0;
  return static_cast<const message_type_support_callbacks_t *>(found->data)
      ->header_stamp(bytes + kEncapsulationSize, size - kEncapsulationSize);
}

}  // namespace rosidl
