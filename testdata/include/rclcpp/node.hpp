#pragma once

#include <memory>
#include <string>

#include "rclcpp/generic_publisher.hpp"
#include "rclcpp/generic_subscription.hpp"
#include "rclcpp/publisher.hpp"
#include "rclcpp/service.hpp"
#include "rclcpp/subscription.hpp"
#include "rclcpp/timer.hpp"

namespace rclcpp {

class Node : public std::enable_shared_from_this<Node> {
 public:
  Node(const std::string &name, const std::string &name_space, std::shared_ptr<Context> context,
       bool use_intra_process);
  virtual ~Node();

  std::shared_ptr<node_interfaces::NodeBase> get_node_base() const { return node_base_; }
  const rcl_node_t *get_rcl_node_handle() const { return node_base_->get_rcl_node_handle(); }

  // Executors find the group through the node unless told otherwise.
  std::shared_ptr<CallbackGroup> create_callback_group(CallbackGroupType type,
                                                       bool automatically_add_to_executor = true) {
    return node_base_->create_callback_group(type, automatically_add_to_executor);
  }

  // In the following, no group means the node's default group. Topic and service names are
  // absolute.
  template <typename MessageT>
  std::shared_ptr<Publisher<MessageT>> create_publisher(
      const std::string &topic, const QoS &qos, std::shared_ptr<CallbackGroup> group = nullptr) {
    auto publisher = std::make_shared<Publisher<MessageT>>(node_base_.get(), topic, qos);
    if (node_base_->get_use_intra_process_default()) {
      publisher->setup_intra_process(node_base_->get_context()->get_intra_process_manager());
    }
    node_topics_->add_publisher(publisher, group);
    return publisher;
  }

  template <typename MessageT, typename CallbackT>
  std::shared_ptr<Subscription<MessageT>> create_subscription(
      const std::string &topic, const QoS &qos, CallbackT callback,
      std::shared_ptr<CallbackGroup> group = nullptr) {
    auto subscription = std::make_shared<Subscription<MessageT>>(
        node_base_.get(), topic, qos, AnySubscriptionCallback<MessageT>(std::move(callback)));
    node_topics_->add_subscription(subscription, group);
    write_down(*subscription, topic, qos, subscription->describe());
    return subscription;
  }

  std::shared_ptr<GenericPublisher> create_generic_publisher(
      const std::string &topic, const rosidl_message_type_support_t &type_support, const QoS &qos,
      std::shared_ptr<CallbackGroup> group = nullptr);

  std::shared_ptr<GenericSubscription> create_generic_subscription(
      const std::string &topic, const rosidl_message_type_support_t &type_support, const QoS &qos,
      GenericSubscription::Function callback, std::shared_ptr<CallbackGroup> group = nullptr);

  template <typename CallbackT>
  std::shared_ptr<WallTimer<CallbackT>> create_wall_timer(
      std::chrono::nanoseconds period, CallbackT callback,
      std::shared_ptr<CallbackGroup> group = nullptr) {
    return add_timer(std::make_shared<WallTimer<CallbackT>>(period, std::move(callback),
                                                            node_base_->get_context()),
                     period, std::move(group));
  }

  // As rclcpp::create_timer: a function that is no temporary is kept as a reference.
  template <typename CallbackT>
  std::shared_ptr<GenericTimer<CallbackT>> create_timer(
      std::chrono::nanoseconds period, CallbackT &&callback,
      std::shared_ptr<CallbackGroup> group = nullptr) {
    return add_timer(std::make_shared<GenericTimer<CallbackT>>(
                         period, std::forward<CallbackT>(callback), node_base_->get_context()),
                     period, std::move(group));
  }

  // A timer of any class.
  template <typename TimerT>
  std::shared_ptr<TimerT> add_timer(std::shared_ptr<TimerT> timer, std::chrono::nanoseconds period,
                                    std::shared_ptr<CallbackGroup> group = nullptr) {
    node_timers_->add_timer(timer, group);
    ground_truth::entity("timer\ttimer=" + ground_truth::hex(timer->get_timer_handle().get()) +
                         "\tnode=" + ground_truth::hex(get_rcl_node_handle()) +
                         "\tperiod=" + std::to_string(period.count()) +
                         "\tcallback=" + ground_truth::hex(timer->callback_address()));
    return timer;
  }

  template <typename ServiceT, typename CallbackT>
  std::shared_ptr<Service<ServiceT>> create_service(
      const std::string &name, CallbackT callback, std::shared_ptr<CallbackGroup> group = nullptr) {
    auto service = std::make_shared<Service<ServiceT>>(
        node_base_.get(), name, AnyServiceCallback<ServiceT>(std::move(callback)));
    node_services_->add_service(service, group);
    ground_truth::entity(
        "service\tservice=" + ground_truth::hex(service->get_service_handle().get()) +
        "\tnode=" + ground_truth::hex(get_rcl_node_handle()) + "\tname=" + name +
        "\tcallback=" + ground_truth::hex(service->callback_address()));
    return service;
  }

  template <typename ServiceT>
  std::shared_ptr<Client<ServiceT>> create_client(const std::string &name,
                                                  std::shared_ptr<CallbackGroup> group = nullptr) {
    auto client = std::make_shared<Client<ServiceT>>(node_base_.get(), name);
    node_services_->add_client(client, group);
    ground_truth::entity("client\tclient=" + ground_truth::hex(client->get_client_handle().get()) +
                         "\tnode=" + ground_truth::hex(get_rcl_node_handle()) + "\tname=" + name);
    return client;
  }

 private:
  friend struct ::LayoutCheck;

  void write_down(SubscriptionBase &subscription, const std::string &topic, const QoS &qos,
                  const std::string &objects) const;

  std::shared_ptr<node_interfaces::NodeBase> node_base_;
  std::shared_ptr<void> node_graph_;
  std::shared_ptr<void> node_logging_;
  std::shared_ptr<node_interfaces::NodeTimers> node_timers_;
  std::shared_ptr<node_interfaces::NodeTopics> node_topics_;
  std::shared_ptr<node_interfaces::NodeServices> node_services_;
#ifdef STANDIN_HUMBLE
  std::byte others_[776]{};
#else
  std::byte others_[880]{};
#endif
};

}  // namespace rclcpp
