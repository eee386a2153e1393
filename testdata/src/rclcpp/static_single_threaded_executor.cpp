#include "executor_state.hpp"
#include "standin/executor_truth.hpp"

namespace rclcpp::executors {
namespace {

constexpr std::chrono::nanoseconds kForever{-1};
#ifdef STANDIN_HUMBLE
// Humble executes all that one wait found, Jazzy one thing.
constexpr bool kOneAtATime = false;
#else
constexpr bool kOneAtATime = true;
#endif

}  // namespace

StaticSingleThreadedExecutor::StaticSingleThreadedExecutor(const ExecutorOptions &options)
    : Executor(options) {
#ifdef STANDIN_HUMBLE
  entities_collector_ = std::make_shared<StaticExecutorEntitiesCollector>();
  const void *const collector = entities_collector_.get();
#else
  const void *const collector = &collector_;
#endif
  ground_truth::executor_constructed(this, "static_single_threaded_executor", collector,
                                     options.created);
}

StaticSingleThreadedExecutor::~StaticSingleThreadedExecutor() { destroying(); }

#ifdef STANDIN_HUMBLE

void StaticSingleThreadedExecutor::add_node(
    std::shared_ptr<node_interfaces::NodeBaseInterface> node, bool notify) {
  const std::lock_guard lock(mutex_);
  if (entities_collector_->add_node(node) && notify) interrupt();
}

void StaticSingleThreadedExecutor::add_callback_group(
    std::shared_ptr<CallbackGroup> group, std::shared_ptr<node_interfaces::NodeBaseInterface> node,
    bool notify) {
  const std::lock_guard lock(mutex_);
  if (entities_collector_->add_callback_group(group, node) && notify) interrupt();
}

void StaticSingleThreadedExecutor::add_callback_groups_from_nodes_associated_to_executor() {
  entities_collector_->add_callback_groups_from_nodes_associated_to_executor();
}

WeakCallbackGroupsToNodesMap StaticSingleThreadedExecutor::groups_to_nodes() const {
  WeakCallbackGroupsToNodesMap all = entities_collector_->manually_added();
  all.insert(entities_collector_->automatically_added().begin(),
             entities_collector_->automatically_added().end());
  return all;
}

#endif

void StaticSingleThreadedExecutor::spin() {
  const detail::SetWhileAlive guard(spinning);
  while (ok() && spinning) {
    wait_until_ready(kForever);
    execute_ready_executables();
  }
}

void StaticSingleThreadedExecutor::execute_ready_executables() {
  bool executed = false;
  const auto for_each = [&]<typename Entity>(const Entity *, auto &&execute) {
    for (Candidate &candidate : state_->ready) {
      if (executed && kOneAtATime) return;
      auto *const entity = std::get_if<std::shared_ptr<Entity>>(&candidate.entity);
      if (entity != nullptr && execute(*entity)) executed = true;
    }
  };
  const auto subscriptions = [&] {
    for_each(static_cast<const SubscriptionBase *>(nullptr),
             [](std::shared_ptr<SubscriptionBase> &subscription) {
               execute_subscription(subscription);
               return true;
             });
  };
  const auto timers = [&] {
    for_each(static_cast<const TimerBase *>(nullptr), [](std::shared_ptr<TimerBase> &timer) {
      if (!is_due(timer) || !timer->call()) return false;
#ifdef STANDIN_HUMBLE
      execute_timer(timer);
#else
      execute_timer(timer, nullptr);
#endif
      return true;
    });
  };
  const auto services = [&] {
    for_each(static_cast<const ServiceBase *>(nullptr), [](std::shared_ptr<ServiceBase> &service) {
      execute_service(service);
      return true;
    });
  };
  const auto clients = [&] {
    for_each(static_cast<const ClientBase *>(nullptr), [](std::shared_ptr<ClientBase> &client) {
      execute_client(client);
      return true;
    });
  };
  const auto waitables = [&] {
    for_each(static_cast<const Waitable *>(nullptr), [](std::shared_ptr<Waitable> &waitable) {
      if (!waitable->is_ready()) return false;
      const std::shared_ptr<void> data = waitable->take_data();
      waitable->execute(data);
      return true;
    });
  };
  subscriptions();
  timers();
#ifdef STANDIN_HUMBLE
  services();
  clients();
#else
  clients();
  services();
#endif
  waitables();
}

}  // namespace rclcpp::executors
