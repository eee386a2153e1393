// What stands for the wait set of an executor.
#pragma once

#include <algorithm>
#include <deque>
#include <variant>
#include <vector>

#include "rclcpp/executor.hpp"

namespace rclcpp {

// Something that the last wait found ready.
struct Candidate {
  std::variant<std::shared_ptr<TimerBase>, std::shared_ptr<SubscriptionBase>,
               std::shared_ptr<ServiceBase>, std::shared_ptr<ClientBase>, std::shared_ptr<Waitable>>
      entity;
  std::shared_ptr<CallbackGroup> group;
  std::shared_ptr<node_interfaces::NodeBaseInterface> node_base;  // null on Jazzy
};

struct Executor::State {
  // Used by one thread at a time: the one that looks for work.
  std::deque<Candidate> ready;
  // detail::entities_generation() when groups and entities were last looked for; guarded by mutex_.
  std::uint64_t collected_generation = ~std::uint64_t{0};
  void (*on_exception)() = nullptr;
  std::uint64_t destroyed_after = 0;
};

inline bool is_due(const std::shared_ptr<TimerBase> &timer) {
  return timer->time_until_trigger() <= std::chrono::nanoseconds::zero();
}

}  // namespace rclcpp
