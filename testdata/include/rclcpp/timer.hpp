#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <type_traits>

#include "rclcpp/context.hpp"
#include "rclcpp/run_callback.hpp"

namespace rclcpp {

class TimerBase {
 public:
  TimerBase(std::chrono::nanoseconds period, std::shared_ptr<Context> context);
  virtual ~TimerBase();

  void cancel();
  // What executors do before they execute the callback. False: cancelled.
  virtual bool call() = 0;
  virtual void execute_callback() = 0;
  std::shared_ptr<const rcl_timer_t> get_timer_handle();
  // Zero or less when the timer is due; max() when it is cancelled.
  std::chrono::nanoseconds time_until_trigger();

 protected:
  friend struct ::LayoutCheck;

#ifdef STANDIN_JAZZY
  std::recursive_mutex callback_mutex_;
  std::function<void(std::size_t)> on_reset_callback_;
#endif
  std::shared_ptr<void> clock_;
  std::shared_ptr<rcl_timer_t> timer_handle_;
  std::atomic<bool> in_use_by_wait_set_{false};
};

template <typename FunctorT,
          typename std::enable_if<std::is_invocable<FunctorT>::value>::type * = nullptr>
class GenericTimer : public TimerBase {
 public:
  GenericTimer(std::chrono::nanoseconds period, FunctorT &&callback,
               std::shared_ptr<Context> context)
      : TimerBase(period, context), callback_(std::forward<FunctorT>(callback)) {
    ros_trace_rclcpp_timer_callback_added(get_timer_handle().get(), callback_address());
    detail::register_callback(callback_address(), callback_);
  }

  bool call() override { return rcl_timer_call(timer_handle_.get()) == RCL_RET_OK; }

  void execute_callback() override {
    detail::run_callback(callback_address(), ground_truth::CallbackKind::timer,
                         [this] { callback_(); });
  }

  // FunctorT may be a reference to a function.
  const void *callback_address() const { return reinterpret_cast<const void *>(&callback_); }

 protected:
  friend struct ::LayoutCheck;
  FunctorT callback_;
};

template <typename FunctorT,
          typename std::enable_if<std::is_invocable<FunctorT>::value>::type * = nullptr>
class WallTimer : public GenericTimer<FunctorT> {
 public:
  using GenericTimer<FunctorT>::GenericTimer;
};

}  // namespace rclcpp
