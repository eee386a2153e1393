// The thread that reacts to signals and to the clock.
#pragma once

#include <functional>
#include <thread>
#include <vector>

class Control {
 public:
  // Blocks the signals in the calling thread and all threads it starts: to be constructed first.
  // Until ready(), SIGINT and SIGTERM only end waits (rclcpp::ok() is false afterwards).
  Control();
  ~Control();

  // `seconds` from ready() on, or at ready() itself.
  void at(double seconds, std::function<void()> action);
  void on_user_signal(std::function<void()> action) { on_user_signal_ = std::move(action); }
  // What is done before the shutdown is requested.
  void on_stop(std::function<void()> action) { on_stop_ = std::move(action); }
  // Starts the clock and handles signals from now on.
  void ready();
  // A pause that a signal ends.
  void sleep(double seconds);
  void stop_at(double seconds);

 private:
  struct Timed {
    double seconds;
    std::function<void()> action;
  };

  void run();
  void stop();

  std::vector<Timed> timed_;
  std::function<void()> on_user_signal_;
  std::function<void()> on_stop_;
  double stop_after_ = 0;
  std::thread thread_;
};
