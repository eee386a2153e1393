#include "rclcpp/timer.hpp"

#include <stdexcept>

namespace rclcpp {

TimerBase::TimerBase(std::chrono::nanoseconds period, std::shared_ptr<Context> context)
    : timer_handle_(new rcl_timer_t{}, [](rcl_timer_t *timer) {
        rcl_timer_fini(timer);
        delete timer;
      }) {
  if (rcl_timer_init(timer_handle_.get(), context->get_rcl_context(), period.count()) !=
      RCL_RET_OK) {
    throw std::runtime_error("failed to create a timer");
  }
}

TimerBase::~TimerBase() = default;

void TimerBase::cancel() { rcl_timer_cancel(timer_handle_.get()); }

std::shared_ptr<const rcl_timer_t> TimerBase::get_timer_handle() { return timer_handle_; }

std::chrono::nanoseconds TimerBase::time_until_trigger() {
  std::int64_t nanoseconds = 0;
  if (rcl_timer_get_time_until_next_call(timer_handle_.get(), &nanoseconds) != RCL_RET_OK) {
    return std::chrono::nanoseconds::max();
  }
  return std::chrono::nanoseconds(nanoseconds);
}

}  // namespace rclcpp
