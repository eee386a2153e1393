#include "rcl/impl.h"
#include "standin/ground_truth.hpp"
#include "tracetools/tracetools.h"

static std::int64_t now() { return static_cast<std::int64_t>(ground_truth::now()); }

static rcl_ret_t init(rcl_timer_t *timer, rcl_context_t *context, std::int64_t period,
                      bool autostart) {
  timer->impl = new rcl_timer_impl_s{};
  timer->impl->canceled = !autostart;
  timer->impl->context = context;
  timer->impl->period = period;
  timer->impl->last_call_time = now();
  timer->impl->next_call_time = timer->impl->last_call_time + period;
  ros_trace_rcl_timer_init(timer, period);
  return RCL_RET_OK;
}

rcl_ret_t rcl_timer_init(rcl_timer_t *timer, rcl_context_t *context, std::int64_t period) {
  return init(timer, context, period, true);
}

#ifndef STANDIN_HUMBLE
rcl_ret_t rcl_timer_init2(rcl_timer_t *timer, rcl_context_t *context, std::int64_t period,
                          bool autostart) {
  return init(timer, context, period, autostart);
}
#endif

rcl_ret_t rcl_timer_fini(rcl_timer_t *timer) {
  delete timer->impl;
  timer->impl = nullptr;
  return RCL_RET_OK;
}

// Periods that were missed are skipped, as in rcl.
rcl_ret_t rcl_timer_call(rcl_timer_t *timer) {
  if (timer->impl->canceled) return RCL_RET_TIMER_CANCELED;
  const std::int64_t time = now();
  timer->impl->last_call_time = time;
  std::int64_t next = timer->impl->next_call_time + timer->impl->period;
  if (next < time) {
    const std::int64_t period = timer->impl->period;
    next = period == 0 ? time : next + ((time - next) / period + 1) * period;
  }
  timer->impl->next_call_time = next;
  return RCL_RET_OK;
}

rcl_ret_t rcl_timer_cancel(rcl_timer_t *timer) {
  timer->impl->canceled = true;
  return RCL_RET_OK;
}

rcl_ret_t rcl_timer_get_period(const rcl_timer_t *timer, std::int64_t *period) {
  *period = timer->impl->period;
  return RCL_RET_OK;
}

rcl_ret_t rcl_timer_get_time_until_next_call(const rcl_timer_t *timer, std::int64_t *nanoseconds) {
  if (timer->impl->canceled) return RCL_RET_TIMER_CANCELED;
  *nanoseconds = timer->impl->next_call_time - now();
  return RCL_RET_OK;
}
