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

void ring_buffer_constructed(const void *buffer, std::uint64_t capacity, Bracket times) {
  write_line("construct_ring_buffer", [&](Line &line) {
    line.address("buffer", buffer);
    line.number("capacity", capacity);
    line.bracket("before", "after", times);
  });
}

void buffer_to_ipb(const void *buffer, const void *ipb, Bracket times) {
  write_line("buffer_to_ipb", [&](Line &line) {
    line.address("buffer", buffer);
    line.address("ipb", ipb);
    line.bracket("before", "after", times);
  });
}

void ipb_to_subscription(const void *ipb, const void *subscription, Bracket times) {
  write_line("ipb_to_subscription", [&](Line &line) {
    line.address("ipb", ipb);
    line.address("subscription", subscription);
    line.bracket("before", "after", times);
  });
}

}  // namespace ground_truth
