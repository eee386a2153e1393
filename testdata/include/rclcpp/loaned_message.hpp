#pragma once

#include <utility>

#include "rclcpp/subscription.hpp"

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

// The next message of a subscription, in memory of the middleware, until the end of the scope.
class LoanOfSubscription {
 public:
  LoanOfSubscription(SubscriptionBase &subscription, MessageInfo &info)
      : subscription_(subscription), message_(subscription.take_loaned(info)) {}
  ~LoanOfSubscription() {
    if (message_ != nullptr) subscription_.return_loaned(message_);
  }
  LoanOfSubscription(const LoanOfSubscription &) = delete;
  LoanOfSubscription &operator=(const LoanOfSubscription &) = delete;

  // Null if there was none.
  void *message() const { return message_; }

 private:
  SubscriptionBase &subscription_;
  void *const message_;
};

}  // namespace rclcpp
