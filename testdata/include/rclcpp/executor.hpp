#pragma once

#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <mutex>

#include "rclcpp/executors/executor_entities_collector.hpp"
#include "rclcpp/executors/static_executor_entities_collector.hpp"
#include "rclcpp/node.hpp"

namespace rclcpp {

struct AnyExecutable {
  AnyExecutable();
  // Gives the callback group back, also when the callback threw.
  virtual ~AnyExecutable();
  AnyExecutable(const AnyExecutable &) = delete;
  AnyExecutable &operator=(const AnyExecutable &) = delete;

  std::shared_ptr<SubscriptionBase> subscription;
  std::shared_ptr<TimerBase> timer;
  std::shared_ptr<ServiceBase> service;
  std::shared_ptr<ClientBase> client;
  std::shared_ptr<Waitable> waitable;
  std::shared_ptr<CallbackGroup> callback_group;
  std::shared_ptr<node_interfaces::NodeBaseInterface> node_base;
  std::shared_ptr<void> data;
};

struct ExecutorOptions {
  std::shared_ptr<Context> context;
  // For the ground truth: an instant before the executor's constructor.
  std::uint64_t created = ground_truth::now();
};

namespace detail {

class SetWhileAlive {
 public:
  explicit SetWhileAlive(std::atomic_bool &flag) : flag_(flag) { flag_ = true; }
  ~SetWhileAlive() { flag_ = false; }
  SetWhileAlive(const SetWhileAlive &) = delete;
  SetWhileAlive &operator=(const SetWhileAlive &) = delete;

 private:
  std::atomic_bool &flag_;
};

}  // namespace detail

// Executes what is ready, one thing at a time. Exceptions out of callbacks leave the spin
// functions, which may be called again.
class Executor {
 public:
  explicit Executor(const ExecutorOptions &options = ExecutorOptions());
  virtual ~Executor();

  virtual void spin() = 0;
  // Executes at most one thing; true if there was one.
  bool spin_once(std::chrono::nanoseconds timeout);
  void cancel();

  virtual void add_node(std::shared_ptr<node_interfaces::NodeBaseInterface> node,
                        bool notify = true);
  virtual void add_node(std::shared_ptr<Node> node, bool notify = true);
  // A group that does not come with its node.
  virtual void add_callback_group(std::shared_ptr<CallbackGroup> group,
                                  std::shared_ptr<node_interfaces::NodeBaseInterface> node,
                                  bool notify = true);

 protected:
  friend struct ::LayoutCheck;
  struct State;

  bool get_next_executable(AnyExecutable &any_executable, std::chrono::nanoseconds timeout);
  bool get_next_ready_executable(AnyExecutable &any_executable);
  void wait_for_work(std::chrono::nanoseconds timeout);
  void execute_any_executable(AnyExecutable &any_executable);

  static void execute_subscription(std::shared_ptr<SubscriptionBase> subscription);
#ifdef STANDIN_HUMBLE
  static void execute_timer(std::shared_ptr<TimerBase> timer);
#else
  static void execute_timer(std::shared_ptr<TimerBase> timer, const std::shared_ptr<void> &data);
#endif
  static void execute_service(std::shared_ptr<ServiceBase> service);
  static void execute_client(std::shared_ptr<ClientBase> client);

  // In place of the wait set: fills state_ with what is ready, at the latest after the time.
  void wait_until_ready(std::chrono::nanoseconds timeout);
  std::chrono::nanoseconds collect_ready();
  void interrupt();
  // To be called first in destructors.
  void destroying();

#ifdef STANDIN_HUMBLE
  virtual void add_callback_group_to_map(std::shared_ptr<CallbackGroup> group,
                                         std::shared_ptr<node_interfaces::NodeBaseInterface> node,
                                         WeakCallbackGroupsToNodesMap &weak_groups_to_nodes,
                                         bool notify = true);
  // add_callback_group_to_map with its place in the ground truth.
  void add_to_map(const std::shared_ptr<CallbackGroup> &group,
                  const std::shared_ptr<node_interfaces::NodeBaseInterface> &node,
                  WeakCallbackGroupsToNodesMap &map, bool notify);
  virtual void add_callback_groups_from_nodes_associated_to_executor();
  // All groups with their nodes.
  virtual WeakCallbackGroupsToNodesMap groups_to_nodes() const { return weak_groups_to_nodes_; }
#else
  void collect_entities();
  void trigger_entity_recollect(bool notify);
#endif

