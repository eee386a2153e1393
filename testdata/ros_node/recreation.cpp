#include "recreation.hpp"

#include <thread>

#include "example_interfaces/srv/add_two_ints.hpp"
#include "sample_node.hpp"

using example_interfaces::srv::AddTwoInts;

namespace {
constexpr const char *kServices[] = {"/standin/recreated", "/standin/made_again"};
constexpr const char *kNodes[] = {"recreated", "made_again"};
// How many messages are sent in the first half of a cycle, when everything exists.
constexpr int kMessages = 5;
}  // namespace

Recreation::Recreation(const Options &options, std::shared_ptr<rclcpp::Context> context,
                       rclcpp::Executor &executor)
    : options_(options),
      context_(std::move(context)),
      executor_(executor),
      topics_{options.prefix + "/recreated", options.prefix + "/made_again"},
      receivers_{Receiver(topics_[0], Receiver::Loss::allowed, false),
                 Receiver(topics_[1], Receiver::Loss::allowed, false)} {}

void Recreation::run() {
  const std::chrono::nanoseconds rest = period_of(options_.recreate_rate) / 2;
  for (int turn = 0; rclcpp::ok(); turn = 1 - turn) {
    cycle(turn);
    std::this_thread::sleep_for(rest);
  }
}

void Recreation::cycle(int turn) {
  const std::chrono::nanoseconds lifetime = period_of(options_.recreate_rate) / 2;
  const auto node = std::make_shared<rclcpp::Node>(kNodes[turn], options_.name_space, context_,
                                                   options_.intra_process);
  const auto subscription = node->create_subscription<Sample>(
      topics_[turn], rclcpp::QoS(options_.depth),
      [&receiver = receivers_[turn]](const Sample &message) { receiver.receive(message); });
  const auto sender = std::make_shared<Sender>(*node, topics_[turn], options_);
  const auto timer = node->create_wall_timer(lifetime / kMessages, [sender] { sender->send(); });
  const auto service = node->create_service<AddTwoInts>(
      kServices[turn], [](std::shared_ptr<AddTwoInts::Request> request,
                          std::shared_ptr<AddTwoInts::Response> response) {
        response->sum = request->a + request->b;
      });
  const auto client = node->create_client<AddTwoInts>(kServices[turn]);
  executor_.add_node(node);
  client->async_send_request({1, 2},
                             [](const AddTwoInts::Request &, const AddTwoInts::Response &) {});
  std::this_thread::sleep_for(lifetime);
}
