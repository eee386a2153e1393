#include "standin/node_truth.hpp"

#include "line.hpp"

namespace ground_truth {

void lifecycle_state_machine_initialized(const void *node, const void *state_machine,
                                         Bracket times) {
  write_line("lifecycle_state_machine_init", [&](Line &line) {
    line.address("node", node);
    line.address("state_machine", state_machine);
    line.bracket("before", "after", times);
  });
}

void lifecycle_transition(const void *state_machine, const char *start, const char *goal,
                          Bracket times) {
  append_line("lifecycle_transition", [&](Line &line) {
    line.address("state_machine", state_machine);
    line.string("start", start);
    line.string("goal", goal);
    line.bracket("before", "after", times);
  });
}

void sim_time_set(const void *clock, std::int64_t stamp, Bracket times) {
  append_line("sim_time", [&](Line &line) {
    line.address("clock", clock);
    line.signed_number("stamp", stamp);
    line.bracket("before", "after", times);
  });
}

}  // namespace ground_truth
