// All that generated programs are made of. It is compiled once for each distribution.
#pragma once

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <rclcpp/rclcpp.hpp>
#include <rclcpp_lifecycle/lifecycle_node.hpp>
#include <string>
#include <thread>
#include <vector>

#if RCLCPP_VERSION_MAJOR >= 28
#include <rclcpp/experimental/executors/events_executor/events_executor.hpp>
#endif

#include "action.hpp"
#include "entities.hpp"
#include "log.hpp"
#include "messages.hpp"
#include "waitable.hpp"

namespace program {

using namespace std::chrono_literals;

// A node with a life cycle that goes through it whenever it is told.
class ManagedNode : public rclcpp_lifecycle::LifecycleNode {
 public:
  using Result = rclcpp_lifecycle::node_interfaces::LifecycleNodeInterface::CallbackReturn;
  using rclcpp_lifecycle::LifecycleNode::LifecycleNode;

  Result on_configure(const rclcpp_lifecycle::State &) override { return Result::SUCCESS; }
  Result on_activate(const rclcpp_lifecycle::State &) override { return Result::SUCCESS; }
  Result on_deactivate(const rclcpp_lifecycle::State &) override { return Result::SUCCESS; }
  Result on_cleanup(const rclcpp_lifecycle::State &) override { return Result::SUCCESS; }

  void step(int id) {
    log_doing("transition", id, 0, [&] {
      switch (step_++ % 4) {
        case 0:
          configure();
          break;
        case 1:
          activate();
          break;
        case 2:
          deactivate();
          break;
        default:
          cleanup();
      }
    });
  }

 private:
  int step_ = 0;
};

// Whether the program goes on: until it gets a signal.
inline volatile std::sig_atomic_t stopped = 0;

inline bool going() { return stopped == 0; }

inline void stop(int) { stopped = 1; }

// An executor that spins in a thread of its own.
class Spinner {
 public:
  // What callbacks throw is caught, and spinning goes on.
  template <class Executor, class Spin>
  void begin(Executor &executor, Spin spin) {
    cancel_ = [&executor] { executor.cancel(); };
    thread_ = std::thread([this, spin] {
      while (going()) {
        try {
          spin();
        } catch (const Thrown &) {
        }
      }
      over_ = true;
    });
  }

  void end() {
    // One that is about to spin would not notice that it is cancelled.
    while (!over_) {
      cancel_();
      std::this_thread::sleep_for(5ms);
    }
    thread_.join();
  }

 private:
  std::function<void()> cancel_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

// Burns so many microseconds of processor time.
inline void burn(unsigned microseconds) {
  const std::uint64_t until = now() + microseconds * 1000u;
  while (now() < until) {
  }
}

// A thread that runs no callbacks, and does something again and again.
class Worker {
 public:
  template <class Do>
  void begin(std::chrono::milliseconds period, Do act) {
    thread_ = std::thread([period, act] {
      while (going()) {
        act();
        std::this_thread::sleep_for(period);
      }
    });
  }

  void end() { thread_.join(); }

 private:
  std::thread thread_;
};

// Begins. Signals end the program in an orderly way only, while everything is still there: what is published when the context is
// over is not published.
inline void begin(int argc, char **argv) {
  rclcpp::init(argc, argv, rclcpp::InitOptions(), rclcpp::SignalHandlerOptions::None);
  std::signal(SIGINT, stop);
  std::signal(SIGTERM, stop);
}

// Says that everything is there, as soon as those that belong together should have found each other, and waits for the end.
inline void run() {
  std::this_thread::sleep_for(1s);
  std::puts("ready");
  std::fflush(stdout);
  while (going()) std::this_thread::sleep_for(5ms);
}

// Writes down what happened.
inline int end() {
  rclcpp::shutdown();
  Log::instance().write();
  return 0;
}

}  // namespace program
