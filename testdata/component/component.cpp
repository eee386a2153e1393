// A component: a node in a library of its own, with tracepoint calls of its own.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "rclcpp/node.hpp"
#include "std_msgs/msg/string.hpp"

namespace {

using std_msgs::msg::String;
constexpr std::chrono::milliseconds kPeriod{20};
constexpr std::size_t kDepth = 100;

class Component : public rclcpp::Node {
 public:
  Component(const std::string &prefix, std::shared_ptr<rclcpp::Context> context, bool intra_process)
      : Node("component", "/", std::move(context), intra_process),
        publisher_(create_publisher<String>(prefix + "/component", rclcpp::QoS(kDepth))),
        subscription_(create_subscription<String>(
            prefix + "/component", rclcpp::QoS(kDepth),
            [this](std::shared_ptr<const String> message) { check(message->data); })),
        timer_(create_wall_timer(kPeriod, [this] { publish(); })) {}

  void stop() { timer_->cancel(); }

 private:
  void publish() {
    String message;
    message.data = std::to_string(sent_++);
    publisher_->publish(message);
  }

  void check(const std::string &data) {
    const unsigned long number = std::strtoul(data.c_str(), nullptr, 10);
    if (number >= next_ && number < sent_) {
      next_ = number + 1;
      return;
    }
    std::fprintf(stderr, "component: unexpected message \"%s\"\n", data.c_str());
    std::abort();
  }

  std::shared_ptr<rclcpp::Publisher<String>> publisher_;
  std::shared_ptr<rclcpp::Subscription<String>> subscription_;
  std::shared_ptr<rclcpp::TimerBase> timer_;
  std::atomic<unsigned long> sent_{0};
  unsigned long next_ = 0;
};

}  // namespace

extern "C" std::shared_ptr<rclcpp::Node> standin_create_component(
    const std::string &prefix, std::shared_ptr<rclcpp::Context> context, bool intra_process) {
  return std::make_shared<Component>(prefix, std::move(context), intra_process);
}

extern "C" void standin_stop_component(rclcpp::Node &component) {
  dynamic_cast<Component &>(component).stop();
}
