#include "rclcpp/node.hpp"

namespace rclcpp {

Node::Node(const std::string &name, const std::string &name_space, std::shared_ptr<Context> context,
           bool use_intra_process)
    : node_base_(std::make_shared<node_interfaces::NodeBase>(name, name_space, std::move(context),
                                                             use_intra_process)),
      node_timers_(std::make_shared<node_interfaces::NodeTimers>(node_base_.get())),
      node_topics_(
          std::make_shared<node_interfaces::NodeTopics>(node_base_.get(), node_timers_.get())),
      node_services_(std::make_shared<node_interfaces::NodeServices>(node_base_.get())) {}

Node::~Node() = default;

}  // namespace rclcpp
