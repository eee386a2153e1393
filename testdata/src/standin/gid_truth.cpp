#include "standin/gid_truth.hpp"

#include "line.hpp"

namespace ground_truth {

void rmw_entity_created(const char *what, const void *handle, const Gid &gid, Bracket times) {
  write_line(what, [&](Line &line) {
    line.address("handle", handle);
    line.gid("gid", gid);
    line.bracket("before", "after", times);
  });
}

}  // namespace ground_truth
