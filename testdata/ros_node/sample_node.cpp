#include "sample_node.hpp"

using rclcpp::CallbackGroup;
using rclcpp::CallbackGroupType;

std::chrono::nanoseconds period_of(double rate) {
  if (rate == 0) return std::chrono::nanoseconds::zero();
  return std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 / rate));
}

SampleNode::SampleNode(const std::string &name, std::shared_ptr<rclcpp::Context> context,
                       const Options &options, Behaviour &behaviour)
    : Node(name, options.name_space, std::move(context), options.intra_process),
      options_(options),
      behaviour_(behaviour) {}

std::shared_ptr<CallbackGroup> SampleNode::group_for_entity() {
  if (options_.threads == 1 && !options_.reentrant) return nullptr;
  groups_.push_back(create_callback_group(
      options_.reentrant ? CallbackGroupType::Reentrant : CallbackGroupType::MutuallyExclusive));
  return groups_.back();
}

std::shared_ptr<CallbackGroup> SampleNode::group_without_executor(CallbackGroupType type) {
  groups_.push_back(create_callback_group(type, false));
  return groups_.back();
}

Sender &SampleNode::add_sender(const std::string &topic) {
  return *senders_.emplace_back(std::make_unique<Sender>(*this, topic, options_));
}

Receiver &SampleNode::add_receiver(const std::string &topic, Receiver::Loss loss, bool ordered) {
  return *receivers_.emplace_back(std::make_unique<Receiver>(topic, loss, ordered));
}

void SampleNode::PublishTimer::on_timer() {
  Sender *sender = nullptr;
  {
    const std::lock_guard lock(mutex);
    sender = senders[next++ % senders.size()];
  }
  sender->send();
  node->behaviour_.inside_callback();
}

void SampleNode::publish_periodically(double rate, std::vector<Sender *> senders,
                                      std::shared_ptr<CallbackGroup> group) {
  auto &timer = publish_timers_.emplace_back(new PublishTimer{this, std::move(senders), 0, {}});
  timers_.push_back(create_wall_timer(
      period_of(rate), std::bind(&PublishTimer::on_timer, timer.get()), std::move(group)));
}

void SampleNode::run_periodically(double rate, std::function<void()> function,
                                  std::shared_ptr<CallbackGroup> group) {
  timers_.push_back(create_wall_timer(
      period_of(rate),
      [this, function] {
        function();
        behaviour_.inside_callback();
      },
      std::move(group)));
}

void SampleNode::relay(const std::string &topic, Sender &to) { relays_[topic] = &to; }

void SampleNode::on_message(Receiver &receiver, const Sample &message) {
  receiver.receive(message);
  const auto relay = relays_.find(receiver.topic());
  if (relay != relays_.end()) relay->second->send();
  behaviour_.inside_callback();
}

template <typename Callback>
void SampleNode::keep_subscription(const std::string &topic, Callback callback,
                                   std::shared_ptr<CallbackGroup> group) {
  subscriptions_.push_back(create_subscription<Sample>(topic, rclcpp::QoS(options_.depth),
                                                       std::move(callback), std::move(group)));
}

CallbackForm SampleNode::form_of_last_receiver() const {
  constexpr CallbackForm kForms[] = {CallbackForm::shared, CallbackForm::unique,
                                     CallbackForm::reference};
  if (options_.callback_form != CallbackForm::mixed) return options_.callback_form;
  return kForms[(receivers_.size() - 1) % std::size(kForms)];
}

void SampleNode::subscribe(const std::string &topic, Receiver::Loss loss,
                           std::shared_ptr<CallbackGroup> group) {
  using std::placeholders::_1;
  const bool one_at_a_time =
      group == nullptr || group->type() == CallbackGroupType::MutuallyExclusive;
  Receiver *const receiver = &add_receiver(topic, loss, one_at_a_time);
  switch (form_of_last_receiver()) {
    case CallbackForm::mixed:
    case CallbackForm::reference:
      keep_subscription(
          topic, [this, receiver](const Sample &message) { on_message(*receiver, message); },
          std::move(group));
      break;
    case CallbackForm::unique:
      keep_subscription(
          topic,
          [this, receiver](std::unique_ptr<Sample> message) { on_message(*receiver, *message); },
          std::move(group));
      break;
    case CallbackForm::shared:
      keep_subscription(
          topic,
          [this, receiver](std::shared_ptr<const Sample> message) {
            on_message(*receiver, *message);
          },
          std::move(group));
      break;
  }
}

rclcpp::Subscription<Sample> &SampleNode::subscribe_without_executor(const std::string &topic) {
  auto subscription = create_subscription<Sample>(
      topic, rclcpp::QoS(options_.depth), [](const Sample &) {},
      group_without_executor(CallbackGroupType::MutuallyExclusive));
  subscriptions_.push_back(subscription);
  return *subscription;
}
