// The truth about source timestamps on Humble, where the DDS writer takes the stamp itself: a
// reader that is matched with this one writer only (a partition of its own) gets every sample back,
// inside write() and on the writing thread, because Fast DDS delivers within a process directly.
#pragma once

#include <string>

#include "rmw_fastrtps_shared_cpp.hpp"

namespace rmw_fastrtps_shared_cpp {

class StampReader : public dds::DataReaderListener {
 public:
  // To be listed, besides "", in the writer's partitions.
  static std::string new_partition();

  StampReader(const ParticipantInfo &info, dds::Topic *topic, const std::string &partition,
              const message_type_support_callbacks_t &type);
  ~StampReader() override;

  // Readers of this kind match the writer too; they do not count as subscriptions.
  static constexpr int kMatched = 1;

  // The stamp of the sample that this thread has just written, in nanoseconds.
  static std::int64_t take_stamp();

  void on_data_available(dds::DataReader *reader) override;

 private:
  const ParticipantInfo &info_;
  const message_type_support_callbacks_t &type_;
  dds::Subscriber *subscriber_;
  dds::DataReader *reader_;
};

}  // namespace rmw_fastrtps_shared_cpp
