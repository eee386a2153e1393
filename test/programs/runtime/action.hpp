// An action's server, which works on a thread of its own, and its client.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <example_interfaces/action/fibonacci.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <rclcpp_action/rclcpp_action.hpp>
#include <string>
#include <thread>
#include <utility>

#include "log.hpp"

namespace program {

using Fibonacci = example_interfaces::action::Fibonacci;

class ActionServer {
 public:
  using Goal = std::shared_ptr<rclcpp_action::ServerGoalHandle<Fibonacci>>;

  // `accepted` runs in a callback that rclcpp does not trace.
  template <class Node>
  void make(Node node, const std::string &name, std::function<void()> accepted, rclcpp::CallbackGroup::SharedPtr group) {
    server_ = rclcpp_action::create_server<Fibonacci>(
        node, name,
        [](const rclcpp_action::GoalUUID &, std::shared_ptr<const Fibonacci::Goal>) {
          return rclcpp_action::GoalResponse::ACCEPT_AND_EXECUTE;
        },
        [](Goal) { return rclcpp_action::CancelResponse::ACCEPT; },
        [this, accepted](Goal goal) {
          accepted();
          std::lock_guard<std::mutex> lock(mutex_);
          goals_.push_back(std::move(goal));
          changed_.notify_one();
        },
        rcl_action_server_get_default_options(), group);
    worker_ = std::thread([this] { work(); });
  }

  void end() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      over_ = true;
      changed_.notify_one();
    }
    worker_.join();
    goals_.clear();
    server_.reset();
  }

 private:
  void work() {
    for (;;) {
      Goal goal;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return over_ || !goals_.empty(); });
        if (over_) return;
        goal = std::move(goals_.front());
        goals_.pop_front();
      }
      try {
        goal->publish_feedback(std::make_shared<Fibonacci::Feedback>());
        goal->succeed(std::make_shared<Fibonacci::Result>());
      } catch (const std::exception &) {
        // The program ends.
      }
    }
  }

  rclcpp_action::Server<Fibonacci>::SharedPtr server_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Goal> goals_;
  bool over_ = false;
  std::thread worker_;
};

class ActionClient {
 public:
  // `done` runs in a callback that rclcpp does not trace.
  template <class Node>
  void make(Node node, const std::string &name, std::function<void()> done, rclcpp::CallbackGroup::SharedPtr group) {
    done_ = std::move(done);
    client_ = rclcpp_action::create_client<Fibonacci>(node, name, group);
  }

  void send() {
    if (!client_->action_server_is_ready()) return;
    rclcpp_action::Client<Fibonacci>::SendGoalOptions options;
    options.feedback_callback = [](auto, auto) {};
    options.result_callback = [this](const auto &) { done_(); };
    client_->async_send_goal(Fibonacci::Goal(), options);
  }

  void end() { client_.reset(); }

 private:
  std::function<void()> done_;
  rclcpp_action::Client<Fibonacci>::SharedPtr client_;
};

}  // namespace program
