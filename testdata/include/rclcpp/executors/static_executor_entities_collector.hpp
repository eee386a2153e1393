// Humble: the callback groups of a StaticSingleThreadedExecutor.
#pragma once

#ifdef STANDIN_HUMBLE

#include <list>
#include <mutex>

#include "rclcpp/executors/weak_collections.hpp"

namespace rclcpp::executors {

class StaticExecutorEntitiesCollector final
    : public Waitable,
      public std::enable_shared_from_this<StaticExecutorEntitiesCollector> {
 public:
  StaticExecutorEntitiesCollector();
  ~StaticExecutorEntitiesCollector() override;

  bool is_ready() const override { return false; }
  std::shared_ptr<void> take_data() override { return nullptr; }
  void execute(const std::shared_ptr<void> &) override {}

  // The results say whether the node is new here.
  bool add_node(std::shared_ptr<node_interfaces::NodeBaseInterface> node);
  bool add_callback_group(std::shared_ptr<CallbackGroup> group,
                          std::shared_ptr<node_interfaces::NodeBaseInterface> node);
  bool add_callback_group(std::shared_ptr<CallbackGroup> group,
                          std::shared_ptr<node_interfaces::NodeBaseInterface> node,
                          WeakCallbackGroupsToNodesMap &weak_groups_to_nodes);
  void add_callback_groups_from_nodes_associated_to_executor();

  const WeakCallbackGroupsToNodesMap &manually_added() const {
    return weak_groups_associated_with_executor_to_nodes_;
  }
  const WeakCallbackGroupsToNodesMap &automatically_added() const {
    return weak_groups_to_nodes_associated_with_executor_;
  }

 private:
  friend struct ::LayoutCheck;

  // add_callback_group with its place in the ground truth.
  bool add(const std::shared_ptr<CallbackGroup> &group,
           const std::shared_ptr<node_interfaces::NodeBaseInterface> &node,
           WeakCallbackGroupsToNodesMap &map);
  bool has_node(const std::shared_ptr<node_interfaces::NodeBaseInterface> &node) const;

  std::shared_ptr<void> memory_strategy_;
  WeakCallbackGroupsToNodesMap weak_groups_associated_with_executor_to_nodes_;
  WeakCallbackGroupsToNodesMap weak_groups_to_nodes_associated_with_executor_;
  std::map<WeakNode, const GuardCondition *, std::owner_less<WeakNode>>
      weak_nodes_to_guard_conditions_;
  std::list<WeakNode> weak_nodes_;
  std::mutex new_nodes_mutex_;
  std::vector<WeakNode> new_nodes_;
  void *p_wait_set_ = nullptr;
  std::byte exec_list_[160]{};
  bool initialized_ = false;
};

}  // namespace rclcpp::executors

#endif
