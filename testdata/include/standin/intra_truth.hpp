// Intra-process publishes, for the ground truth. Nothing in here exists in ROS 2.
#pragma once

#include "standin/ground_truth.hpp"

namespace ground_truth {

// From before PublisherBase::get_subscription_count until the message is in all buffers.
class IntraPublish {
 public:
  IntraPublish(const void *rcl_publisher, const void *message);
  void finish();

 private:
  const void *publisher_;
  const void *message_;
  std::uint64_t before_;
};

}  // namespace ground_truth
