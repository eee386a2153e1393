// Timers whose function objects have all forms: where a timer keeps its own depends on its type.
#pragma once

#include "sample_node.hpp"

// The timers live as long as the node, each with another period.
void add_timers_of_all_forms(SampleNode &node, double rate);
