#include "rclcpp/time_source.hpp"

#include "standin/node_truth.hpp"

namespace rclcpp {
namespace {

constexpr std::size_t kDepth = 1;
constexpr std::int64_t kSecond = 1'000'000'000;

void set_clock(rcl_clock_t *clock, std::int64_t time) {
  const ground_truth::Bracket times =
      ground_truth::bracket([&] { rcl_set_ros_time_override(clock, time); });
  ground_truth::sim_time_set(clock, time, times);
}

}  // namespace

TimeSource::TimeSource(Node &node)
    : clock_subscription_(node.create_subscription<rosgraph_msgs::msg::Clock>(
          "/clock", QoS(kDepth),
          [this](const rosgraph_msgs::msg::Clock &message) { clock_cb(message); })) {}

TimeSource::~TimeSource() = default;

void TimeSource::attachClock(std::shared_ptr<rcl_clock_t> clock) {
  rcl_enable_ros_time_override(clock.get());
  const std::lock_guard lock(clock_list_lock_);
  associated_clocks_.push_back(std::move(clock));
}

void TimeSource::clock_cb(const rosgraph_msgs::msg::Clock &message) {
  const std::int64_t time = message.clock.sec * kSecond + message.clock.nanosec;
  const std::lock_guard lock(clock_list_lock_);
  for (const std::shared_ptr<rcl_clock_t> &clock : associated_clocks_) set_clock(clock.get(), time);
}

std::shared_ptr<rcl_clock_t> make_ros_clock() {
  auto clock = std::make_unique<rcl_clock_t>();
  rcl_ros_clock_init(clock.get());
  return std::shared_ptr<rcl_clock_t>(clock.release(), [](rcl_clock_t *owned) {
    rcl_ros_clock_fini(owned);
    delete owned;
  });
}

}  // namespace rclcpp
