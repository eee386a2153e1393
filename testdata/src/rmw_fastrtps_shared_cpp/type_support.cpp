#include "type_support.hpp"

#include <algorithm>

#include "../rmw_common/names.hpp"
#include "standin/failure.hpp"

namespace rmw_fastrtps_shared_cpp {
namespace {
constexpr std::uint8_t kEncapsulation[] = {0, CDR_LE, 0, 0};
constexpr std::uint32_t kInitialPayloadSize = 256;
}  // namespace

MessageType::MessageType(const message_type_support_callbacks_t &type) {
  setName(rmw_common::dds_type(type).c_str());
  m_typeSize = kInitialPayloadSize;
  m_isGetKeyDefined = false;
  auto_fill_type_information(false);
  auto_fill_type_object(false);
}

std::function<std::uint32_t()> MessageType::getSerializedSizeProvider(void *data) {
  auto *const sample = static_cast<SerializedData *>(data);
  return [sample] {
    if (sample->type == nullptr) return static_cast<std::uint32_t>(sample->bytes.size());
    sample->bytes.assign(std::begin(kEncapsulation), std::end(kEncapsulation));
    sample->type->cdr_serialize(sample->message, sample->bytes);
    return static_cast<std::uint32_t>(sample->bytes.size());
  };
}

bool MessageType::serialize(void *data, rtps::SerializedPayload_t *payload) {
  if (failure::due(failure::Point::dds)) return false;
  const std::vector<std::uint8_t> &bytes = static_cast<SerializedData *>(data)->bytes;
  std::copy(bytes.begin(), bytes.end(), payload->data);
  payload->length = static_cast<std::uint32_t>(bytes.size());
  payload->encapsulation = CDR_LE;
  return true;
}

bool MessageType::deserialize(rtps::SerializedPayload_t *payload, void *data) {
  auto *const sample = static_cast<SerializedData *>(data);
  if (sample->message == nullptr) return true;
  if (sample->type == nullptr) {
    sample->bytes.assign(payload->data, payload->data + payload->length);
    return true;
  }
  if (payload->length < sizeof kEncapsulation) return false;
  return sample->type->cdr_deserialize(payload->data + sizeof kEncapsulation,
                                       payload->length - sizeof kEncapsulation, sample->message);
}

void *MessageType::createData() { return new SerializedData; }
void MessageType::deleteData(void *data) { delete static_cast<SerializedData *>(data); }
bool MessageType::getKey(void *, rtps::InstanceHandle_t *, bool) { return false; }

}  // namespace rmw_fastrtps_shared_cpp
