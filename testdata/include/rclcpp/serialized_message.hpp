#pragma once

#include <cstdlib>
#include <cstring>
#include <vector>

#include "rcl/rcl.h"

namespace rclcpp {

// A message as it travels: encapsulation and CDR.
class SerializedMessage {
 public:
  SerializedMessage() = default;
  explicit SerializedMessage(const std::vector<std::uint8_t> &bytes) {
    auto &message = serialized_message_;
    message.buffer = static_cast<std::uint8_t *>(std::malloc(bytes.size()));
    message.buffer_length = message.buffer_capacity = bytes.size();
    std::memcpy(message.buffer, bytes.data(), bytes.size());
  }
  SerializedMessage(const SerializedMessage &other) : SerializedMessage(other.bytes()) {}
  SerializedMessage &operator=(const SerializedMessage &) = delete;
  virtual ~SerializedMessage() { std::free(serialized_message_.buffer); }

  rcl_serialized_message_t &get_rcl_serialized_message() { return serialized_message_; }
  const rcl_serialized_message_t &get_rcl_serialized_message() const { return serialized_message_; }
  std::vector<std::uint8_t> bytes() const {
    return {serialized_message_.buffer,
            serialized_message_.buffer + serialized_message_.buffer_length};
  }

 private:
  rcl_serialized_message_t serialized_message_{};
};

}  // namespace rclcpp
