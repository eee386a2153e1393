#include "standin/executor_truth.hpp"

#include "line.hpp"

namespace ground_truth {

void executor_constructed(const void *executor, const char *type, const void *collector,
                          std::uint64_t before) {
  write_line("construct_executor", [&](Line &line) {
    line.address("executor", executor);
    line.string("type", type);
    if (collector != nullptr) line.address("collector", collector);
    line.bracket("before", "after", {before, now()});
  });
}

void executor_destroyed(const void *executor, std::uint64_t before) {
  write_line("destroy_executor", [&](Line &line) {
    line.address("executor", executor);
    line.bracket("before", "after", {before, now()});
  });
}

void waited(const void *executor, std::int64_t timeout, Bracket start, Bracket end) {
  append_line("wait", [&](Line &line) {
    line.address("executor", executor);
    line.signed_number("timeout", timeout);
    line.bracket("before_start", "after_start", start);
    line.bracket("before_end", "after_end", end);
  });
}

void group_created(const void *group, const char *type, const void *node, bool automatic) {
  entity("callback_group\tgroup=" + hex(group) + "\ttype=" + type + "\tnode=" + hex(node) +
         "\tautomatic=" + (automatic ? "1" : "0"));
}

void group_added(const void *executor, const void *collector, const void *group, const char *type,
                 Bracket times) {
  write_line("add_callback_group", [&](Line &line) {
    if (executor != nullptr) line.address("executor", executor);
    if (collector != nullptr) line.address("collector", collector);
    line.address("group", group);
    line.string("type", type);
    line.bracket("before", "after", times);
  });
}

void added_to_group(const char *what, const void *group, const void *handle, Bracket times) {
  write_line("callback_group_add", [&](Line &line) {
    line.string("what", what);
    line.address("group", group);
    line.address("handle", handle);
    line.bracket("before", "after", times);
  });
}

}  // namespace ground_truth
