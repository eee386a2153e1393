// What callbacks do besides their own work: sleep, move, throw, and with --random anything else.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <random>
#include <vector>

#include "options.hpp"

// Thrown out of callbacks on purpose.
class Interruption : public std::exception {
 public:
  const char *what() const noexcept override { return "interruption"; }
};

class Behaviour {
 public:
  explicit Behaviour(const Options &options);

  // Something that a callback may do at random.
  void add_action(std::function<void()> action) { actions_.push_back(std::move(action)); }

  // Something that the next callback does, once.
  void in_next_callback(std::function<void()> action);
  // To be called by every callback after its own work. May throw Interruption.
  void inside_callback();

 private:
  // Indexes into actions_, most often none.
  std::function<void()> *choose_action();

  const Options &options_;
  std::atomic<std::uint64_t> callbacks_{0};
  std::mutex mutex_;
  std::mt19937_64 generator_;
  std::vector<std::function<void()>> actions_;
  std::function<void()> once_;
  std::atomic<bool> once_is_due_{false};
};
