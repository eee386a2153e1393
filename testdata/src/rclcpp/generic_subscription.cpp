#include "rclcpp/generic_subscription.hpp"

#include <stdexcept>

namespace rclcpp {

std::shared_ptr<SerializedMessage> GenericSubscription::create_serialized_message() {
  return std::make_shared<SerializedMessage>();
}

void GenericSubscription::handle_message(std::shared_ptr<void> &, const MessageInfo &) {
  throw std::logic_error("handle_message is not implemented for GenericSubscription");
}

void GenericSubscription::handle_serialized_message(
    const std::shared_ptr<SerializedMessage> &message, const MessageInfo &) {
#ifdef STANDIN_HUMBLE
  ground_truth::take_was_discarded();
  callback_(message);
#else
  any_callback_.dispatch(message);
#endif
}

}  // namespace rclcpp
