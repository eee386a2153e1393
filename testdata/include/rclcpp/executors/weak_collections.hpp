// What executors remember of nodes and callback groups.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "rclcpp/callback_group.hpp"
#include "rclcpp/node_interfaces.hpp"

namespace rclcpp {

using WeakGroup = std::weak_ptr<CallbackGroup>;
using WeakNode = std::weak_ptr<node_interfaces::NodeBaseInterface>;
using WeakCallbackGroupsToNodesMap = std::map<WeakGroup, WeakNode, std::owner_less<WeakGroup>>;
using CallbackGroupCollection = std::set<WeakGroup, std::owner_less<WeakGroup>>;
using NodeCollection = std::set<WeakNode, std::owner_less<WeakNode>>;

namespace detail {

// Visits the groups of a node that belong to no executor yet and come with their node.
template <typename Visitor>
void for_each_unassociated_group(node_interfaces::NodeBaseInterface &node, Visitor &&visit) {
  node.for_each_callback_group([&](std::shared_ptr<CallbackGroup> group) {
    if (group->automatically_add_to_executor_with_node() &&
        !group->get_associated_with_executor_atomic()) {
      visit(group);
    }
  });
}

template <typename Map>
void erase_expired(Map &map) {
  for (auto entry = map.begin(); entry != map.end();) {
    entry = entry->first.expired() || entry->second.expired() ? map.erase(entry) : std::next(entry);
  }
}

}  // namespace detail
}  // namespace rclcpp
