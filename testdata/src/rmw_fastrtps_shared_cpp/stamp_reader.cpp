#include "stamp_reader.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <utility>

namespace rmw_fastrtps_shared_cpp {
namespace {

thread_local std::int64_t received_stamp = 0;

dds::SubscriberQos in_partition(const std::string &partition) {
  dds::SubscriberQos qos;
  qos.partition().push_back(partition.c_str());
  return qos;
}

dds::DataReaderQos best_effort() {
  dds::DataReaderQos qos;
  rmw_qos_profile_t profile{};
  profile.depth = 16;
  apply_qos(profile, qos);
  qos.reliability().kind = dds::BEST_EFFORT_RELIABILITY_QOS;
  return qos;
}

}  // namespace

std::string StampReader::new_partition() {
  static std::atomic<unsigned> count{0};
  return "standin_stamp_" + std::to_string(getpid()) + "_" + std::to_string(count++);
}

StampReader::StampReader(const ParticipantInfo &info, dds::Topic *topic,
                         const std::string &partition, const message_type_support_callbacks_t &type)
    : info_(info),
      type_(type),
      subscriber_(info.participant->create_subscriber(in_partition(partition))),
      reader_(subscriber_->create_datareader(topic, best_effort(), this)) {}

StampReader::~StampReader() {
  subscriber_->delete_datareader(reader_);
  info_.participant->delete_subscriber(subscriber_);
}

std::int64_t StampReader::take_stamp() {
  if (received_stamp == 0) {
    std::fprintf(stderr, "stamp reader: the sample did not come back within write()\n");
    std::abort();
  }
  return std::exchange(received_stamp, 0);
}

void StampReader::on_data_available(dds::DataReader *reader) {
  SerializedData data{nullptr, &type_, {}};
  dds::SampleInfo info;
  while (reader->take_next_sample(&data, &info) == kOk) {
    received_stamp = info.source_timestamp.to_ns();
  }
}

}  // namespace rmw_fastrtps_shared_cpp
