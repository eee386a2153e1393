#pragma once

#include "rmw_fastrtps_shared_cpp.hpp"

namespace rmw_fastrtps_shared_cpp {

// One ROS message type for Fast DDS. Samples are SerializedData.
class MessageType : public dds::TopicDataType {
 public:
  explicit MessageType(const message_type_support_callbacks_t &type);

#ifdef FAST_DDS_3
  bool serialize(const void *data, rtps::SerializedPayload_t &payload,
                 dds::DataRepresentationId_t representation) override;
  bool deserialize(rtps::SerializedPayload_t &payload, void *data) override;
  std::uint32_t calculate_serialized_size(const void *data,
                                          dds::DataRepresentationId_t representation) override;
  void *create_data() override;
  void delete_data(void *data) override;
  bool compute_key(rtps::SerializedPayload_t &payload, rtps::InstanceHandle_t &handle,
                   bool force_md5) override;
  bool compute_key(const void *data, rtps::InstanceHandle_t &handle, bool force_md5) override;
#else
  bool serialize(void *data, rtps::SerializedPayload_t *payload) override;
  bool deserialize(rtps::SerializedPayload_t *payload, void *data) override;
  std::function<std::uint32_t()> getSerializedSizeProvider(void *data) override;
  void *createData() override;
  void deleteData(void *data) override;
  bool getKey(void *data, rtps::InstanceHandle_t *handle, bool force_md5) override;
#endif
};

}  // namespace rmw_fastrtps_shared_cpp
