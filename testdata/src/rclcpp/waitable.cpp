#include "rclcpp/waitable.hpp"

namespace rclcpp {

static rcl_context_t *rcl_context_of(const std::shared_ptr<Context> &context) {
  return context == nullptr ? nullptr : context->get_rcl_context();
}

GuardCondition::GuardCondition(std::shared_ptr<Context> context) {
  rcl_guard_condition_.context = rcl_context_of(context);
#ifdef STANDIN_HUMBLE
  context_ = std::move(context);
#endif
}

GuardCondition::~GuardCondition() = default;

void GuardCondition::trigger() {
  const std::lock_guard lock(reentrant_mutex_);
  if (on_trigger_callback_) {
    on_trigger_callback_(1);
  } else {
    ++unread_count_;
  }
  detail::notify_executors();
}

}  // namespace rclcpp
