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
  void remove_publisher(std::uint64_t publisher_id);
  void remove_subscription(std::uint64_t subscription_id);
  std::size_t get_subscription_count(std::uint64_t publisher_id) const;
  // Whether a message that came over DDS was also handed over inside the process.
  bool matches_any_publishers(const rmw_gid_t *gid) const;

  // Which subscription gets the original and which a copy is as in rclcpp.
  template <typename MessageT>
  void do_intra_process_publish(std::uint64_t publisher_id, std::unique_ptr<MessageT> message) {
    Matched matched = subscriptions_of(publisher_id);
    if (matched.take_ownership.empty()) {
      add_shared_msg_to_buffers<MessageT>(std::move(message), matched.take_shared);
    } else if (matched.take_shared.size() <= 1) {
      matched.take_shared.insert(matched.take_shared.end(), matched.take_ownership.begin(),
                                 matched.take_ownership.end());
      add_owned_msg_to_buffers(std::move(message), matched.take_shared);
    } else {
      add_shared_msg_to_buffers<MessageT>(std::make_shared<MessageT>(*message),
                                          matched.take_shared);
      add_owned_msg_to_buffers(std::move(message), matched.take_ownership);
    }
  }

  template <typename MessageT>
  std::shared_ptr<const MessageT> do_intra_process_publish_and_return_shared(
      std::uint64_t publisher_id, std::unique_ptr<MessageT> message) {
    const Matched matched = subscriptions_of(publisher_id);
    if (matched.take_ownership.empty()) {
      const std::shared_ptr<const MessageT> shared(std::move(message));
      add_shared_msg_to_buffers<MessageT>(shared, matched.take_shared);
      return shared;
    }
    const std::shared_ptr<const MessageT> shared = std::make_shared<MessageT>(*message);
    add_shared_msg_to_buffers<MessageT>(shared, matched.take_shared);
    add_owned_msg_to_buffers(std::move(message), matched.take_ownership);
    return shared;
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

  using Subscriptions = std::vector<std::shared_ptr<SubscriptionIntraProcessBase>>;

  template <typename MessageT>
  static void add_shared_msg_to_buffers(const std::shared_ptr<const MessageT> &message,
                                        const Subscriptions &subscriptions) {
    for (const auto &subscription : subscriptions)
      buffer<MessageT>(subscription).provide_intra_process_data(message);
  }

  // The last one gets the original.
  template <typename MessageT>
  static void add_owned_msg_to_buffers(std::unique_ptr<MessageT> message,
                                       const Subscriptions &subscriptions) {
    for (std::size_t i = 0; i + 1 < subscriptions.size(); ++i) {
      buffer<MessageT>(subscriptions[i])
          .provide_intra_process_data(std::make_unique<MessageT>(*message));
    }
    buffer<MessageT>(subscriptions.back()).provide_intra_process_data(std::move(message));
  }

  template <typename MessageT>
  static SubscriptionIntraProcessBuffer<MessageT> &buffer(
      const std::shared_ptr<SubscriptionIntraProcessBase> &subscription) {
    return dynamic_cast<SubscriptionIntraProcessBuffer<MessageT> &>(*subscription);
  }

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
