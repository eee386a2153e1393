// Messages that carry a number, so that what a callback got can be told from all other messages.
#pragma once

#include <atomic>
#include <cstdint>
#include <rclcpp/rclcpp.hpp>
#include <rclcpp/serialization.hpp>
#include <rclcpp/serialized_message.hpp>
#include <std_msgs/msg/header.hpp>
#include <std_msgs/msg/string.hpp>
#include <std_msgs/msg/u_int64.hpp>
#include <string>

namespace program {

using Integer = std_msgs::msg::UInt64;
using String = std_msgs::msg::String;
using Stamped = std_msgs::msg::Header;

// A type of the program's own, which rclcpp converts to a String.
struct Text {
  std::string value;
};

inline void set_number(Integer &message, std::uint64_t number) { message.data = number; }
inline void set_number(String &message, std::uint64_t number) { message.data = std::to_string(number) + " and what else a text holds"; }
inline void set_number(Text &message, std::uint64_t number) { message.value = std::to_string(number) + " and what else a text holds"; }
inline void set_number(Stamped &message, std::uint64_t number) {
  message.stamp.sec = static_cast<std::int32_t>(number % 1000);
  message.frame_id = std::to_string(number);
}

inline std::uint64_t number_in(const Integer &message) { return message.data; }
inline std::uint64_t number_in(const String &message) { return std::stoull(message.data); }
inline std::uint64_t number_in(const Text &message) { return std::stoull(message.value); }
inline std::uint64_t number_in(const Stamped &message) { return std::stoull(message.frame_id); }

template <class Message>
std::uint64_t number_in_serialized(const rclcpp::SerializedMessage &serialized) {
  Message message;
  rclcpp::Serialization<Message>().deserialize_message(&serialized, &message);
  return number_in(message);
}

// Numbers that no other one of the program gives.
class Numbers {
 public:
  std::uint64_t next(int entity) { return static_cast<std::uint64_t>(entity) << 32 | ++last_; }

 private:
  std::atomic<std::uint32_t> last_{0};
};

}  // namespace program

template <>
struct rclcpp::TypeAdapter<program::Text, std_msgs::msg::String> {
  using is_specialized = std::true_type;
  using custom_type = program::Text;
  using ros_message_type = std_msgs::msg::String;

  static void convert_to_ros_message(const custom_type &source, ros_message_type &destination) { destination.data = source.value; }
  static void convert_to_custom(const ros_message_type &source, custom_type &destination) { destination.value = source.data; }
};

namespace program {

using AdaptedText = rclcpp::TypeAdapter<Text, String>;

}  // namespace program
