#include "demo.hpp"

#include <chrono>
#include <cstdio>
#include <functional>

#include "std_msgs/msg/string.hpp"

namespace {

using std_msgs::msg::String;
constexpr char kTopic[] = "/chatter";
constexpr std::chrono::milliseconds kPeriod{100};

class Talker : public rclcpp::Node {
 public:
  explicit Talker(std::shared_ptr<rclcpp::Context> context)
      : Node("talker", "/", std::move(context), false),
        publisher_(create_publisher<String>(kTopic, rclcpp::QoS(10))),
        timer_(create_wall_timer(kPeriod, std::bind(&Talker::talk, this))) {}

 private:
  void talk() {
    String message;
    message.data = "Hello World: " + std::to_string(++count_);
    std::printf("Publishing: '%s'\n", message.data.c_str());
    publisher_->publish(message);
  }

  std::shared_ptr<rclcpp::Publisher<String>> publisher_;
  std::shared_ptr<rclcpp::TimerBase> timer_;
  unsigned count_ = 0;
};

class Listener : public rclcpp::Node {
 public:
  explicit Listener(std::shared_ptr<rclcpp::Context> context)
      : Node("listener", "/", std::move(context), false),
        subscription_(create_subscription<String>(
            kTopic, rclcpp::QoS(10), std::bind(&Listener::hear, this, std::placeholders::_1))) {}

 private:
  void hear(const String &message) { std::printf("I heard: '%s'\n", message.data.c_str()); }

  std::shared_ptr<rclcpp::Subscription<String>> subscription_;
};

}  // namespace

std::shared_ptr<rclcpp::Node> make_demo_node(const Options &options,
                                             std::shared_ptr<rclcpp::Context> context) {
  if (options.demo == Demo::talker) return std::make_shared<Talker>(std::move(context));
  return std::make_shared<Listener>(std::move(context));
}
