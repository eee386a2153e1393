#pragma once

#include "rclcpp/publisher.hpp"
#include "rclcpp/serialized_message.hpp"

namespace rclcpp {

// Publishes serialized messages of a type that is known at run time only.
class GenericPublisher : public PublisherBase {
 public:
  using PublisherBase::PublisherBase;
  ~GenericPublisher() override;

  void publish(const SerializedMessage &message);

 private:
  friend struct ::LayoutCheck;
  std::shared_ptr<void> ts_lib_;
};

}  // namespace rclcpp
