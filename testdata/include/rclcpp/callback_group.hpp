#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "rclcpp/waitable.hpp"

namespace rclcpp {

class ClientBase;
class ServiceBase;
class SubscriptionBase;
class TimerBase;

enum class CallbackGroupType { MutuallyExclusive, Reentrant };

// CARET's name of a type.
constexpr const char *name_of(CallbackGroupType type) {
  return type == CallbackGroupType::Reentrant ? "reentrant" : "mutually_exclusive";
}

class CallbackGroup {
 public:
  explicit CallbackGroup(CallbackGroupType type);
  ~CallbackGroup();

  CallbackGroupType type() const { return type_; }
  std::atomic_bool &can_be_taken_from() { return can_be_taken_from_; }
  std::atomic_bool &get_associated_with_executor_atomic() { return associated_with_executor_; }
  // Whether executors find the group through its node.
  bool automatically_add_to_executor_with_node() const {
    return automatically_add_to_executor_with_node_;
  }
  void set_automatically_add_to_executor_with_node(bool automatically) {
    automatically_add_to_executor_with_node_ = automatically;
  }

  void add_subscription(std::shared_ptr<SubscriptionBase> subscription);
  void add_timer(std::shared_ptr<TimerBase> timer);
  void add_service(std::shared_ptr<ServiceBase> service);
  void add_client(std::shared_ptr<ClientBase> client);
  void add_waitable(std::shared_ptr<Waitable> waitable);

  template <typename Visitor>
  void for_each(Visitor &&visit) {
    const std::lock_guard lock(mutex_);
    visit_alive(timer_ptrs_, visit);
    visit_alive(subscription_ptrs_, visit);
    visit_alive(service_ptrs_, visit);
    visit_alive(client_ptrs_, visit);
    visit_alive(waitable_ptrs_, visit);
  }

 private:
  friend struct ::LayoutCheck;

  template <typename Entity, typename Visitor>
  static void visit_alive(const std::vector<std::weak_ptr<Entity>> &entities, Visitor &&visit) {
    for (const std::weak_ptr<Entity> &entity : entities) {
      if (std::shared_ptr<Entity> alive = entity.lock()) visit(alive);
    }
  }

  CallbackGroupType type_;
  std::mutex mutex_;
  std::atomic_bool associated_with_executor_{false};
  std::vector<std::weak_ptr<SubscriptionBase>> subscription_ptrs_;
  std::vector<std::weak_ptr<TimerBase>> timer_ptrs_;
  std::vector<std::weak_ptr<ServiceBase>> service_ptrs_;
  std::vector<std::weak_ptr<ClientBase>> client_ptrs_;
  std::vector<std::weak_ptr<Waitable>> waitable_ptrs_;
  std::atomic_bool can_be_taken_from_{true};
  bool automatically_add_to_executor_with_node_ = true;
  std::shared_ptr<GuardCondition> notify_guard_condition_;
  std::recursive_mutex notify_guard_condition_mutex_;
#ifdef STANDIN_JAZZY
  std::weak_ptr<Context> context_;
#endif
};

}  // namespace rclcpp
