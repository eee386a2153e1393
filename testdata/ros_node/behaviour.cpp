#include "behaviour.hpp"

#include <chrono>
#include <thread>

#include "standin/ground_truth.hpp"

namespace {
// One callback in so many acts at random.
constexpr unsigned kActionInterval = 8;
}  // namespace

Behaviour::Behaviour(const Options &options)
    : options_(options), generator_(options.random.value_or(0)) {}

void Behaviour::in_next_callback(std::function<void()> action) {
  once_ = std::move(action);
  once_is_due_ = true;
}

void Behaviour::inside_callback() {
  if (once_is_due_.exchange(false)) once_();
  const std::uint64_t count = ++callbacks_;
  if (options_.random) {
    if (std::function<void()> *const action = choose_action()) (*action)();
  }
  if (options_.sleep > 0) {
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(options_.sleep));
  }
  if (options_.move_every != 0 && count % options_.move_every == 0) {
    ground_truth::move_to_another_cpu();
  }
  if (options_.throw_every != 0 && count % options_.throw_every == 0) throw Interruption();
}

std::function<void()> *Behaviour::choose_action() {
  if (actions_.empty()) return nullptr;
  const std::lock_guard lock(mutex_);
  if (generator_() % kActionInterval != 0) return nullptr;
  return &actions_[generator_() % actions_.size()];
}
