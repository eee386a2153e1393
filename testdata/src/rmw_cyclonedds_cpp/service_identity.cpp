#include "../rmw_common/service_identity.hpp"

#include <atomic>
#include <cstring>
#include <memory>

#include "entities.hpp"

namespace rmw_common {
namespace {

struct CddsClient {
  std::unique_ptr<CddsPublisher> pub;
  std::unique_ptr<CddsSubscription> sub;
  std::uint8_t id[16];
};

// Stands for Cyclone's instance handles, which are unique in a process.
std::uint64_t next_handle() {
  static std::atomic<std::uint64_t> next{0x7c0ffee000000001};
  return next++;
}

std::int64_t received_now() {
#ifdef STANDIN_HUMBLE
  return 0;
#else
  return system_time();
#endif
}

}  // namespace

// Servers see the request writer's instance handle in the client's process and in their own.
ClientIdentity new_client_identity(const rmw_node_t *) {
  auto *const client = new CddsClient{};
  client->pub = std::make_unique<CddsPublisher>();
  client->pub->pubiid = next_handle();
  ClientIdentity identity{client, {}};
  const std::uint64_t handle_at_server = next_handle();
  std::memcpy(identity.gid.data(), &client->pub->pubiid, 8);
  std::memcpy(identity.gid.data() + 8, &handle_at_server, 8);
  return identity;
}

void delete_client_data(void *data) { delete static_cast<CddsClient *>(data); }

// All clients of a process share the numbers.
std::int64_t next_sequence_number(std::int64_t) {
  static std::atomic<std::int64_t> next{0};
  return ++next;
}

void describe_request(rmw_service_info_t &info, const ground_truth::Gid &client_gid,
                      std::int64_t source_timestamp) {
  std::memcpy(info.request_id.writer_guid, client_gid.data(), client_gid.size());
  info.source_timestamp = source_timestamp;
  info.received_timestamp = received_now();
}

// The second half is the response writer's instance handle in the client's process.
void describe_response(rmw_service_info_t &info, const ground_truth::Gid &client_gid,
                       std::int64_t source_timestamp) {
  static const std::uint64_t response_writer = next_handle();
  std::memcpy(info.request_id.writer_guid, client_gid.data(), 8);
  std::memcpy(info.request_id.writer_guid + 8, &response_writer, 8);
  info.source_timestamp = source_timestamp;
  info.received_timestamp = received_now();
}

}  // namespace rmw_common
