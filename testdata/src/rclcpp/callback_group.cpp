#include "rclcpp/callback_group.hpp"

namespace rclcpp {

CallbackGroup::CallbackGroup(CallbackGroupType type) : type_(type) {}

CallbackGroup::~CallbackGroup() = default;

void CallbackGroup::add_subscription(std::shared_ptr<SubscriptionBase> subscription) {
  const std::lock_guard lock(mutex_);
  subscription_ptrs_.push_back(subscription);
}

void CallbackGroup::add_timer(std::shared_ptr<TimerBase> timer) {
  const std::lock_guard lock(mutex_);
  timer_ptrs_.push_back(timer);
}

void CallbackGroup::add_service(std::shared_ptr<ServiceBase> service) {
  const std::lock_guard lock(mutex_);
  service_ptrs_.push_back(service);
}

void CallbackGroup::add_client(std::shared_ptr<ClientBase> client) {
  const std::lock_guard lock(mutex_);
  client_ptrs_.push_back(client);
}

void CallbackGroup::add_waitable(std::shared_ptr<Waitable> waitable) {
  const std::lock_guard lock(mutex_);
  waitable_ptrs_.push_back(waitable);
}

}  // namespace rclcpp
