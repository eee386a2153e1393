#include "rclcpp/waitable.hpp"

namespace rclcpp {

GuardCondition::GuardCondition(std::shared_ptr<Context> context)
#ifdef STANDIN_HUMBLE
    : context_(std::move(context)) {
  rcl_guard_condition_.context = context_->get_rcl_context();
}
#else
{
  rcl_guard_condition_.context = context->get_rcl_context();
}
#endif

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
