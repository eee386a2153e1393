#include "standin/intra_truth.hpp"

#include "line.hpp"

namespace ground_truth {

IntraPublish::IntraPublish(const void *rcl_publisher, const void *message)
    : publisher_(rcl_publisher), message_(message), before_(now()) {}

void IntraPublish::finish() {
  const Bracket times{before_, now()};
  append_line("intra_publish", [&](Line &line) {
    line.number("publish_number", publish_number());
    line.address("publisher", publisher_);
    line.address("message", message_);
    line.bracket("before", "after", times);
  });
}

}  // namespace ground_truth
