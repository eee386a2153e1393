#include "../rmw_common/service_identity.hpp"

#include <atomic>
#include <cstring>
#include <string>

#include "../rmw_fastrtps_shared_cpp/rmw_fastrtps_shared_cpp.hpp"

namespace rtps = rmw_fastrtps_shared_cpp::rtps;

namespace rmw_common {
namespace {

struct CustomClientInfo {
  std::byte type_supports_and_endpoints[80];
  std::string request_topic;
  std::string response_topic;
#ifdef STANDIN_JAZZY
  void *request_topic_object;
  void *response_topic_object;
#endif
  void *listener;
  std::uint8_t writer_guid[16];
  std::uint8_t reader_guid[16];
};
#ifdef STANDIN_HUMBLE
static_assert(offsetof(CustomClientInfo, reader_guid) == 168);
#else
static_assert(offsetof(CustomClientInfo, reader_guid) == 184);
#endif

// Kinds of user-defined endpoints without keys.
constexpr std::uint8_t kWriterKind = 0x03;
constexpr std::uint8_t kReaderKind = 0x04;

void write_guid(std::uint8_t (&guid)[16], const rtps::GuidPrefix_t &prefix, std::uint16_t number,
                std::uint8_t kind) {
  std::memcpy(guid, prefix.value, sizeof prefix.value);
  guid[12] = 0xff;  // no number that the DDS gives
  guid[13] = static_cast<std::uint8_t>(number >> 8);
  guid[14] = static_cast<std::uint8_t>(number);
  guid[15] = kind;
}

}  // namespace

// Servers see the GUID of the client's response reader.
ClientIdentity new_client_identity(const rmw_node_t *node) {
  static std::atomic<std::uint16_t> clients{0};
  const rtps::GuidPrefix_t &prefix =
      rmw_fastrtps_shared_cpp::participant_of(node).participant->guid().guidPrefix;
  auto *const info = new CustomClientInfo{};
  const std::uint16_t number = ++clients;
  write_guid(info->writer_guid, prefix, number, kWriterKind);
  write_guid(info->reader_guid, prefix, number, kReaderKind);
  ClientIdentity identity{info, {}};
  std::memcpy(identity.gid.data(), info->reader_guid, sizeof info->reader_guid);
  return identity;
}

void delete_client_data(void *data) { delete static_cast<CustomClientInfo *>(data); }

// The request writer counts its samples.
std::int64_t next_sequence_number(std::int64_t last) { return last + 1; }

void describe_request(rmw_service_info_t &info, const ground_truth::Gid &client_gid,
                      std::int64_t source_timestamp) {
  std::memcpy(info.request_id.writer_guid, client_gid.data(), client_gid.size());
  info.source_timestamp = source_timestamp;
  info.received_timestamp = source_timestamp;
}

// The writer_guid stays as it was.
void describe_response(rmw_service_info_t &info, const ground_truth::Gid &,
                       std::int64_t source_timestamp) {
  info.source_timestamp = source_timestamp;
  info.received_timestamp = system_time();
}

}  // namespace rmw_common
