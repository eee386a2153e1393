// The steps of service calls, for the ground truth. Nothing in here exists in ROS 2.
#pragma once

#include "standin/ground_truth.hpp"

namespace ground_truth {

enum class ServiceStepKind { send_request, take_request, send_response, take_response };

// What the rmw knows about the step that is open on this thread.
struct ServiceFacts {
  Gid client_gid{};  // as the server sees it
  std::int64_t sequence_number = 0;
  std::int64_t source_timestamp = 0;
  bool taken = false;
};
void service_facts(const ServiceFacts &facts);

// One call of the rcl function, from its caller's side.
class ServiceStep {
 public:
  ServiceStep(ServiceStepKind kind, const void *handle, const void *message);
  ~ServiceStep();
  ServiceStep(const ServiceStep &) = delete;
  ServiceStep &operator=(const ServiceStep &) = delete;

 private:
  friend void service_facts(const ServiceFacts &facts);

  ServiceStepKind kind_;
  const void *handle_;
  const void *message_;
  ServiceFacts facts_;
  std::uint64_t before_;
};

}  // namespace ground_truth
