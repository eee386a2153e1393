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

// The parts of an intra-process subscription, in the order in which they are constructed. The
// brackets are around the tracepoints, which Humble does not have.
void ring_buffer_constructed(const void *buffer, std::uint64_t capacity, Bracket times);
void buffer_to_ipb(const void *buffer, const void *ipb, Bracket times);
void ipb_to_subscription(const void *ipb, const void *subscription, Bracket times);

}  // namespace ground_truth
