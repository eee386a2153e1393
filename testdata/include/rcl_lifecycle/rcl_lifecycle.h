// The part of rcl_lifecycle's interface that the stand-in uses.
#pragma once

#include "rcl/rcl.h"

struct rcl_lifecycle_transition_s;

struct rcl_lifecycle_state_s {
  const char *label;
  std::uint8_t id;
  rcl_lifecycle_transition_s *valid_transitions;
  unsigned int valid_transition_size;
};

struct rcl_lifecycle_transition_s {
  const char *label;
  unsigned int id;
  rcl_lifecycle_state_s *start;
  rcl_lifecycle_state_s *goal;
};

// What follows in the real one, the map of transitions and the communication interface, is missing.
struct rcl_lifecycle_state_machine_s {
  const rcl_lifecycle_state_s *current_state;
};

using rcl_lifecycle_state_t = rcl_lifecycle_state_s;
using rcl_lifecycle_transition_t = rcl_lifecycle_transition_s;
using rcl_lifecycle_state_machine_t = rcl_lifecycle_state_machine_s;

// lifecycle_msgs/msg/Transition.
inline constexpr std::uint8_t TRANSITION_CONFIGURE = 1;
inline constexpr std::uint8_t TRANSITION_CLEANUP = 2;
inline constexpr std::uint8_t TRANSITION_ACTIVATE = 3;
inline constexpr std::uint8_t TRANSITION_DEACTIVATE = 4;
inline constexpr std::uint8_t TRANSITION_ON_CONFIGURE_SUCCESS = 10;
inline constexpr std::uint8_t TRANSITION_ON_CLEANUP_SUCCESS = 20;
inline constexpr std::uint8_t TRANSITION_ON_ACTIVATE_SUCCESS = 30;
inline constexpr std::uint8_t TRANSITION_ON_DEACTIVATE_SUCCESS = 40;

extern "C" {
RCL_PUBLIC rcl_ret_t rcl_lifecycle_state_machine_init(rcl_lifecycle_state_machine_t *state_machine,
                                                      rcl_node_t *node);
RCL_PUBLIC rcl_ret_t rcl_lifecycle_trigger_transition_by_id(
    rcl_lifecycle_state_machine_t *state_machine, std::uint8_t id, bool publish_notification);
}
