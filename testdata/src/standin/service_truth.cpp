#include "standin/service_truth.hpp"

#include "line.hpp"

namespace ground_truth {
namespace {

constexpr const char *kNames[] = {"send_request", "take_request", "send_response", "take_response"};
thread_local ServiceStep *open_step = nullptr;

}  // namespace

void service_facts(const ServiceFacts &facts) {
  if (open_step != nullptr) open_step->facts_ = facts;
}

ServiceStep::ServiceStep(ServiceStepKind kind, const void *handle, const void *message)
    : kind_(kind), handle_(handle), message_(message) {
  open_step = this;
  before_ = now();
}

ServiceStep::~ServiceStep() {
  const Bracket times{before_, now()};
  open_step = nullptr;
  const bool takes =
      kind_ == ServiceStepKind::take_request || kind_ == ServiceStepKind::take_response;
  const bool serves =
      kind_ == ServiceStepKind::take_request || kind_ == ServiceStepKind::send_response;
  append_line("service_step", [&](Line &line) {
    line.string("step", kNames[static_cast<int>(kind_)]);
    line.address(serves ? "service" : "client", handle_);
    line.address("message", message_);
    if (takes) line.number("taken", facts_.taken ? 1 : 0);
    if (!takes || facts_.taken) {
      line.gid("client_gid", facts_.client_gid);
      line.signed_number("sequence_number", facts_.sequence_number);
      line.signed_number("source_timestamp", facts_.source_timestamp);
    }
    line.bracket("before", "after", times);
    const OpenCallback callback = open_callback();
    if (callback.callback != nullptr) {
      line.address("callback", callback.callback);
      line.number("callback_start", callback.start);
    }
  });
}

}  // namespace ground_truth
