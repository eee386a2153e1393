#include "standin/lifetime_truth.hpp"

#include "line.hpp"

namespace ground_truth {

void initialized(const char *kind, const void *handle, const void *node, Bracket times) {
  write_line("entity_init", [&](Line &line) {
    line.string("kind", kind);
    line.address("handle", handle);
    if (node != nullptr) line.address("node", node);
    line.bracket("before", "after", times);
  });
}

void finalized(const char *kind, const void *handle, Bracket times) {
  write_line("entity_fini", [&](Line &line) {
    line.string("kind", kind);
    line.address("handle", handle);
    line.bracket("before", "after", times);
  });
}

}  // namespace ground_truth
