// Beginnings and ends of rcl's entities, for the ground truth. Nothing in here exists in ROS 2.
#pragma once

#include "standin/ground_truth.hpp"

namespace ground_truth {

// `kind` is node, publisher, subscription, timer, service or client; `node` is its rcl node, if
// any. `times` is around rcl_<kind>_init or rcl_<kind>_fini.
void initialized(const char *kind, const void *handle, const void *node, Bracket times);
void finalized(const char *kind, const void *handle, Bracket times);

// Calls `init` between clock readings and writes them down.
template <typename Init>
auto initialize(const char *kind, const void *handle, const void *node, Init &&init) {
  Bracket times;
  times.before = now();
  const auto result = init();
  times.after = now();
  initialized(kind, handle, node, times);
  return result;
}

template <typename Fini>
void finalize(const char *kind, const void *handle, Fini &&fini) {
  const Bracket times = bracket(fini);
  finalized(kind, handle, times);
}

}  // namespace ground_truth
