#include "type_support.hpp"

#include <algorithm>

#include "../rmw_common/names.hpp"
#include "standin/failure.hpp"

namespace rmw_fastrtps_shared_cpp {
namespace {

constexpr std::uint8_t kEncapsulation[] = {0, CDR_LE, 0, 0};
constexpr std::uint32_t kInitialPayloadSize = 256;

// Before a sample is written, Fast DDS asks for its size: then the message is serialized.
std::uint32_t serialized_size(SerializedData &sample) {
  if (sample.type != nullptr) {
    sample.bytes.assign(std::begin(kEncapsulation), std::end(kEncapsulation));
    sample.type->cdr_serialize(sample.message, sample.bytes);
  }
  return static_cast<std::uint32_t>(sample.bytes.size());
}

bool write_payload(const SerializedData &sample, rtps::SerializedPayload_t &payload) {
  if (failure::due(failure::Point::dds)) return false;
  std::copy(sample.bytes.begin(), sample.bytes.end(), payload.data);
  payload.length = static_cast<std::uint32_t>(sample.bytes.size());
  payload.encapsulation = CDR_LE;
  return true;
}

bool read_payload(const rtps::SerializedPayload_t &payload, SerializedData &sample) {
  if (sample.message == nullptr) return true;
  if (sample.type == nullptr) {
    sample.bytes.assign(payload.data, payload.data + payload.length);
    return true;
  }
  if (payload.length < sizeof kEncapsulation) return false;
  return sample.type->cdr_deserialize(payload.data + sizeof kEncapsulation,
                                      payload.length - sizeof kEncapsulation, sample.message);
}

}  // namespace

#ifdef FAST_DDS_3

MessageType::MessageType(const message_type_support_callbacks_t &type) {
  set_name(rmw_common::dds_type(type));
  max_serialized_type_size = kInitialPayloadSize;
  is_compute_key_provided = false;
}

std::uint32_t MessageType::calculate_serialized_size(const void *data,
                                                     dds::DataRepresentationId_t) {
  // The writer's sample is not const.
  return serialized_size(*static_cast<SerializedData *>(const_cast<void *>(data)));
}

bool MessageType::serialize(const void *data, rtps::SerializedPayload_t &payload,
                            dds::DataRepresentationId_t) {
  return write_payload(*static_cast<const SerializedData *>(data), payload);
}

bool MessageType::deserialize(rtps::SerializedPayload_t &payload, void *data) {
  return read_payload(payload, *static_cast<SerializedData *>(data));
}

void *MessageType::create_data() { return new SerializedData; }
void MessageType::delete_data(void *data) { delete static_cast<SerializedData *>(data); }
bool MessageType::compute_key(rtps::SerializedPayload_t &, rtps::InstanceHandle_t &, bool) {
  return false;
}
bool MessageType::compute_key(const void *, rtps::InstanceHandle_t &, bool) { return false; }

#else

MessageType::MessageType(const message_type_support_callbacks_t &type) {
  setName(rmw_common::dds_type(type).c_str());
  m_typeSize = kInitialPayloadSize;
  m_isGetKeyDefined = false;
  auto_fill_type_information(false);
  auto_fill_type_object(false);
}

std::function<std::uint32_t()> MessageType::getSerializedSizeProvider(void *data) {
  return [data] { return serialized_size(*static_cast<SerializedData *>(data)); };
}

bool MessageType::serialize(void *data, rtps::SerializedPayload_t *payload) {
  return write_payload(*static_cast<const SerializedData *>(data), *payload);
}

bool MessageType::deserialize(rtps::SerializedPayload_t *payload, void *data) {
  return read_payload(*payload, *static_cast<SerializedData *>(data));
}

void *MessageType::createData() { return new SerializedData; }
void MessageType::deleteData(void *data) { delete static_cast<SerializedData *>(data); }
bool MessageType::getKey(void *, rtps::InstanceHandle_t *, bool) { return false; }

#endif

}  // namespace rmw_fastrtps_shared_cpp
