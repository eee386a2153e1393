#include "rclcpp/executors/executor_entities_collector.hpp"

#ifdef STANDIN_JAZZY

#include "rclcpp/service.hpp"
#include "rclcpp/subscription.hpp"
#include "rclcpp/timer.hpp"
#include "standin/executor_truth.hpp"

namespace rclcpp::executors {
namespace {

template <typename Collection>
void erase_expired_keys(Collection &collection) {
  for (auto key = collection.begin(); key != collection.end();) {
    key = key->expired() ? collection.erase(key) : std::next(key);
  }
}

void disassociate(const CallbackGroupCollection &groups) {
  for (const WeakGroup &weak : groups) {
    if (const auto group = weak.lock()) group->get_associated_with_executor_atomic() = false;
  }
}

// Sorts the entities of one group.
struct Builder {
  ExecutorEntitiesCollection &collection;
  const WeakGroup group;

  void operator()(const std::shared_ptr<TimerBase> &timer) {
    collection.timers[timer->get_timer_handle().get()] = {timer, group};
  }
  void operator()(const std::shared_ptr<SubscriptionBase> &subscription) {
    collection.subscriptions[subscription->get_subscription_handle().get()] = {subscription, group};
  }
  void operator()(const std::shared_ptr<ServiceBase> &service) {
    collection.services[service->get_service_handle().get()] = {service, group};
  }
  void operator()(const std::shared_ptr<ClientBase> &client) {
    collection.clients[client->get_client_handle().get()] = {client, group};
  }
  void operator()(const std::shared_ptr<Waitable> &waitable) {
    collection.waitables[waitable.get()] = {waitable, group};
  }
};

}  // namespace

ExecutorEntitiesCollector::ExecutorEntitiesCollector() = default;

ExecutorEntitiesCollector::~ExecutorEntitiesCollector() {
  for (const WeakNode &weak : weak_nodes_) {
    if (const auto node = weak.lock()) node->get_associated_with_executor_atomic() = false;
  }
  disassociate(automatically_added_groups_);
  disassociate(manually_added_groups_);
  disassociate(pending_manually_added_groups_);
}

void ExecutorEntitiesCollector::add_node(std::shared_ptr<node_interfaces::NodeBaseInterface> node) {
  node->get_associated_with_executor_atomic() = true;
  const std::lock_guard lock(mutex_);
  pending_added_nodes_.insert(node);
}

// Other than in rclcpp, a group may be in several executors: nested spins have executors of their
// own.
void ExecutorEntitiesCollector::add_callback_group(std::shared_ptr<CallbackGroup> group) {
  group->get_associated_with_executor_atomic() = true;
  const std::lock_guard lock(mutex_);
  pending_manually_added_groups_.insert(group);
}

void ExecutorEntitiesCollector::update_collections() {
  const std::lock_guard lock(mutex_);
  process_queues();
  add_automatically_associated_callback_groups(weak_nodes_);
  prune_invalid_nodes_and_groups();
}

std::vector<WeakGroup> ExecutorEntitiesCollector::get_all_callback_groups() const {
  const std::lock_guard lock(mutex_);
  std::vector<WeakGroup> groups(manually_added_groups_.begin(), manually_added_groups_.end());
  groups.insert(groups.end(), automatically_added_groups_.begin(),
                automatically_added_groups_.end());
  return groups;
}

void ExecutorEntitiesCollector::add_callback_group_to_collection(
    std::shared_ptr<CallbackGroup> group, CallbackGroupCollection &collection) {
  collection.insert(group);
  weak_groups_to_guard_conditions_.insert({group, {}});
}

void ExecutorEntitiesCollector::add(const std::shared_ptr<CallbackGroup> &group,
                                    CallbackGroupCollection &collection) {
  const ground_truth::Bracket times =
      ground_truth::bracket([&] { add_callback_group_to_collection(group, collection); });
  ground_truth::group_added(nullptr, this, group.get(), name_of(group->type()), times);
}

void ExecutorEntitiesCollector::process_queues() {
  for (const WeakNode &weak : pending_added_nodes_) {
    if (weak.expired()) continue;
    weak_nodes_.insert(weak);
    add_automatically_associated_callback_groups({weak});
    weak_nodes_to_guard_conditions_.insert({weak, {}});
  }
  pending_added_nodes_.clear();
  for (const WeakGroup &weak : pending_manually_added_groups_) {
    if (const auto group = weak.lock()) add(group, manually_added_groups_);
  }
  pending_manually_added_groups_.clear();
}

void ExecutorEntitiesCollector::add_automatically_associated_callback_groups(
    const NodeCollection &nodes_to_check) {
  for (const WeakNode &weak : nodes_to_check) {
    const auto node = weak.lock();
    if (node == nullptr) continue;
    detail::for_each_unassociated_group(*node, [&](const std::shared_ptr<CallbackGroup> &group) {
      group->get_associated_with_executor_atomic() = true;
      add(group, automatically_added_groups_);
    });
  }
}

void ExecutorEntitiesCollector::prune_invalid_nodes_and_groups() {
  erase_expired_keys(weak_nodes_);
  erase_expired_keys(automatically_added_groups_);
  erase_expired_keys(manually_added_groups_);
}

ExecutorEntitiesCollection build_entities_collection(
    const std::vector<WeakGroup> &callback_groups) {
  ExecutorEntitiesCollection collection;
  for (const WeakGroup &weak : callback_groups) {
    if (const auto group = weak.lock()) group->for_each(Builder{collection, weak});
  }
  return collection;
}

}  // namespace rclcpp::executors

#endif
