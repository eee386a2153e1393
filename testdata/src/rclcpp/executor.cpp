#include "rclcpp/executor.hpp"

#include <algorithm>
#include <deque>
#include <variant>
#include <vector>

#include "tracetools/tracetools.h"

namespace rclcpp {
namespace {

constexpr std::chrono::nanoseconds kLongestWait = std::chrono::hours(1);

bool is_due(const std::shared_ptr<TimerBase> &timer) {
  return timer->time_until_trigger() <= std::chrono::nanoseconds::zero();
}

// Something that the last wait found ready.
struct Candidate {
  std::variant<std::shared_ptr<TimerBase>, std::shared_ptr<SubscriptionBase>,
               std::shared_ptr<ServiceBase>, std::shared_ptr<ClientBase>, std::shared_ptr<Waitable>>
      entity;
  std::shared_ptr<CallbackGroup> group;
  std::shared_ptr<node_interfaces::NodeBaseInterface> node_base;
};

// Visits the entities of one group.
struct Collector {
  std::deque<Candidate> &ready;
  const std::shared_ptr<CallbackGroup> &group;
  const std::shared_ptr<Node> &node;
  std::chrono::nanoseconds &until_next_timer;

  template <typename Entity>
  void add(const Entity &entity) {
    ready.push_back({entity, group, node->get_node_base()});
  }
  void operator()(const std::shared_ptr<TimerBase> &timer) {
    until_next_timer = std::min(until_next_timer, timer->time_until_trigger());
    if (is_due(timer)) add(timer);
  }
  void operator()(const std::shared_ptr<SubscriptionBase> &subscription) {
    if (subscription->has_message()) add(subscription);
  }
  void operator()(const std::shared_ptr<ServiceBase> &service) {
    if (service->has_request()) add(service);
  }
  void operator()(const std::shared_ptr<ClientBase> &client) {
    if (client->has_response()) add(client);
  }
  void operator()(const std::shared_ptr<Waitable> &waitable) {
    if (waitable->is_ready()) add(waitable);
  }
};

// Puts a candidate into an AnyExecutable; false if it is not ready any more.
struct Chooser {
  AnyExecutable &chosen;

