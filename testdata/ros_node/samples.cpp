#include "samples.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "standin/failure.hpp"

namespace {

// Set in the sender's id of messages whose publish is made to fail: they may arrive or not.
constexpr std::uint64_t kDoomed = 1ull << 63;

constexpr std::uint64_t kFnvOffset = 0xcbf29ce484222325;
constexpr std::uint64_t kFnvPrime = 0x100000001b3;

std::uint64_t checksum(const Sample &message) {
  std::uint64_t hash = kFnvOffset;
  const auto add = [&hash](std::uint64_t value) { hash = (hash ^ value) * kFnvPrime; };
  add(static_cast<std::uint64_t>(message.header.stamp.sec));
  add(message.header.stamp.nanosec);
  add(message.publisher);
  add(message.number);
  for (const std::uint8_t byte : message.data) add(byte);
  return hash;
}

}  // namespace

std::uint64_t next_sender_id() {
  static std::atomic<std::uint64_t> next{0};
  return static_cast<std::uint64_t>(getpid()) << 32 | next++;
}

std::unique_ptr<Sample> make_message(std::uint64_t publisher, std::uint64_t number,
                                     std::size_t payload) {
  auto message = std::make_unique<Sample>();
  const auto time = std::chrono::system_clock::now().time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  message->header.stamp.sec = static_cast<std::int32_t>(seconds.count());
  message->header.stamp.nanosec = static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(time - seconds).count());
  message->header.frame_id = "standin";
  message->publisher = publisher;
  message->number = number;
  message->data.assign(payload, static_cast<std::uint8_t>(number));
  message->checksum = checksum(*message);
  return message;
}

Sender::Sender(rclcpp::Node &node, const std::string &topic, const Options &options)
    : options_(options),
      topic_(topic),
      id_(next_sender_id()),
      publisher_(node.create_publisher<Sample>(topic, rclcpp::QoS(options.depth))) {}

void Sender::send() {
  const std::lock_guard lock(mutex_);
  if (stopped_ || (options_.count != 0 && next_number_ == options_.count)) return;
  if (options_.fail_every != 0 && ++attempts_ % options_.fail_every == 0) {
    send_in_vain();
    return;
  }
  publisher_->publish(make_message(id_, next_number_, options_.payload));
  ++next_number_;
}

void Sender::send_in_vain() {
  failure::arm(options_.fail_at);
  try {
    publisher_->publish(make_message(id_ | kDoomed, next_doomed_number_++, options_.payload));
  } catch (const std::runtime_error &) {
  }
  failure::arm(failure::Point::none);
}

std::uint64_t Sender::sent() {
  const std::lock_guard lock(mutex_);
  return next_number_;
}

void Receiver::receive(const Sample &message) {
  if (checksum(message) != message.checksum) complain(message, "wrong checksum");
  const std::lock_guard lock(mutex_);
  Stream &stream = streams_[message.publisher];
  if (message.number >= stream.seen.size()) {
    stream.seen.resize(message.number + 1);
  } else if (stream.seen[message.number]) {
    complain(message, "received twice");
    return;
  } else if (ordered_) {
    complain(message, "out of order");
  }
  stream.seen[message.number] = true;
  ++stream.count;
}

void Receiver::complain(const Sample &message, const char *what) {
  corrupted_ = true;
  std::fprintf(stderr, "ros_node: %s: message %llu of publisher %llx: %s\n", topic_.c_str(),
               static_cast<unsigned long long>(message.number),
               static_cast<unsigned long long>(message.publisher), what);
}

std::uint64_t Receiver::missing_in(std::uint64_t publisher, const Stream &stream,
                                   std::uint64_t sent) const {
  if ((publisher & kDoomed) != 0) return 0;
  return loss_ == Loss::allowed || stream.count >= sent ? 0 : sent - stream.count;
}

std::uint64_t Receiver::missing_of(std::uint64_t publisher, std::uint64_t sent) {
  const std::lock_guard lock(mutex_);
  return missing_in(publisher, streams_[publisher], sent);
}

std::uint64_t Receiver::missing() {
  const std::lock_guard lock(mutex_);
  std::uint64_t missing = 0;
  for (const auto &[publisher, stream] : streams_) {
    missing += missing_in(publisher, stream, stream.seen.size());
  }
  return missing;
}

std::uint64_t Receiver::received() {
  const std::lock_guard lock(mutex_);
  std::uint64_t count = 0;
  for (const auto &[publisher, stream] : streams_) count += stream.count;
  return count;
}
