#include "rclcpp/generic_publisher.hpp"

#include "standin/raw_truth.hpp"

namespace rclcpp {

GenericPublisher::~GenericPublisher() = default;

void GenericPublisher::publish(const SerializedMessage &message) {
  const rmw_publisher_t *const rmw_publisher =
      rcl_publisher_get_rmw_handle(publisher_handle_.get());
  const ground_truth::PublishScope scope(publisher_handle_.get(), rmw_publisher,
                                         rmw_publisher->topic_name);
  const rcl_serialized_message_t *const serialized = &message.get_rcl_serialized_message();
  ground_truth::publish_header(
      rosidl::header_stamp(type_support_, serialized->buffer, serialized->buffer_length));
#ifdef STANDIN_JAZZY
  const ground_truth::Bracket times =
      ground_truth::bracket([&] { ros_trace_rclcpp_publish(nullptr, serialized); });
  ground_truth::publish_layer(ground_truth::Layer::rclcpp, times, serialized);
#endif
  const ground_truth::RawPublish raw(ground_truth::RawKind::serialized, publisher_handle_.get(),
                                     serialized);
  if (rcl_publish_serialized_message(publisher_handle_.get(), serialized, nullptr) != RCL_RET_OK) {
    throw std::runtime_error("failed to publish serialized message");
  }
}

}  // namespace rclcpp
