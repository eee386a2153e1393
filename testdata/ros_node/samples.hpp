// Sending and checking of standin_msgs/msg/Sample.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "options.hpp"
#include "rclcpp/node.hpp"
#include "standin_msgs/msg/sample.hpp"

using Sample = standin_msgs::msg::Sample;

std::uint64_t next_sender_id();
std::unique_ptr<Sample> make_message(std::uint64_t publisher, std::uint64_t number,
                                     std::size_t payload);

// One publisher and the numbers of its messages.
class Sender {
 public:
  Sender(rclcpp::Node &node, const std::string &topic, const Options &options);

  // Publishes the next message, unless the limit is reached or stop() was called.
  void send();
  void stop() { stopped_ = true; }

  std::uint64_t id() const { return id_; }
  std::uint64_t sent();
  const std::string &topic() const { return topic_; }
  std::size_t subscription_count() const { return publisher_->get_subscription_count(); }

 private:
  void send_in_vain();

  const Options &options_;
  std::string topic_;
  std::uint64_t id_;
  std::shared_ptr<rclcpp::Publisher<Sample>> publisher_;
  std::mutex mutex_;
  std::uint64_t next_number_ = 0;
  std::uint64_t next_doomed_number_ = 0;
  std::uint64_t attempts_ = 0;
  std::atomic<bool> stopped_{false};
};

// What one subscription has received.
class Receiver {
 public:
  enum class Loss { allowed, forbidden };

  Receiver(std::string topic, Loss loss, bool ordered)
      : topic_(std::move(topic)), loss_(loss), ordered_(ordered) {}

  void receive(const Sample &message);

  const std::string &topic() const { return topic_; }
  std::uint64_t received();
  // How many messages of a publisher are missing: out of `sent`, or up to the last one received.
  std::uint64_t missing_of(std::uint64_t publisher, std::uint64_t sent);
  std::uint64_t missing();
  bool corrupted() const { return corrupted_; }

 private:
  struct Stream {
    std::vector<bool> seen;
    std::uint64_t count = 0;
  };

  void complain(const Sample &message, const char *what);
  std::uint64_t missing_in(std::uint64_t publisher, const Stream &stream, std::uint64_t sent) const;

  std::string topic_;
  Loss loss_;
  bool ordered_;
  std::mutex mutex_;
  std::map<std::uint64_t, Stream> streams_;
  std::atomic<bool> corrupted_{false};
};
