// GIDs of publishers and subscriptions, for the ground truth. Nothing in here exists in ROS 2.
#pragma once

#include <cstring>

#include "standin/ground_truth.hpp"

namespace ground_truth {

// The first 16 bytes; Humble's rmw_gid_t has 8 more, which are zero.
template <typename Bytes>
Gid gid_of(const Bytes &bytes) {
  Gid gid{};
  static_assert(sizeof bytes >= sizeof gid);
  std::memcpy(gid.data(), &bytes, gid.size());
  return gid;
}

// `what` is the tracepoint's name: rmw_publisher_init or rmw_subscription_init.
void rmw_entity_created(const char *what, const void *handle, const Gid &gid, Bracket times);

}  // namespace ground_truth
