// Hands messages from publishers to the intra-process subscriptions of their topic.
#pragma once

#include <memory>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "rclcpp/experimental/subscription_intra_process.hpp"
#include "rmw/rmw.h"

namespace rclcpp {
class PublisherBase;
}

namespace rclcpp::experimental {

class IntraProcessManager {
 public:
  IntraProcessManager();
  virtual ~IntraProcessManager();

  std::uint64_t add_publisher(std::shared_ptr<PublisherBase> publisher);
  std::uint64_t add_subscription(std::shared_ptr<SubscriptionIntraProcessBase> subscription);
  std::size_t get_subscription_count(std::uint64_t publisher_id) const;
  // Whether a message that came over DDS was also handed over inside the process.
  bool matches_any_publishers(const rmw_gid_t *gid) const;

  // Hands the message over and returns it, or null if a subscription owns it now.
  template <typename MessageT>
  std::shared_ptr<const MessageT> do_intra_process_publish(std::uint64_t publisher_id,
                                                           std::unique_ptr<MessageT> message,
                                                           bool return_shared) {
    using Buffer = SubscriptionIntraProcessBuffer<MessageT>;
    const Matched matched = subscriptions_of(publisher_id);
    const auto provide = [](const auto &subscription, auto data) {
      if (const auto buffer = std::dynamic_pointer_cast<Buffer>(subscription)) {
        buffer->provide_intra_process_data(std::move(data));
      }
    };
    if (matched.take_ownership.empty() || return_shared || !matched.take_shared.empty()) {
      // Owners get copies when someone else keeps the original.
      const std::shared_ptr<const MessageT> shared(std::move(message));
      for (const auto &subscription : matched.take_shared) provide(subscription, shared);
      for (const auto &subscription : matched.take_ownership) {
        provide(subscription, std::make_unique<MessageT>(*shared));
      }
      return shared;
    }
    for (std::size_t i = 0; i + 1 < matched.take_ownership.size(); ++i) {
      provide(matched.take_ownership[i], std::make_unique<MessageT>(*message));
    }
    provide(matched.take_ownership.back(), std::move(message));
    return nullptr;
  }

 private:
  friend struct ::LayoutCheck;

  struct SplittedSubscriptions {
    std::vector<std::uint64_t> take_shared;
    std::vector<std::uint64_t> take_ownership;
  };
  struct Matched {
    std::vector<std::shared_ptr<SubscriptionIntraProcessBase>> take_shared;
    std::vector<std::shared_ptr<SubscriptionIntraProcessBase>> take_ownership;
  };

  Matched subscriptions_of(std::uint64_t publisher_id) const;
  void match(std::uint64_t publisher_id, const PublisherBase &publisher,
             std::uint64_t subscription_id, const SubscriptionIntraProcessBase &subscription);

  std::unordered_map<std::uint64_t, SplittedSubscriptions> pub_to_subs_;
  std::unordered_map<std::uint64_t, std::weak_ptr<SubscriptionIntraProcessBase>> subscriptions_;
  std::unordered_map<std::uint64_t, std::weak_ptr<PublisherBase>> publishers_;
#ifdef STANDIN_JAZZY
  std::unordered_map<std::uint64_t, std::weak_ptr<void>> publisher_buffers_;
#endif
  mutable std::shared_timed_mutex mutex_;
};

}  // namespace rclcpp::experimental
