#include "raw_messages.hpp"

using rosidl::MessageTraits;

namespace {
constexpr std::size_t kEncapsulationSize = 4;
}  // namespace

RawMessages::RawMessages(SampleNode &node, const Options &options, Behaviour &behaviour)
    : node_(node), options_(options), behaviour_(behaviour) {
  if (options.serialized_rate != 0) add_serialized();
  if (options.loaned_rate != 0) add_loaned();
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
        receive_serialized(*message);
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
  generic_publisher_->publish(rclcpp::SerializedMessage(bytes));
}

void RawMessages::receive_serialized(const rclcpp::SerializedMessage &message) {
  const std::vector<std::uint8_t> bytes = message.bytes();
  Sample sample;
  if (bytes.size() < kEncapsulationSize ||
      !MessageTraits<Sample>::read(bytes.data() + kEncapsulationSize,
                                   bytes.size() - kEncapsulationSize, sample)) {
    wrong_ = true;
    return;
  }
  receiver_->receive(sample);
  wrong_ = wrong_ || receiver_->corrupted();
}

void RawMessages::add_loaned() {
  const std::string topic = options_.prefix + "/loaned";
  const rclcpp::QoS qos(options_.depth);
  counter_publisher_ = node_.create_publisher<Counter>(topic, qos);
  counter_subscription_ = node_.create_subscription<Counter>(
      topic, qos,
      [this](const Counter &message) {
        if (message.complement != ~message.number) wrong_ = true;
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
  counter_publisher_->publish(std::move(message));
}
