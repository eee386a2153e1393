// Jazzy: the callback groups of an executor, and the entities in them.
#pragma once

#ifdef STANDIN_JAZZY

#include <mutex>
#include <unordered_map>

#include "rclcpp/executors/weak_collections.hpp"

namespace rclcpp::executors {

class ExecutorEntitiesCollector {
 public:
  ExecutorEntitiesCollector();
  ~ExecutorEntitiesCollector();

  void add_node(std::shared_ptr<node_interfaces::NodeBaseInterface> node);
  void add_callback_group(std::shared_ptr<CallbackGroup> group);
  // Takes over what was added since the last call.
  void update_collections();
  std::vector<WeakGroup> get_all_callback_groups() const;

 protected:
  friend struct ::LayoutCheck;

  void add_callback_group_to_collection(std::shared_ptr<CallbackGroup> group,
                                        CallbackGroupCollection &collection);
  void process_queues();
  void add_automatically_associated_callback_groups(const NodeCollection &nodes_to_check);
  void prune_invalid_nodes_and_groups();
  // add_callback_group_to_collection with its place in the ground truth.
  void add(const std::shared_ptr<CallbackGroup> &group, CallbackGroupCollection &collection);

  mutable std::mutex mutex_;
  CallbackGroupCollection manually_added_groups_;
  CallbackGroupCollection automatically_added_groups_;
  NodeCollection weak_nodes_;
  std::map<WeakNode, std::weak_ptr<GuardCondition>, std::owner_less<WeakNode>>
      weak_nodes_to_guard_conditions_;
  std::map<WeakGroup, std::weak_ptr<GuardCondition>, std::owner_less<WeakGroup>>
      weak_groups_to_guard_conditions_;
  NodeCollection pending_added_nodes_;
  NodeCollection pending_removed_nodes_;
  CallbackGroupCollection pending_manually_added_groups_;
  CallbackGroupCollection pending_manually_removed_groups_;
  std::shared_ptr<void> notify_waitable_;
};

template <typename Entity>
struct CollectionEntry {
  std::weak_ptr<Entity> entity;
  WeakGroup callback_group;
};

template <typename Key, typename Entity>
using EntityCollection = std::unordered_map<const Key *, CollectionEntry<Entity>>;

struct ExecutorEntitiesCollection {
  EntityCollection<rcl_timer_t, TimerBase> timers;
  EntityCollection<rcl_subscription_t, SubscriptionBase> subscriptions;
  EntityCollection<rcl_client_t, ClientBase> clients;
  EntityCollection<rcl_service_t, ServiceBase> services;
  EntityCollection<rcl_guard_condition_t, GuardCondition> guard_conditions;
  EntityCollection<Waitable, Waitable> waitables;
};

// What is in the groups now.
ExecutorEntitiesCollection build_entities_collection(const std::vector<WeakGroup> &callback_groups);

}  // namespace rclcpp::executors

#endif
