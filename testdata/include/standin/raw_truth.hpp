// Serialized and loaned messages, most of which have no tracepoints on Humble, for the ground
// truth. Nothing in here exists in ROS 2.
#pragma once

#include "standin/ground_truth.hpp"

namespace ground_truth {

enum class RawKind { serialized, loaned };

// One call of rcl_publish_serialized_message or rcl_publish_loaned_message, inside a PublishScope.
class RawPublish {
 public:
  RawPublish(RawKind kind, const void *rcl_publisher, const void *message);
  ~RawPublish();
  RawPublish(const RawPublish &) = delete;
  RawPublish &operator=(const RawPublish &) = delete;

 private:
  RawKind kind_;
  const void *publisher_;
  const void *message_;
  std::uint64_t before_;
};

// One call of rcl_take_serialized_message or rcl_take_loaned_message.
class RawTake {
 public:
  RawTake(RawKind kind, const void *rcl_subscription);
  ~RawTake();
  RawTake(const RawTake &) = delete;
  RawTake &operator=(const RawTake &) = delete;

 private:
  friend void raw_take_facts(const Take &take, bool taken);

  RawKind kind_;
  const void *subscription_;
  Take take_;
  bool taken_ = false;
  std::uint64_t before_;
  std::uint64_t rmw_returns_ = 0;
};

// What the rmw, just before it returns, knows about the RawTake that is open on this thread.
// Without a bracket it was not traced.
void raw_take_facts(const Take &take, bool taken);

}  // namespace ground_truth
