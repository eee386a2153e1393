// How the two rmws differ in what they write into the headers of requests and responses.
#pragma once

#include <cstdint>

#include "rmw/rmw.h"
#include "standin/ground_truth.hpp"

namespace rmw_common {

// A client's identity and the memory behind rmw_client_t::data, whose layout is the distribution's
// up to the identity.
struct ClientIdentity {
  void *data;
  ground_truth::Gid gid;  // as servers see it
};
ClientIdentity new_client_identity(const rmw_node_t *node);
void delete_client_data(void *data);

// The number of a client's next request; `last` is the one before.
std::int64_t next_sequence_number(std::int64_t last);

// Fills in what a taken request or response says about its times and its client.
void describe_request(rmw_service_info_t &info, const ground_truth::Gid &client_gid,
                      std::int64_t source_timestamp);
void describe_response(rmw_service_info_t &info, const ground_truth::Gid &client_gid,
                       std::int64_t source_timestamp);

// The system clock, as in source timestamps.
std::int64_t system_time();

}  // namespace rmw_common
