#include "rclcpp/executors/static_executor_entities_collector.hpp"

#ifdef STANDIN_HUMBLE

#include <algorithm>

#include "standin/executor_truth.hpp"

namespace rclcpp::executors {

using node_interfaces::NodeBaseInterface;

StaticExecutorEntitiesCollector::StaticExecutorEntitiesCollector() = default;

StaticExecutorEntitiesCollector::~StaticExecutorEntitiesCollector() {
  for (const auto *const map : {&weak_groups_associated_with_executor_to_nodes_,
                                &weak_groups_to_nodes_associated_with_executor_}) {
    for (const auto &[weak, node] : *map) {
      if (const auto group = weak.lock()) group->get_associated_with_executor_atomic() = false;
    }
  }
  for (const WeakNode &weak : weak_nodes_) {
    if (const auto node = weak.lock()) node->get_associated_with_executor_atomic() = false;
  }
}

bool StaticExecutorEntitiesCollector::add_node(std::shared_ptr<NodeBaseInterface> node) {
  node->get_associated_with_executor_atomic() = true;
  bool is_new_node = false;
  detail::for_each_unassociated_group(*node, [&](const std::shared_ptr<CallbackGroup> &group) {
    is_new_node = add(group, node, weak_groups_to_nodes_associated_with_executor_) || is_new_node;
  });
  weak_nodes_.push_back(node);
  return is_new_node;
}

bool StaticExecutorEntitiesCollector::add_callback_group(std::shared_ptr<CallbackGroup> group,
                                                         std::shared_ptr<NodeBaseInterface> node) {
  return add(group, node, weak_groups_associated_with_executor_to_nodes_);
}

bool StaticExecutorEntitiesCollector::add_callback_group(
    std::shared_ptr<CallbackGroup> group, std::shared_ptr<NodeBaseInterface> node,
    WeakCallbackGroupsToNodesMap &weak_groups_to_nodes) {
  group->get_associated_with_executor_atomic() = true;
  const bool is_new_node = !has_node(node);
  weak_groups_to_nodes.insert({group, node});
  if (!is_new_node) return false;
  const std::lock_guard lock(new_nodes_mutex_);
  new_nodes_.push_back(node);
  return true;
}

bool StaticExecutorEntitiesCollector::add(const std::shared_ptr<CallbackGroup> &group,
                                          const std::shared_ptr<NodeBaseInterface> &node,
                                          WeakCallbackGroupsToNodesMap &map) {
  bool is_new_node = false;
  const ground_truth::Bracket times =
      ground_truth::bracket([&] { is_new_node = add_callback_group(group, node, map); });
  ground_truth::group_added(nullptr, this, group.get(), name_of(group->type()), times);
  return is_new_node;
}

bool StaticExecutorEntitiesCollector::has_node(
    const std::shared_ptr<NodeBaseInterface> &node) const {
  const auto is_node = [&](const auto &entry) { return entry.second.lock() == node; };
  return std::ranges::any_of(weak_groups_associated_with_executor_to_nodes_, is_node) ||
         std::ranges::any_of(weak_groups_to_nodes_associated_with_executor_, is_node);
}

void StaticExecutorEntitiesCollector::add_callback_groups_from_nodes_associated_to_executor() {
  for (const WeakNode &weak : weak_nodes_) {
    const auto node = weak.lock();
    if (node == nullptr) continue;
    detail::for_each_unassociated_group(*node, [&](const std::shared_ptr<CallbackGroup> &group) {
      add(group, node, weak_groups_to_nodes_associated_with_executor_);
    });
  }
}

}  // namespace rclcpp::executors

#endif
