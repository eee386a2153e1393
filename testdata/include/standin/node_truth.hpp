// What nodes have besides their entities: life cycles and simulated time, for the ground truth.
// Nothing in here exists in ROS 2.
#pragma once

#include "standin/ground_truth.hpp"

namespace ground_truth {

void lifecycle_state_machine_initialized(const void *node, const void *state_machine,
                                         Bracket times);
void lifecycle_transition(const void *state_machine, const char *start, const char *goal,
                          Bracket times);
// rcl_set_ros_time_override with a time in nanoseconds.
void sim_time_set(const void *clock, std::int64_t stamp, Bracket times);

}  // namespace ground_truth
