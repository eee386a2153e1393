#pragma once

#include "rmw_fastrtps_shared_cpp.hpp"

namespace rmw_fastrtps_shared_cpp {

// One ROS message type for Fast DDS. Samples are SerializedData.
class MessageType : public dds::TopicDataType {
 public:
  explicit MessageType(const message_type_support_callbacks_t &type);

  bool serialize(void *data, rtps::SerializedPayload_t *payload) override;
  bool deserialize(rtps::SerializedPayload_t *payload, void *data) override;
  std::function<std::uint32_t()> getSerializedSizeProvider(void *data) override;
  void *createData() override;
  void deleteData(void *data) override;
  bool getKey(void *data, rtps::InstanceHandle_t *handle, bool force_md5) override;
};

}  // namespace rmw_fastrtps_shared_cpp
