// busy FILE [callback|publish|subscription|idle] [COUNT]: a node whose timers are always due, with
// a callback that does nothing but count or, if asked to, publish. With subscription, its callbacks
// are those of a subscription: each publishes the message that starts a later one. One that is idle
// waits for the first one, and counts itself when it is ready. FILE shows how far it is
// (meter.hpp). After COUNT callbacks it ends. It is built against the stand-ins and against ROS 2.
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "../any_ros.hpp"
#include "meter.hpp"
#include "std_msgs/msg/string.hpp"

namespace {

// So many that what Jazzy's executor does before it looks for the next ones counts little.
constexpr int kTimers = 16;
// Messages that go round. So many fit into a reader's queue.
constexpr int kMessages = 8;
constexpr std::chrono::nanoseconds kNever = std::chrono::hours(24 * 365);

}  // namespace

int main(int count, char **arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: busy FILE [callback|publish|subscription|idle] [COUNT]\n");
    return EXIT_FAILURE;
  }
  const auto is_asked = [&](const char *what) {
    return count > 2 && std::strcmp(arguments[2], what) == 0;
  };
  const bool round = is_asked("subscription");
  const bool publish = is_asked("publish") || round;
  const bool idle = is_asked("idle");
  Meter meter(arguments[1]);
  any_ros::initialize(count, arguments);
  const std::shared_ptr<rclcpp::Node> node = any_ros::make_node("busy");
  const auto publisher = node->create_publisher<std_msgs::msg::String>("/busy", rclcpp::QoS(10));
  // Nobody takes from it: its node is not executed. Without any reader Cyclone DDS forgets the
  // topic's instance after each write, which wakes a thread of its own, at some rates each time.
  const std::shared_ptr<rclcpp::Node> reader = any_ros::make_node("reader");
  const auto subscription = reader->create_subscription<std_msgs::msg::String>(
      "/busy", rclcpp::QoS(10), [](std::shared_ptr<const std_msgs::msg::String>) {});
  std_msgs::msg::String message;
  message.data = "busy";
  const std::uint64_t most = count > 3 ? std::strtoull(arguments[3], nullptr, 10) : 0;
  rclcpp::executors::SingleThreadedExecutor executor;
  const auto callback = [&] {
    if (publish) publisher->publish(message);
    if (meter.count() == most) executor.cancel();
  };
  std::shared_ptr<rclcpp::SubscriptionBase> own;
  if (round) {
    own = node->create_subscription<std_msgs::msg::String>(
        "/busy", rclcpp::QoS(10),
        [&](std::shared_ptr<const std_msgs::msg::String>) { callback(); });
    for (int sent = 0; sent < kMessages; ++sent) publisher->publish(message);
  }
  std::vector<std::shared_ptr<rclcpp::TimerBase>> timers;
  for (int timer = 0; timer < kTimers && !round; ++timer) {
    timers.push_back(
        node->create_wall_timer(idle ? kNever : std::chrono::nanoseconds(0), callback));
  }
  executor.add_node(node);
  if (idle) {
    meter.count();
    meter.show();
  }
  executor.spin();
  return EXIT_SUCCESS;
}