  // The stand-in's own state lies where the distribution keeps its own.
  std::atomic_bool spinning{false};
#ifdef STANDIN_HUMBLE
  GuardCondition interrupt_guard_condition_;
  std::shared_ptr<GuardCondition> shutdown_guard_condition_;
  std::byte wait_set_[104]{};
  std::mutex mutex_;
  std::shared_ptr<State> state_;  // memory_strategy_
  std::shared_ptr<Context> context_;
  std::map<WeakGroup, const GuardCondition *, std::owner_less<WeakGroup>>
      weak_groups_to_guard_conditions_;
  WeakCallbackGroupsToNodesMap weak_groups_associated_with_executor_to_nodes_;
  WeakCallbackGroupsToNodesMap weak_groups_to_nodes_associated_with_executor_;
  WeakCallbackGroupsToNodesMap weak_groups_to_nodes_;
  std::list<WeakNode> weak_nodes_;
  std::shared_ptr<void> shutdown_callback_handle_;
#else
  std::shared_ptr<GuardCondition> interrupt_guard_condition_;
  std::shared_ptr<GuardCondition> shutdown_guard_condition_;
  std::mutex mutex_;
  std::shared_ptr<Context> context_;
  std::shared_ptr<void> notify_waitable_;
  std::atomic_bool entities_need_rebuild_{true};
  executors::ExecutorEntitiesCollector collector_;
  std::byte wait_set_and_result_[464]{};
  executors::ExecutorEntitiesCollection current_collection_;
  std::shared_ptr<void> current_notify_waitable_;
  std::shared_ptr<void> shutdown_callback_handle_;
  std::unique_ptr<State> state_;  // impl_
#endif
};

namespace executors {

class SingleThreadedExecutor : public Executor {
 public:
  explicit SingleThreadedExecutor(const ExecutorOptions &options = ExecutorOptions());
  ~SingleThreadedExecutor() override;
  void spin() override;
};

class MultiThreadedExecutor : public Executor {
 public:
  explicit MultiThreadedExecutor(const ExecutorOptions &options = ExecutorOptions(),
                                 std::size_t number_of_threads = 0,
                                 bool yield_before_execute = false,
                                 std::chrono::nanoseconds timeout = std::chrono::nanoseconds(-1));
  ~MultiThreadedExecutor() override;
  void spin() override;
  // With a handler, and other than in rclcpp, an exception ends neither the process nor the thread:
  // the handler is called inside the catch block.
  void set_on_exception(void (*handler)());

 private:
  friend struct ::LayoutCheck;
  void run();

  std::mutex wait_mutex_;
  std::size_t number_of_threads_;
  bool yield_before_execute_;
  std::chrono::nanoseconds next_exec_timeout_;
};

// Executes by kind of entity, without AnyExecutable.
class StaticSingleThreadedExecutor : public Executor {
 public:
  explicit StaticSingleThreadedExecutor(const ExecutorOptions &options = ExecutorOptions());
  ~StaticSingleThreadedExecutor() override;
  void spin() override;

#ifdef STANDIN_HUMBLE
  using Executor::add_node;
  void add_node(std::shared_ptr<node_interfaces::NodeBaseInterface> node, bool notify) override;
  void add_callback_group(std::shared_ptr<CallbackGroup> group,
                          std::shared_ptr<node_interfaces::NodeBaseInterface> node,
                          bool notify) override;

 protected:
  void add_callback_groups_from_nodes_associated_to_executor() override;
  WeakCallbackGroupsToNodesMap groups_to_nodes() const override;
#endif

 private:
  friend struct ::LayoutCheck;
  void execute_ready_executables();

#ifdef STANDIN_HUMBLE
  std::shared_ptr<StaticExecutorEntitiesCollector> entities_collector_;
#endif
};

}  // namespace executors
}  // namespace rclcpp
