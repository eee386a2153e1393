#pragma once

#include <utility>

namespace rclcpp {

// A message in memory of the middleware, until it is published.
template <typename MessageT>
class LoanedMessage {
 public:
  explicit LoanedMessage(MessageT *message) : message_(message) {}
  LoanedMessage(LoanedMessage &&other) noexcept
      : message_(std::exchange(other.message_, nullptr)) {}
  LoanedMessage &operator=(LoanedMessage &&) = delete;

  MessageT &get() { return *message_; }
  MessageT *release() { return std::exchange(message_, nullptr); }

 private:
  MessageT *message_;
};

}  // namespace rclcpp
