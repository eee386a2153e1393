#include "rcl_lifecycle/rcl_lifecycle.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "standin/evicted.hpp"
#include "standin/node_truth.hpp"
#include "tracetools/tracetools.h"

namespace {

// As in rcl, a state has a copy of its label on the heap.
rcl_lifecycle_state_t state(const char *label, std::uint8_t id) {
  return {strdup(label), id, nullptr, 0};
}

// The default states and the transitions between them that succeed.
struct DefaultStateMachine {
  rcl_lifecycle_state_t unconfigured = state("unconfigured", 1);
  rcl_lifecycle_state_t inactive = state("inactive", 2);
  rcl_lifecycle_state_t active = state("active", 3);
  rcl_lifecycle_state_t configuring = state("configuring", 10);
  rcl_lifecycle_state_t cleaningup = state("cleaningup", 11);
  rcl_lifecycle_state_t activating = state("activating", 13);
  rcl_lifecycle_state_t deactivating = state("deactivating", 14);

  std::array<rcl_lifecycle_transition_t, 8> transitions{{
      {"configure", TRANSITION_CONFIGURE, &unconfigured, &configuring},
      {"transition_success", TRANSITION_ON_CONFIGURE_SUCCESS, &configuring, &inactive},
      {"cleanup", TRANSITION_CLEANUP, &inactive, &cleaningup},
      {"activate", TRANSITION_ACTIVATE, &inactive, &activating},
      {"transition_success", TRANSITION_ON_CLEANUP_SUCCESS, &cleaningup, &unconfigured},
      {"transition_success", TRANSITION_ON_ACTIVATE_SUCCESS, &activating, &active},
      {"deactivate", TRANSITION_DEACTIVATE, &active, &deactivating},
      {"transition_success", TRANSITION_ON_DEACTIVATE_SUCCESS, &deactivating, &inactive},
  }};

  // Those that start at a state lie side by side.
  DefaultStateMachine() {
    for (rcl_lifecycle_transition_t &transition : transitions) {
      rcl_lifecycle_state_t &start = *transition.start;
      if (start.valid_transitions == nullptr) start.valid_transitions = &transition;
      ++start.valid_transition_size;
    }
  }
};

rcl_ret_t trigger_transition(rcl_lifecycle_state_machine_t *state_machine,
                             const rcl_lifecycle_transition_t &transition) {
  state_machine->current_state = transition.goal;
  const char *const start = transition.start->label;
  const char *const goal = state_machine->current_state->label;
  const evicted::String shown_start(start);
  const evicted::String shown_goal(goal);
  const ground_truth::Bracket times = ground_truth::bracket([&] {
    ros_trace_rcl_lifecycle_transition(state_machine, shown_start.get(), shown_goal.get());
  });
  ground_truth::lifecycle_transition(state_machine, start, goal, times);
  return RCL_RET_OK;
}

}  // namespace

rcl_ret_t rcl_lifecycle_state_machine_init(rcl_lifecycle_state_machine_t *state_machine,
                                           rcl_node_t *node) {
  static const DefaultStateMachine defaults;
  state_machine->current_state = &defaults.unconfigured;
  const ground_truth::Bracket times = ground_truth::bracket(
      [&] { ros_trace_rcl_lifecycle_state_machine_init(node, state_machine); });
  ground_truth::lifecycle_state_machine_initialized(node, state_machine, times);
  return RCL_RET_OK;
}

rcl_ret_t rcl_lifecycle_trigger_transition_by_id(rcl_lifecycle_state_machine_t *state_machine,
                                                 std::uint8_t id, bool) {
  const rcl_lifecycle_state_t &current = *state_machine->current_state;
  const auto *const end = current.valid_transitions + current.valid_transition_size;
  const auto *const transition = std::find_if(
      static_cast<const rcl_lifecycle_transition_t *>(current.valid_transitions), end,
      [id](const rcl_lifecycle_transition_t &candidate) { return candidate.id == id; });
  return transition == end ? RCL_RET_ERROR : trigger_transition(state_machine, *transition);
}
