#include "rclcpp/generic_subscription.hpp"

#include <stdexcept>
#include <utility>

namespace rclcpp {

#ifdef STANDIN_HUMBLE
namespace {
thread_local GenericExecution *innermost = nullptr;
}

GenericExecution::GenericExecution(const void *callback)
    : scope_(callback, ground_truth::CallbackKind::subscription),
      outer_(std::exchange(innermost, this)),
      called_(ground_truth::now()) {}

GenericExecution::~GenericExecution() { innermost = outer_; }

void GenericExecution::entered() noexcept {
  innermost->scope_.started({innermost->called_, ground_truth::now()});
}
#endif

std::shared_ptr<SerializedMessage> GenericSubscription::create_serialized_message() {
  return std::make_shared<SerializedMessage>();
}

void GenericSubscription::handle_message(std::shared_ptr<void> &, const MessageInfo &) {
  throw std::logic_error("handle_message is not implemented for GenericSubscription");
}

void GenericSubscription::handle_serialized_message(
    const std::shared_ptr<SerializedMessage> &message, const MessageInfo &) {
#ifdef STANDIN_HUMBLE
  GenericExecution::entered();
  callback_(message);
#else
  any_callback_.dispatch(message);
#endif
}

void GenericSubscription::return_serialized_message(std::shared_ptr<SerializedMessage> &message) {
  message.reset();
}

}  // namespace rclcpp
