#include "standin/raw_truth.hpp"

#include "line.hpp"

namespace ground_truth {
namespace {
constexpr const char *kKinds[] = {"serialized", "loaned"};
thread_local RawTake *open_take = nullptr;
}  // namespace

RawPublish::RawPublish(RawKind kind, const void *rcl_publisher, const void *message)
    : kind_(kind), publisher_(rcl_publisher), message_(message), before_(now()) {}

RawPublish::~RawPublish() {
  const Bracket times{before_, now()};
  append_line("raw_publish", [&](Line &line) {
    line.string("kind", kKinds[static_cast<int>(kind_)]);
    line.number("publish_number", publish_number());
    line.address("publisher", publisher_);
    line.address("message", message_);
    line.bracket("before", "after", times);
  });
}

void raw_take_facts(const Take &take, bool taken) {
  if (open_take == nullptr) return;
  open_take->take_ = take;
  open_take->taken_ = taken;
  open_take->rmw_returns_ = now();
}

RawTake::RawTake(RawKind kind, const void *rcl_subscription)
    : kind_(kind), subscription_(rcl_subscription) {
  open_take = this;
  before_ = now();
}

RawTake::~RawTake() {
  const Bracket times{before_, now()};
  open_take = nullptr;
  if (taken_ && take_.bracket.before == 0) {
    take_.bracket = {rmw_returns_, times.after};
    took(take_);
  }
  append_line("raw_take", [&](Line &line) {
    line.string("kind", kKinds[static_cast<int>(kind_)]);
    line.address("subscription", subscription_);
    line.address("rmw_subscription", take_.rmw_subscription);
    line.address("message", take_.message);
    line.number("taken", taken_ ? 1 : 0);
    if (taken_) {
      line.signed_number("source_timestamp", take_.source_timestamp);
      line.gid("publisher_gid", take_.publisher_gid);
      line.gid("info_gid", take_.info_gid);
    }
    line.bracket("before", "after", times);
  });
}

}  // namespace ground_truth
