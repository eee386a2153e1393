#include "control.hpp"

#include <signal.h>

#include <algorithm>
#include <chrono>

#include "rclcpp/context.hpp"

namespace {

using Clock = std::chrono::steady_clock;
// How long a wait for a signal lasts when nothing else is due.
constexpr double kForever = 3600;

sigset_t handled_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) sigaddset(&signals, signal);
  return signals;
}

// The signal that came, or a negative number after the time.
int wait_for_signal(double seconds) {
  const sigset_t signals = handled_signals();
  const auto whole = static_cast<time_t>(seconds);
  const timespec timeout{whole, static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)};
  return sigtimedwait(&signals, nullptr, &timeout);
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

Control::Control() {
  const sigset_t signals = handled_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

Control::~Control() {
  if (!thread_.joinable()) return;
  pthread_kill(thread_.native_handle(), SIGTERM);
  thread_.join();
}

void Control::at(double seconds, std::function<void()> action) {
  timed_.push_back({seconds, std::move(action)});
}

void Control::stop_at(double seconds) { stop_after_ = seconds; }

void Control::sleep(double seconds) {
  const Clock::time_point start = Clock::now();
  while (rclcpp::ok() && seconds_since(start) < seconds) {
    const int signal = wait_for_signal(seconds - seconds_since(start));
    if (signal == SIGINT || signal == SIGTERM) rclcpp::request_shutdown();
    if (signal == SIGUSR1) return;
  }
}

void Control::ready() {
  thread_ = std::thread([this] { run(); });
}

void Control::run() {
  const Clock::time_point start = Clock::now();
  if (stop_after_ != 0) timed_.push_back({stop_after_, [this] { stop(); }});
  std::sort(timed_.begin(), timed_.end(),
            [](const Timed &a, const Timed &b) { return a.seconds < b.seconds; });
  auto next = timed_.begin();
  while (rclcpp::ok()) {
    const double left = next == timed_.end() ? kForever : next->seconds - seconds_since(start);
    if (left <= 0) {
      (next++)->action();
      continue;
    }
    const int signal = wait_for_signal(left);
    if (signal == SIGUSR1 && on_user_signal_) on_user_signal_();
    if (signal == SIGINT || signal == SIGTERM) stop();
  }
}

void Control::stop() {
  if (on_stop_) on_stop_();
  rclcpp::request_shutdown();
}
