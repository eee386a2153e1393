#include "rclcpp/callback_group.hpp"

namespace rclcpp {

namespace {

// Forgets what does not exist any more, too.
template <typename Entity>
void add(std::vector<std::weak_ptr<Entity>> &entities, const std::shared_ptr<Entity> &entity) {
  entities.push_back(entity);
  std::erase_if(entities, [](const std::weak_ptr<Entity> &weak) { return weak.expired(); });
}

}  // namespace

CallbackGroup::CallbackGroup(CallbackGroupType type) : type_(type) {}

CallbackGroup::~CallbackGroup() = default;

void CallbackGroup::add_subscription(std::shared_ptr<SubscriptionBase> subscription) {
  const std::lock_guard lock(mutex_);
  add(subscription_ptrs_, subscription);
}

void CallbackGroup::add_timer(std::shared_ptr<TimerBase> timer) {
  const std::lock_guard lock(mutex_);
  add(timer_ptrs_, timer);
}

void CallbackGroup::add_service(std::shared_ptr<ServiceBase> service) {
  const std::lock_guard lock(mutex_);
  add(service_ptrs_, service);
}

void CallbackGroup::add_client(std::shared_ptr<ClientBase> client) {
  const std::lock_guard lock(mutex_);
  add(client_ptrs_, client);
}

void CallbackGroup::add_waitable(std::shared_ptr<Waitable> waitable) {
  const std::lock_guard lock(mutex_);
  add(waitable_ptrs_, waitable);
}

}  // namespace rclcpp
