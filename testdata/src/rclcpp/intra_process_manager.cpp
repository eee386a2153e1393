#include "rclcpp/experimental/intra_process_manager.hpp"

#include <atomic>
#include <string_view>

#include "rclcpp/publisher.hpp"

namespace rclcpp::experimental {

const char *SubscriptionIntraProcessBase::get_topic_name() const { return topic_name_.c_str(); }

IntraProcessManager::IntraProcessManager() = default;
IntraProcessManager::~IntraProcessManager() = default;

static std::uint64_t next_id() {
  static std::atomic<std::uint64_t> next{1};
  return next++;
}

void IntraProcessManager::match(std::uint64_t publisher_id, const PublisherBase &publisher,
                                std::uint64_t subscription_id,
                                const SubscriptionIntraProcessBase &subscription) {
  if (std::string_view(publisher.get_topic_name()) != subscription.get_topic_name()) return;
  SplittedSubscriptions &subscriptions = pub_to_subs_[publisher_id];
  (subscription.use_take_shared_method() ? subscriptions.take_shared : subscriptions.take_ownership)
      .push_back(subscription_id);
}

std::uint64_t IntraProcessManager::add_publisher(std::shared_ptr<PublisherBase> publisher) {
  const std::unique_lock lock(mutex_);
  const std::uint64_t id = next_id();
  publishers_[id] = publisher;
  pub_to_subs_[id];
  for (const auto &[subscription_id, weak] : subscriptions_) {
    if (const auto subscription = weak.lock())
      match(id, *publisher, subscription_id, *subscription);
  }
  return id;
}

std::uint64_t IntraProcessManager::add_subscription(
    std::shared_ptr<SubscriptionIntraProcessBase> subscription) {
  const std::unique_lock lock(mutex_);
  const std::uint64_t id = next_id();
  subscriptions_[id] = subscription;
  for (const auto &[publisher_id, weak] : publishers_) {
    if (const auto publisher = weak.lock()) match(publisher_id, *publisher, id, *subscription);
  }
  return id;
}

void IntraProcessManager::remove_publisher(std::uint64_t publisher_id) {
  const std::unique_lock lock(mutex_);
  publishers_.erase(publisher_id);
  pub_to_subs_.erase(publisher_id);
}

void IntraProcessManager::remove_subscription(std::uint64_t subscription_id) {
  const std::unique_lock lock(mutex_);
  subscriptions_.erase(subscription_id);
  for (auto &[publisher_id, subscriptions] : pub_to_subs_) {
    std::erase(subscriptions.take_shared, subscription_id);
    std::erase(subscriptions.take_ownership, subscription_id);
  }
}

std::size_t IntraProcessManager::get_subscription_count(std::uint64_t publisher_id) const {
  const Matched matched = subscriptions_of(publisher_id);
  return matched.take_shared.size() + matched.take_ownership.size();
}

bool IntraProcessManager::matches_any_publishers(const rmw_gid_t *gid) const {
  const std::shared_lock lock(mutex_);
  for (const auto &[id, weak] : publishers_) {
    const auto publisher = weak.lock();
    if (publisher != nullptr && publisher->matches_gid(*gid)) return true;
  }
  return false;
}

IntraProcessManager::Matched IntraProcessManager::subscriptions_of(
    std::uint64_t publisher_id) const {
  const std::shared_lock lock(mutex_);
  Matched matched;
  const auto found = pub_to_subs_.find(publisher_id);
  if (found == pub_to_subs_.end()) return matched;
  const auto collect = [this](const std::vector<std::uint64_t> &ids, auto &subscriptions) {
    for (const std::uint64_t id : ids) {
      if (auto subscription = subscriptions_.at(id).lock()) {
        subscriptions.push_back(std::move(subscription));
      }
    }
  };
  collect(found->second.take_shared, matched.take_shared);
  collect(found->second.take_ownership, matched.take_ownership);
  return matched;
}

}  // namespace rclcpp::experimental
