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

std::shared_ptr<GenericPublisher> Node::create_generic_publisher(
    const std::string &topic, const rosidl_message_type_support_t &type_support, const QoS &qos,
    std::shared_ptr<CallbackGroup> group) {
  auto publisher = std::make_shared<GenericPublisher>(node_base_.get(), topic, type_support, qos);
  node_topics_->add_publisher(publisher, group);
  return publisher;
}

std::shared_ptr<GenericSubscription> Node::create_generic_subscription(
    const std::string &topic, const rosidl_message_type_support_t &type_support, const QoS &qos,
    GenericSubscription::Function callback, std::shared_ptr<CallbackGroup> group) {
  auto subscription = std::make_shared<GenericSubscription>(node_base_.get(), type_support, topic,
                                                            qos, std::move(callback));
  node_topics_->add_subscription(subscription, group);
  write_down(*subscription, topic, qos, subscription->describe());
  return subscription;
}

void Node::write_down(SubscriptionBase &subscription, const std::string &topic, const QoS &qos,
                      const std::string &objects) const {
  using ground_truth::hex;
  const rcl_subscription_t *const handle = subscription.get_subscription_handle().get();
  ground_truth::entity("subscription\tsubscription=" + hex(handle) +
                       "\tnode=" + hex(get_rcl_node_handle()) +
                       "\trmw_subscription=" + hex(rcl_subscription_get_rmw_handle(handle)) +
                       "\ttopic=" + topic + "\tdepth=" + std::to_string(qos.depth()) + objects);
}

}  // namespace rclcpp
