#include "rclcpp/timer.hpp"

#include <stdexcept>

#include "handles.hpp"
#include "standin/lifetime_truth.hpp"

namespace rclcpp {

TimerBase::TimerBase(std::chrono::nanoseconds period, std::shared_ptr<Context> context)
    : timer_handle_(Handles<rcl_timer_t>::take().release(), [](rcl_timer_t *timer) {
        ground_truth::finalize("timer", timer, [&] { rcl_timer_fini(timer); });
        Handles<rcl_timer_t>::give_back(timer);
      }) {
  rcl_timer_t *const timer = timer_handle_.get();
  const rcl_ret_t result = ground_truth::initialize("timer", timer, nullptr, [&] {
#ifdef STANDIN_HUMBLE
    return rcl_timer_init(timer, context->get_rcl_context(), period.count());
#else
    return rcl_timer_init2(timer, context->get_rcl_context(), period.count(), true);
#endif
  });
  if (result != RCL_RET_OK) throw std::runtime_error("failed to create a timer");
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
