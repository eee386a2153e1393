// NodeBase, NodeTimers and NodeTopics.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "rclcpp/callback_group.hpp"
#include "rclcpp/context.hpp"

namespace rclcpp {

class PublisherBase;

namespace node_interfaces {

class NodeBaseInterface {
 public:
  virtual ~NodeBaseInterface() = default;
  virtual rcl_node_t *get_rcl_node_handle() = 0;
  virtual std::shared_ptr<rcl_node_t> get_shared_rcl_node_handle() = 0;
  virtual std::shared_ptr<Context> get_context() = 0;
  virtual std::shared_ptr<CallbackGroup> get_default_callback_group() = 0;
  virtual std::atomic_bool &get_associated_with_executor_atomic() = 0;
  virtual bool get_use_intra_process_default() const = 0;
  virtual void for_each_callback_group(
      const std::function<void(std::shared_ptr<CallbackGroup>)> &visit) = 0;
};

class NodeBase : public NodeBaseInterface, public std::enable_shared_from_this<NodeBase> {
 public:
  NodeBase(const std::string &name, const std::string &name_space, std::shared_ptr<Context> context,
           bool use_intra_process);
  ~NodeBase() override;

  rcl_node_t *get_rcl_node_handle() override;
  std::shared_ptr<rcl_node_t> get_shared_rcl_node_handle() override { return node_handle_; }
  std::shared_ptr<Context> get_context() override { return context_; }
  std::shared_ptr<CallbackGroup> get_default_callback_group() override {
    return default_callback_group_;
  }
  std::atomic_bool &get_associated_with_executor_atomic() override {
    return associated_with_executor_;
  }
  bool get_use_intra_process_default() const override { return use_intra_process_default_; }
  void for_each_callback_group(
      const std::function<void(std::shared_ptr<CallbackGroup>)> &visit) override;

  std::shared_ptr<CallbackGroup> create_callback_group(CallbackGroupType type,
                                                       bool automatically_add_to_executor);

 private:
  friend struct ::LayoutCheck;

  std::shared_ptr<Context> context_;
  bool use_intra_process_default_;
  bool enable_topic_statistics_default_ = false;
  std::shared_ptr<rcl_node_t> node_handle_;
  std::shared_ptr<CallbackGroup> default_callback_group_;
  std::mutex callback_groups_mutex_;
  std::vector<std::weak_ptr<CallbackGroup>> callback_groups_;
  std::atomic_bool associated_with_executor_{false};
  std::recursive_mutex notify_guard_condition_mutex_;
#ifdef STANDIN_HUMBLE
  GuardCondition notify_guard_condition_;
#else
  std::shared_ptr<GuardCondition> notify_guard_condition_;
#endif
  bool notify_guard_condition_is_valid_ = true;
};

class NodeTimers {
 public:
  explicit NodeTimers(NodeBaseInterface *node_base);
  virtual ~NodeTimers();
  void add_timer(std::shared_ptr<TimerBase> timer, std::shared_ptr<CallbackGroup> group);

 private:
  friend struct ::LayoutCheck;
  NodeBaseInterface *node_base_;
};

class NodeTopics {
 public:
  NodeTopics(NodeBaseInterface *node_base, NodeTimers *node_timers);
  virtual ~NodeTopics();
  void add_publisher(std::shared_ptr<PublisherBase> publisher,
                     std::shared_ptr<CallbackGroup> group);
  void add_subscription(std::shared_ptr<SubscriptionBase> subscription,
                        std::shared_ptr<CallbackGroup> group);

 private:
  friend struct ::LayoutCheck;
  NodeBaseInterface *node_base_;
  NodeTimers *node_timers_;
};

class NodeServices {
 public:
  explicit NodeServices(NodeBaseInterface *node_base);
  virtual ~NodeServices();
  void add_service(std::shared_ptr<ServiceBase> service, std::shared_ptr<CallbackGroup> group);
  void add_client(std::shared_ptr<ClientBase> client, std::shared_ptr<CallbackGroup> group);

 private:
  friend struct ::LayoutCheck;
  NodeBaseInterface *node_base_;
};

}  // namespace node_interfaces
}  // namespace rclcpp
