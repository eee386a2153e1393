// The message of the stand-in's nodes: who sent it, which one it is, and a checksum.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "rosidl/message_traits.hpp"
#include "std_msgs/msg/header.hpp"

namespace standin_msgs::msg {

template <typename Allocator>
struct Sample_ {
  std_msgs::msg::Header_<Allocator> header;
  std::uint64_t publisher = 0;
  std::uint64_t number = 0;
  std::vector<std::uint8_t> data;
  std::uint64_t checksum = 0;
};
using Sample = Sample_<std::allocator<void>>;

}  // namespace standin_msgs::msg

template <>
struct rosidl::MessageTraits<standin_msgs::msg::Sample> {
  using Sample = standin_msgs::msg::Sample;
  ROSIDL_MESSAGE_NAMES(standin_msgs, Sample);

  static void write(const Sample &message, std::vector<std::uint8_t> &bytes) {
    rosidl::write(bytes, &message.header.stamp, sizeof message.header.stamp);
    write_sequence(bytes, message.header.frame_id);
    rosidl::write(bytes, &message.publisher, sizeof message.publisher);
    rosidl::write(bytes, &message.number, sizeof message.number);
    write_sequence(bytes, message.data);
    rosidl::write(bytes, &message.checksum, sizeof message.checksum);
  }

  static bool read(const std::uint8_t *bytes, std::size_t size, Sample &message) {
    Reader reader(bytes, size);
    return reader.read(&message.header.stamp, sizeof message.header.stamp) &&
           reader.read_sequence(message.header.frame_id) &&
           reader.read(&message.publisher, sizeof message.publisher) &&
           reader.read(&message.number, sizeof message.number) &&
           reader.read_sequence(message.data) &&
           reader.read(&message.checksum, sizeof message.checksum);
  }
};
