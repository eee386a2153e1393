#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>

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

struct ExecutorOptions {};

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

  void add_node(std::shared_ptr<Node> node);
  // A group that does not come with its node.
  void add_callback_group(std::shared_ptr<CallbackGroup> group, std::shared_ptr<Node> node);

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

  // The stand-in's own state lies where the distribution keeps its own.
  std::atomic_bool spinning{false};
#ifdef STANDIN_HUMBLE
  std::byte guard_conditions_[256]{};
  std::mutex mutex_;
  std::shared_ptr<State> state_;  // memory_strategy_
  std::shared_ptr<Context> context_;
  void (*on_exception_)() = nullptr;
  std::byte weak_groups_[224]{};
#else
  std::byte guard_conditions_[32]{};
  std::mutex mutex_;
  std::shared_ptr<Context> context_;
  void (*on_exception_)() = nullptr;
  std::byte collections_[1336]{};
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
  void set_on_exception(void (*handler)()) { on_exception_ = handler; }

 private:
  friend struct ::LayoutCheck;
  void run();

  std::mutex wait_mutex_;
  std::size_t number_of_threads_;
  bool yield_before_execute_;
  std::chrono::nanoseconds next_exec_timeout_;
};

}  // namespace executors
}  // namespace rclcpp
