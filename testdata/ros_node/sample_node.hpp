// A node with timers that publish and subscriptions that check.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "behaviour.hpp"
#include "options.hpp"
#include "rclcpp/executor.hpp"
#include "samples.hpp"

class SampleNode : public rclcpp::Node {
 public:
  SampleNode(const std::string &name, std::shared_ptr<rclcpp::Context> context,
             const Options &options, Behaviour &behaviour);

  Sender &add_sender(const std::string &topic);
  // Timer callbacks that publish to one of the senders after the other.
  void publish_periodically(double rate, std::vector<Sender *> senders,
                            std::shared_ptr<rclcpp::CallbackGroup> group);
  void subscribe(const std::string &topic, Receiver::Loss loss,
                 std::shared_ptr<rclcpp::CallbackGroup> group);
  // A subscription of which no executor knows.
  rclcpp::Subscription<Sample> &subscribe_without_executor(const std::string &topic);
  void run_periodically(double rate, std::function<void()> function,
                        std::shared_ptr<rclcpp::CallbackGroup> group);
  void keep_timer(std::shared_ptr<rclcpp::TimerBase> timer) { timers_.push_back(std::move(timer)); }
  // Publishes from within the callbacks of subscribe().
  void relay(const std::string &topic, Sender &to);

  // A group for one entity: its own if several threads execute, else the node's.
  std::shared_ptr<rclcpp::CallbackGroup> group_for_entity();
  std::shared_ptr<rclcpp::CallbackGroup> group_without_executor(rclcpp::CallbackGroupType type);

  const std::vector<std::unique_ptr<Sender>> &senders() const { return senders_; }
  const std::vector<std::unique_ptr<Receiver>> &receivers() const { return receivers_; }

 private:
  struct PublishTimer {
    SampleNode *node;
    std::vector<Sender *> senders;
    std::size_t next = 0;
    std::mutex mutex;

    void on_timer();
  };

  void on_message(Receiver &receiver, const Sample &message);
  template <typename Callback>
  void keep_subscription(const std::string &topic, Callback callback,
                         std::shared_ptr<rclcpp::CallbackGroup> group);
  CallbackForm form_of_last_receiver() const;
  Receiver &add_receiver(const std::string &topic, Receiver::Loss loss, bool ordered);

  const Options &options_;
  Behaviour &behaviour_;
  std::vector<std::unique_ptr<Sender>> senders_;
  std::vector<std::unique_ptr<Receiver>> receivers_;
  std::map<std::string, Sender *> relays_;
  std::vector<std::unique_ptr<PublishTimer>> publish_timers_;
  std::vector<std::shared_ptr<rclcpp::CallbackGroup>> groups_;
  std::vector<std::shared_ptr<rclcpp::TimerBase>> timers_;
  std::vector<std::shared_ptr<rclcpp::SubscriptionBase>> subscriptions_;
};

// The period of a rate; as fast as possible when the rate is 0.
std::chrono::nanoseconds period_of(double rate);
