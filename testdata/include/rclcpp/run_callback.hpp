// What every kind of callback does around the user's function.
#pragma once

#include "standin/ground_truth.hpp"
#include "tracetools/tracetools.h"
#include "tracetools/utils.hpp"

namespace rclcpp::detail {

// Inline: rclcpp's functions call the tracepoints themselves.
template <typename Function>
[[gnu::always_inline]] inline void run_callback(const void *callback,
                                                ground_truth::CallbackKind kind,
                                                Function &&function) {
  const bool is_intra_process = kind == ground_truth::CallbackKind::intra_subscription;
  ground_truth::CallbackScope scope(callback, kind);
  scope.started(
      ground_truth::bracket([&] { ros_trace_callback_start(callback, is_intra_process); }));
  function();
  scope.ended(ground_truth::bracket([&] { ros_trace_callback_end(callback); }));
}

// Humble computes the symbol and traces it always, Jazzy only if someone listens.
template <typename Function>
void register_callback(const void *callback, const Function &function) {
#ifdef STANDIN_HUMBLE
  char *const symbol = tracetools::get_symbol(function);
  ros_trace_rclcpp_callback_register(callback, symbol);
  std::free(symbol);
#else
  if (ros_trace_enabled_rclcpp_callback_register()) {
    char *const symbol = tracetools::get_symbol(function);
    ros_trace_do_rclcpp_callback_register(callback, symbol);
    std::free(symbol);
  }
#endif
}

}  // namespace rclcpp::detail
