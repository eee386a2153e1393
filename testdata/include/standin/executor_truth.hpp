// Executors and callback groups, for the ground truth. Nothing in here exists in ROS 2.
#pragma once

#include "standin/ground_truth.hpp"

namespace ground_truth {

// `before` is an instant before the constructor's call, now is one in it.
void executor_constructed(const void *executor, const char *type, const void *collector,
                          std::uint64_t before);
// `before` is an instant before the base class's destructor began, now is one in it.
void executor_destroyed(const void *executor, std::uint64_t before);

// Executor::wait_for_work was called, with a time in nanoseconds.
void waited(const void *executor, std::int64_t timeout, Bracket start, Bracket end);

void group_created(const void *group, const char *type, const void *node, bool automatic);
// By the executor or by its entities collector; the one that did not do it is null.
void group_added(const void *executor, const void *collector, const void *group, const char *type,
                 Bracket times);
// `what` is the name of CallbackGroup's function.
void added_to_group(const char *what, const void *group, const void *handle, Bracket times);

}  // namespace ground_truth
