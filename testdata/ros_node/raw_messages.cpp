#include "raw_messages.hpp"

#include "rclcpp/loaned_message.hpp"
#include "standin/failure.hpp"

using rosidl::MessageTraits;

namespace {
constexpr std::size_t kEncapsulationSize = 4;
}  // namespace

RawMessages::RawMessages(SampleNode &node, const Options &options, Behaviour &behaviour)
    : node_(node), options_(options), behaviour_(behaviour) {
  if (options.serialized_rate != 0) add_serialized();
  if (options.loaned_rate != 0) add_loaned();
  if (options.polled_rate != 0 && (options.serialized_rate != 0 || options.loaned_rate != 0)) {
    add_polling();
  }
}

// A generic and an ordinary subscription get what the generic publisher publishes.
void RawMessages::add_serialized() {
  const std::string topic = options_.prefix + "/serialized";
  receiver_ = std::make_unique<Receiver>(topic, Receiver::Loss::allowed, false);
  const rosidl_message_type_support_t &type = message_type_support<Sample>();
  const rclcpp::QoS qos(options_.depth);
  generic_publisher_ = node_.create_generic_publisher(topic, type, qos);
  generic_subscription_ = node_.create_generic_subscription(
      topic, type, qos,
      [this](std::shared_ptr<const rclcpp::SerializedMessage> message) {
        receive_serialized(*message, *receiver_);
        behaviour_.inside_callback();
      },
      node_.group_for_entity());
  node_.subscribe(topic, Receiver::Loss::allowed, node_.group_for_entity());
  node_.run_periodically(
      options_.serialized_rate, [this] { publish_serialized(); }, node_.group_for_entity());
}

void RawMessages::publish_serialized() {
  const auto message = make_message(publisher_id_, next_number_++, options_.payload);
  std::vector<std::uint8_t> bytes{0, 1, 0, 0};  // little-endian CDR
  MessageTraits<Sample>::write(*message, bytes);
  publish([&] { generic_publisher_->publish(rclcpp::SerializedMessage(bytes)); });
}

template <typename Publish>
void RawMessages::publish(Publish &&publish) {
  if (options_.fail_every == 0 || ++attempts_ % options_.fail_every != 0) {
    publish();
    return;
  }
  failure::arm(options_.fail_at);
  try {
    publish();
  } catch (const std::runtime_error &) {
  }
  failure::arm(failure::Point::none);
}

void RawMessages::receive_serialized(const rclcpp::SerializedMessage &message, Receiver &receiver) {
  const std::vector<std::uint8_t> bytes = message.bytes();
  Sample sample;
  if (bytes.size() < kEncapsulationSize ||
      !MessageTraits<Sample>::read(bytes.data() + kEncapsulationSize,
                                   bytes.size() - kEncapsulationSize, sample)) {
    wrong_ = true;
    return;
  }
  receiver.receive(sample);
  wrong_ = wrong_ || receiver.corrupted();
}

void RawMessages::add_loaned() {
  const std::string topic = options_.prefix + "/loaned";
  const rclcpp::QoS qos(options_.depth);
  counter_publisher_ = node_.create_publisher<Counter>(topic, qos);
  counter_subscription_ = node_.create_subscription<Counter>(
      topic, qos,
      [this](const Counter &message) {
        receive_loaned(message);
        behaviour_.inside_callback();
      },
      node_.group_for_entity());
  node_.run_periodically(
      options_.loaned_rate, [this] { publish_loaned(); }, node_.group_for_entity());
}

void RawMessages::publish_loaned() {
  rclcpp::LoanedMessage<Counter> message = counter_publisher_->borrow_loaned_message();
  message.get().number = next_number_++;
  message.get().complement = ~message.get().number;
  publish([&] { counter_publisher_->publish(std::move(message)); });
}

void RawMessages::receive_loaned(const Counter &message) {
  if (message.complement != ~message.number) wrong_ = true;
}

void RawMessages::add_polling() {
  const rclcpp::QoS qos(options_.depth);
  const auto group = node_.group_without_executor(rclcpp::CallbackGroupType::MutuallyExclusive);
  if (generic_publisher_ != nullptr) {
    const std::string topic = generic_publisher_->get_topic_name();
    polled_receiver_ =
        std::make_unique<Receiver>(topic, Receiver::Loss::allowed, !options_.reentrant);
    polled_serialized_ = node_.create_generic_subscription(
        topic, message_type_support<Sample>(), qos,
        [](std::shared_ptr<const rclcpp::SerializedMessage>) {}, group);
  }
  if (counter_publisher_ != nullptr) {
    polled_loaned_ = node_.create_subscription<Counter>(
        counter_publisher_->get_topic_name(), qos, [](const Counter &) {}, group);
  }
  node_.run_periodically(
      options_.polled_rate, [this] { poll(); }, node_.group_for_entity());
}

void RawMessages::poll() {
  rclcpp::MessageInfo info;
  rclcpp::SerializedMessage message;
  while (polled_serialized_ != nullptr && polled_serialized_->take_serialized(message, info)) {
    ground_truth::take_was_polled();
    receive_serialized(message, *polled_receiver_);
  }
  while (polled_loaned_ != nullptr) {
    const rclcpp::LoanOfSubscription loan(*polled_loaned_, info);
    if (loan.message() == nullptr) break;
    ground_truth::take_was_polled();
    receive_loaned(*static_cast<const Counter *>(loan.message()));
  }
}