  bool operator()(const std::shared_ptr<TimerBase> &timer) {
    chosen.timer = timer;
    return is_due(timer) && timer->call();
  }
  bool operator()(const std::shared_ptr<SubscriptionBase> &subscription) {
    chosen.subscription = subscription;
    return true;
  }
  bool operator()(const std::shared_ptr<ServiceBase> &service) {
    chosen.service = service;
    return true;
  }
  bool operator()(const std::shared_ptr<ClientBase> &client) {
    chosen.client = client;
    return true;
  }
  bool operator()(const std::shared_ptr<Waitable> &waitable) {
    chosen.waitable = waitable;
    chosen.data = waitable->take_data();
    return chosen.data != nullptr;
  }
};

}  // namespace

AnyExecutable::AnyExecutable() = default;

AnyExecutable::~AnyExecutable() {
  if (callback_group == nullptr) return;
  callback_group->can_be_taken_from() = true;
  detail::notify_executors();
}

struct Executor::State {
  struct Group {
    std::weak_ptr<CallbackGroup> group;
    std::weak_ptr<Node> node;
  };
  std::vector<std::weak_ptr<Node>> nodes;
  std::vector<Group> groups;
  // Used by one thread at a time: the one that looks for work.
  std::deque<Candidate> ready;
};

Executor::Executor(const ExecutorOptions &) : state_(new State) {}

Executor::~Executor() = default;

void Executor::add_node(std::shared_ptr<Node> node) {
  const std::lock_guard lock(mutex_);
  state_->nodes.push_back(node);
  detail::notify_executors();
}

void Executor::add_callback_group(std::shared_ptr<CallbackGroup> group,
                                  std::shared_ptr<Node> node) {
  const std::lock_guard lock(mutex_);
  state_->groups.push_back({group, node});
  detail::notify_executors();
}

void Executor::cancel() {
  spinning = false;
  detail::notify_executors();
}

bool Executor::spin_once(std::chrono::nanoseconds timeout) {
  const detail::SetWhileAlive guard(spinning);
  AnyExecutable any_executable;
  if (!get_next_executable(any_executable, timeout)) return false;
  execute_any_executable(any_executable);
  return true;
}

bool Executor::get_next_executable(AnyExecutable &any_executable,
                                   std::chrono::nanoseconds timeout) {
  ros_trace_rclcpp_executor_get_next_ready();
  if (get_next_ready_executable(any_executable)) return true;
  wait_for_work(timeout);
  return get_next_ready_executable(any_executable);
}

bool Executor::get_next_ready_executable(AnyExecutable &any_executable) {
  std::deque<Candidate> &ready = state_->ready;
  for (auto candidate = ready.begin(); candidate != ready.end();) {
    CallbackGroup &group = *candidate->group;
    const bool exclusive = group.type() == CallbackGroupType::MutuallyExclusive;
    if (exclusive && !group.can_be_taken_from().exchange(false)) {
      ++candidate;
      continue;
    }
    const Candidate chosen = std::move(*candidate);
    candidate = ready.erase(candidate);
    if (std::visit(Chooser{any_executable}, chosen.entity)) {
      any_executable.callback_group = chosen.group;
      any_executable.node_base = chosen.node_base;
      return true;
    }
    any_executable.timer.reset();
    any_executable.waitable.reset();
    if (exclusive) group.can_be_taken_from() = true;
  }
  return false;
}

void Executor::wait_for_work(std::chrono::nanoseconds timeout) {
  ros_trace_rclcpp_executor_wait_for_work(timeout.count());
  const std::uint64_t generation = detail::work_generation();
  std::chrono::nanoseconds until_next_timer = kLongestWait;
  const auto collect = [&] {
    state_->ready.clear();
    const auto visit = [&](const std::shared_ptr<CallbackGroup> &group,
                           const std::shared_ptr<Node> &node) {
      if (!group->can_be_taken_from()) return;
      group->for_each(Collector{state_->ready, group, node, until_next_timer});
    };
    const std::lock_guard lock(mutex_);
    for (const std::weak_ptr<Node> &weak : state_->nodes) {
      const std::shared_ptr<Node> node = weak.lock();
      if (node == nullptr) continue;
      node->get_node_base()->for_each_callback_group(
          [&](const std::shared_ptr<CallbackGroup> &group) {
            if (group->automatically_add_to_executor_with_node()) visit(group, node);
          });
    }
    for (const State::Group &entry : state_->groups) {
      const std::shared_ptr<CallbackGroup> group = entry.group.lock();
      const std::shared_ptr<Node> node = entry.node.lock();
      if (group != nullptr && node != nullptr) visit(group, node);
    }
  };
  collect();
  if (!state_->ready.empty() || timeout == std::chrono::nanoseconds::zero()) return;
  const std::chrono::nanoseconds wait = timeout < std::chrono::nanoseconds::zero()
                                            ? until_next_timer
                                            : std::min(timeout, until_next_timer);
  detail::wait_for_notification(generation, wait);
  collect();
}

void Executor::execute_any_executable(AnyExecutable &any_executable) {
  if (!spinning) return;
  if (any_executable.timer) {
    ros_trace_rclcpp_executor_execute(any_executable.timer->get_timer_handle().get());
#ifdef STANDIN_HUMBLE
    execute_timer(any_executable.timer);
#else
    execute_timer(any_executable.timer, any_executable.data);
#endif
  }
  if (any_executable.subscription) {
    ros_trace_rclcpp_executor_execute(any_executable.subscription->get_subscription_handle().get());
    execute_subscription(any_executable.subscription);
  }
  if (any_executable.service) execute_service(any_executable.service);
  if (any_executable.client) execute_client(any_executable.client);
  if (any_executable.waitable) {
    const std::shared_ptr<void> data = any_executable.data;
    any_executable.waitable->execute(data);
  }
  any_executable.callback_group->can_be_taken_from() = true;
}

void Executor::execute_subscription(std::shared_ptr<SubscriptionBase> subscription) {
  MessageInfo message_info;
  std::shared_ptr<void> message = subscription->create_message();
  if (subscription->take_type_erased(message.get(), message_info)) {
    subscription->handle_message(message, message_info);
  }
}

#ifdef STANDIN_HUMBLE
void Executor::execute_timer(std::shared_ptr<TimerBase> timer) { timer->execute_callback(); }
#else
void Executor::execute_timer(std::shared_ptr<TimerBase> timer, const std::shared_ptr<void> &) {
  timer->execute_callback();
}
#endif

void Executor::execute_service(std::shared_ptr<ServiceBase> service) {
  const auto header = std::make_shared<rmw_request_id_t>();
  const std::shared_ptr<void> request = service->create_request();
  if (service->take_type_erased_request(request.get(), *header)) {
    service->handle_request(header, request);
  }
}

void Executor::execute_client(std::shared_ptr<ClientBase> client) {
  const auto header = std::make_shared<rmw_request_id_t>();
  const std::shared_ptr<void> response = client->create_response();
  if (client->take_type_erased_response(response.get(), *header)) {
    client->handle_response(header, response);
  }
}

}  // namespace rclcpp
