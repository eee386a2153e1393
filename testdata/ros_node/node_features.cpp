#include "node_features.hpp"

#include <stdexcept>

#include "timer_forms.hpp"

namespace {

// Up to active and back again, each with the success that ends it.
constexpr std::uint8_t kTransitions[][2] = {
    {TRANSITION_CONFIGURE, TRANSITION_ON_CONFIGURE_SUCCESS},
    {TRANSITION_ACTIVATE, TRANSITION_ON_ACTIVATE_SUCCESS},
    {TRANSITION_DEACTIVATE, TRANSITION_ON_DEACTIVATE_SUCCESS},
    {TRANSITION_CLEANUP, TRANSITION_ON_CLEANUP_SUCCESS},
};
constexpr int kClocks = 2;
constexpr std::int64_t kSecond = 1'000'000'000;
// Simulated time starts far from the real one and runs at half the speed.
constexpr std::int64_t kSimStart = 1000 * kSecond;
constexpr std::int64_t kSlowness = 2;

}  // namespace

NodeFeatures::NodeFeatures(SampleNode &node, const Options &options)
    : node_(node), options_(options), sim_time_(kSimStart) {
  if (options.lifecycle_rate != 0) add_lifecycle();
  if (options.sim_time_rate != 0) add_sim_time();
  if (options.timer_forms_rate != 0) add_timers_of_all_forms(node, options.timer_forms_rate);
}

void NodeFeatures::add_lifecycle() {
  rcl_lifecycle_state_machine_init(&state_machine_, node_.get_node_base()->get_rcl_node_handle());
  node_.run_periodically(
      options_.lifecycle_rate, [this] { next_transition(); }, nullptr);
}

void NodeFeatures::next_transition() {
  for (const std::uint8_t id : kTransitions[next_transition_++ % std::size(kTransitions)]) {
    if (rcl_lifecycle_trigger_transition_by_id(&state_machine_, id, false) != RCL_RET_OK) {
      throw std::logic_error("impossible transition");
    }
  }
}

void NodeFeatures::add_sim_time() {
  time_source_ = std::make_unique<rclcpp::TimeSource>(node_);
  for (int i = 0; i < kClocks; ++i) time_source_->attachClock(rclcpp::make_ros_clock());
  clock_publisher_ = node_.create_publisher<Clock>("/clock", rclcpp::QoS(options_.depth));
  node_.run_periodically(
      options_.sim_time_rate, [this] { publish_clock(); }, nullptr);
}

void NodeFeatures::publish_clock() {
  sim_time_ += period_of(options_.sim_time_rate).count() / kSlowness;
  Clock message;
  message.clock.sec = static_cast<std::int32_t>(sim_time_ / kSecond);
  message.clock.nanosec = static_cast<std::uint32_t>(sim_time_ % kSecond);
  clock_publisher_->publish(message);
}
