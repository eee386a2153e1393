#include "executor_state.hpp"
#include "rclcpp/generic_subscription.hpp"
#include "rclcpp/loaned_message.hpp"
#include "standin/executor_truth.hpp"
#include "tracetools/tracetools.h"

namespace rclcpp {
namespace {

constexpr std::chrono::nanoseconds kLongestWait = std::chrono::hours(1);

// What the thread's last call of wait_for_work has done lies between these instants.
thread_local ground_truth::Bracket last_wait;

// Visits the entities of one group.
struct Collector {
  std::deque<Candidate> &ready;
  const std::shared_ptr<CallbackGroup> &group;
  const std::shared_ptr<node_interfaces::NodeBaseInterface> &node;
  std::chrono::nanoseconds &until_next_timer;

  template <typename Entity>
  void add(const Entity &entity) {
    ready.push_back({entity, group, node});
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

#ifdef STANDIN_HUMBLE
Executor::Executor(const ExecutorOptions &options)
    : interrupt_guard_condition_(options.context),
      shutdown_guard_condition_(std::make_shared<GuardCondition>(options.context)),
      state_(std::make_shared<State>()),
      context_(options.context) {}
#else
Executor::Executor(const ExecutorOptions &options)
    : interrupt_guard_condition_(std::make_shared<GuardCondition>(options.context)),
      shutdown_guard_condition_(std::make_shared<GuardCondition>(options.context)),
      context_(options.context),
      state_(std::make_unique<State>()) {}
#endif

void Executor::destroying() { state_->destroyed_after = ground_truth::now(); }

Executor::~Executor() {
  ground_truth::executor_destroyed(this, state_->destroyed_after);
#ifdef STANDIN_HUMBLE
  for (const auto &[weak, node] : weak_groups_to_nodes_) {
    if (const auto group = weak.lock()) group->get_associated_with_executor_atomic() = false;
  }
  for (const WeakNode &weak : weak_nodes_) {
    if (const auto node = weak.lock()) node->get_associated_with_executor_atomic() = false;
  }
#endif
}

void Executor::add_node(std::shared_ptr<Node> node, bool notify) {
  add_node(std::static_pointer_cast<node_interfaces::NodeBaseInterface>(node->get_node_base()),
           notify);
}

#ifdef STANDIN_HUMBLE

void Executor::add_node(std::shared_ptr<node_interfaces::NodeBaseInterface> node, bool notify) {
  node->get_associated_with_executor_atomic() = true;
  const std::lock_guard lock(mutex_);
  detail::for_each_unassociated_group(*node, [&](const std::shared_ptr<CallbackGroup> &group) {
    add_to_map(group, node, weak_groups_to_nodes_associated_with_executor_, notify);
  });
  weak_nodes_.push_back(node);
}

void Executor::add_callback_group(std::shared_ptr<CallbackGroup> group,
                                  std::shared_ptr<node_interfaces::NodeBaseInterface> node,
                                  bool notify) {
  const std::lock_guard lock(mutex_);
  add_to_map(group, node, weak_groups_associated_with_executor_to_nodes_, notify);
}

// Other than in rclcpp, a group may be in several executors: nested spins have executors of their
// own.
void Executor::add_callback_group_to_map(std::shared_ptr<CallbackGroup> group,
                                         std::shared_ptr<node_interfaces::NodeBaseInterface> node,
                                         WeakCallbackGroupsToNodesMap &weak_groups_to_nodes,
                                         bool notify) {
  group->get_associated_with_executor_atomic() = true;
  weak_groups_to_nodes.insert({group, node});
  weak_groups_to_nodes_.insert({group, node});
  if (notify) interrupt();
}

void Executor::add_to_map(const std::shared_ptr<CallbackGroup> &group,
                          const std::shared_ptr<node_interfaces::NodeBaseInterface> &node,
                          WeakCallbackGroupsToNodesMap &map, bool notify) {
  const ground_truth::Bracket times =
      ground_truth::bracket([&] { add_callback_group_to_map(group, node, map, notify); });
  ground_truth::group_added(this, nullptr, group.get(), name_of(group->type()), times);
}

void Executor::add_callback_groups_from_nodes_associated_to_executor() {
  for (const WeakNode &weak : weak_nodes_) {
    const auto node = weak.lock();
    if (node == nullptr) continue;
    detail::for_each_unassociated_group(*node, [&](const std::shared_ptr<CallbackGroup> &group) {
      add_to_map(group, node, weak_groups_to_nodes_associated_with_executor_, true);
    });
  }
  detail::erase_expired(weak_groups_associated_with_executor_to_nodes_);
  detail::erase_expired(weak_groups_to_nodes_associated_with_executor_);
  detail::erase_expired(weak_groups_to_nodes_);
}

void Executor::interrupt() { interrupt_guard_condition_.trigger(); }

#else

void Executor::add_node(std::shared_ptr<node_interfaces::NodeBaseInterface> node, bool notify) {
  collector_.add_node(node);
  trigger_entity_recollect(notify);
}

void Executor::add_callback_group(std::shared_ptr<CallbackGroup> group,
                                  std::shared_ptr<node_interfaces::NodeBaseInterface>,
                                  bool notify) {
  collector_.add_callback_group(group);
  trigger_entity_recollect(notify);
}

void Executor::trigger_entity_recollect(bool notify) {
  entities_need_rebuild_ = true;
  if (!spinning && entities_need_rebuild_.exchange(false)) {
    const std::lock_guard lock(mutex_);
    collect_entities();
  }
  if (notify) interrupt();
}

void Executor::collect_entities() {
  state_->collected_generation = detail::entities_generation();
  collector_.update_collections();
  current_collection_ = executors::build_entities_collection(collector_.get_all_callback_groups());
}

void Executor::interrupt() { interrupt_guard_condition_->trigger(); }

#endif

void Executor::cancel() {
  spinning = false;
  interrupt();
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
  const std::uint64_t before = ground_truth::now();
  wait_for_work(timeout);
  const std::uint64_t after = ground_truth::now();
  ground_truth::waited(this, timeout.count(), {before, last_wait.before}, {last_wait.after, after});
  if (!spinning) return false;
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
  last_wait.before = ground_truth::now();
  ros_trace_rclcpp_executor_wait_for_work(timeout.count());
  wait_until_ready(timeout);
  last_wait.after = ground_truth::now();
}

void Executor::wait_until_ready(std::chrono::nanoseconds timeout) {
  const std::uint64_t generation = detail::work_generation();
  const std::chrono::nanoseconds until_next_timer = collect_ready();
  if (!state_->ready.empty() || timeout == std::chrono::nanoseconds::zero()) return;
  const std::chrono::nanoseconds wait = timeout < std::chrono::nanoseconds::zero()
                                            ? until_next_timer
                                            : std::min(timeout, until_next_timer);
  detail::wait_for_notification(generation, wait);
  collect_ready();
}

std::chrono::nanoseconds Executor::collect_ready() {
  std::chrono::nanoseconds until_next_timer = kLongestWait;
  state_->ready.clear();
  const auto visit = [&](const std::shared_ptr<CallbackGroup> &group,
                         const std::shared_ptr<node_interfaces::NodeBaseInterface> &node) {
    if (group == nullptr || !group->can_be_taken_from()) return;
    group->for_each(Collector{state_->ready, group, node, until_next_timer});
  };
  const std::lock_guard lock(mutex_);
#ifdef STANDIN_HUMBLE
  if (state_->collected_generation != detail::entities_generation()) {
    state_->collected_generation = detail::entities_generation();
    add_callback_groups_from_nodes_associated_to_executor();
  }
  for (const auto &[group, weak_node] : groups_to_nodes()) {
    if (const auto node = weak_node.lock()) visit(group.lock(), node);
  }
#else
  if (entities_need_rebuild_.exchange(false) ||
      state_->collected_generation != detail::entities_generation()) {
    collect_entities();
  }
  for (const WeakGroup &group : collector_.get_all_callback_groups()) visit(group.lock(), nullptr);
#endif
  return until_next_timer;
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
#ifdef STANDIN_HUMBLE
  interrupt();
#endif
}

void Executor::execute_subscription(std::shared_ptr<SubscriptionBase> subscription) {
  MessageInfo message_info;
  if (subscription->is_serialized()) {
    std::shared_ptr<SerializedMessage> serialized = subscription->create_serialized_message();
    if (!subscription->take_serialized(*serialized, message_info)) {
      subscription->return_serialized_message(serialized);
      return;
    }
#ifdef STANDIN_HUMBLE
    const auto &generic = dynamic_cast<const GenericSubscription &>(*subscription);
    GenericExecution execution(generic.callback_address());
    subscription->handle_serialized_message(serialized, message_info);
    execution.returned(
        ground_truth::bracket([&] { subscription->return_serialized_message(serialized); }));
#else
    subscription->handle_serialized_message(serialized, message_info);
    subscription->return_serialized_message(serialized);
#endif
    return;
  }
  if (subscription->can_loan_messages()) {
    const LoanOfSubscription loan(*subscription, message_info);
    if (loan.message() != nullptr) {
      subscription->handle_loaned_message(loan.message(), message_info);
    }
    return;
  }
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

// What memory for a header holds that was used before.
static thread_local rmw_request_id_t last_request;

void Executor::execute_service(std::shared_ptr<ServiceBase> service) {
  const auto header = std::make_shared<rmw_request_id_t>();
  const std::shared_ptr<void> request = service->create_request();
  if (service->take_type_erased_request(request.get(), *header)) {
    last_request = *header;
    service->handle_request(header, request);
  }
}

void Executor::execute_client(std::shared_ptr<ClientBase> client) {
  // rclcpp does not clear the memory, which may have been that of a request of the same process.
  const auto header = std::make_shared<rmw_request_id_t>(last_request);
  const std::shared_ptr<void> response = client->create_response();
  if (client->take_type_erased_response(response.get(), *header)) {
    client->handle_response(header, response);
  }
}

}  // namespace rclcpp
