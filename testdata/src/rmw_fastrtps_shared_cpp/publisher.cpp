#include <cstring>
#include <fastdds/dds/topic/Topic.hpp>

#include "../rmw_common/names.hpp"
#include "rmw_fastrtps_shared_cpp.hpp"
#include "stamp_reader.hpp"
#include "standin/failure.hpp"
#include "standin/gid_truth.hpp"
#include "tracetools/tracetools.h"
#include "type_support.hpp"

using ground_truth::Layer;

namespace rmw_fastrtps_shared_cpp {
namespace {

// Writers of one DDS publisher share its partitions, so that a writer with a stamp reader needs a
// publisher of its own.
dds::Publisher *publisher_in_partition(const ParticipantInfo &info, const std::string &partition) {
  dds::PublisherQos qos;
  qos.partition().push_back("");
  qos.partition().push_back(partition.c_str());
  return info.participant->create_publisher(qos);
}

bool needs_stamp_reader() {
#ifdef STANDIN_HUMBLE
  return ground_truth::enabled();
#else
  return false;
#endif
}

enum class Traced { always, on_jazzy };

// Writes; the stamp layer is what happens inside.
bool write_to_dds(const CustomPublisherInfo &info,
                  [[maybe_unused]] const rmw_publisher_t *publisher, SerializedData &data,
                  [[maybe_unused]] Traced traced) {
  bool written = false;
#ifdef STANDIN_HUMBLE
  if (traced == Traced::always) {
    const ground_truth::Bracket rmw_times =
        ground_truth::bracket([&] { ros_trace_rmw_publish(data.message); });
    ground_truth::publish_layer(Layer::rmw, rmw_times, data.message);
  }
  const ground_truth::Bracket times =
      ground_truth::bracket([&] { written = succeeded(info.data_writer_->write(&data)); });
  if (written && info.stamp_reader != nullptr) {
    ground_truth::publish_stamp(StampReader::take_stamp());
  }
#else
  Time stamp;
  Time::now(stamp);
  const std::int64_t nanoseconds = stamp.to_ns();
  const ground_truth::Bracket rmw_times =
      ground_truth::bracket([&] { ros_trace_rmw_publish(publisher, data.message, nanoseconds); });
  ground_truth::publish_layer(Layer::rmw, rmw_times, data.message);
  ground_truth::publish_stamp(nanoseconds);
  const ground_truth::Bracket times = ground_truth::bracket([&] {
    written = succeeded(
        info.data_writer_->write_w_timestamp(&data, rtps::c_InstanceHandle_Unknown, stamp));
  });
#endif
  if (written) ground_truth::publish_layer(Layer::stamp, times, data.message);
  return written;
}

}  // namespace

rmw_publisher_t *create_publisher(const char *identifier, const rmw_node_t *node,
                                  const rosidl_message_type_support_t *type_support,
                                  const char *topic, const rmw_qos_profile_t *qos) {
  const message_type_support_callbacks_t *const type = rmw_common::find_callbacks(type_support);
  if (type == nullptr) return nullptr;
  const ParticipantInfo &participant = participant_of(node);
  dds::Topic *const dds_topic = find_or_create_topic(participant, *type, topic);
  dds::DataWriterQos writer_qos;
  apply_qos(*qos, writer_qos);
  writer_qos.publish_mode().kind = dds::SYNCHRONOUS_PUBLISH_MODE;

  auto *const info = new CustomPublisherInfo;
  info->listener_ = new PublisherListener;
  info->type_support_impl_ = type;
  info->type_support_ = participant.participant->find_type(rmw_common::dds_type(*type));
  const std::string partition = StampReader::new_partition();
  dds::Publisher *const dds_publisher =
      needs_stamp_reader() ? publisher_in_partition(participant, partition) : participant.publisher;
  info->data_writer_ = dds_publisher->create_datawriter(dds_topic, writer_qos, info->listener_);
  if (info->data_writer_ == nullptr) return nullptr;
  info->publisher_gid = make_gid(identifier, info->data_writer_->guid());
  if (needs_stamp_reader()) {
    info->stamp_reader = new StampReader(participant, dds_topic, partition, *type);
  }
  auto *const publisher = new rmw_publisher_t{};
  publisher->implementation_identifier = identifier;
  publisher->data = info;
  publisher->topic_name = strdup(topic);
  publisher->can_loan_messages = type->plain_size != 0;
  const ground_truth::Bracket times = ground_truth::bracket(
      [&] { ros_trace_rmw_publisher_init(publisher, info->publisher_gid.data); });
  ground_truth::rmw_entity_created("rmw_publisher_init", publisher,
                                   ground_truth::gid_of(info->publisher_gid.data), times);
  return publisher;
}

rmw_ret_t __rmw_destroy_publisher(const char *, const rmw_node_t *node,
                                  rmw_publisher_t *publisher) {
  auto *const info = static_cast<CustomPublisherInfo *>(publisher->data);
  delete info->stamp_reader;
  const ParticipantInfo &participant = participant_of(node);
  auto *const dds_publisher = const_cast<dds::Publisher *>(info->data_writer_->get_publisher());
  dds_publisher->delete_datawriter(info->data_writer_);
  if (dds_publisher != participant.publisher) {
    participant.participant->delete_publisher(dds_publisher);
  }
  delete info->listener_;
  delete info;
  std::free(const_cast<char *>(publisher->topic_name));
  delete publisher;
  return RMW_RET_OK;
}

rmw_ret_t __rmw_publish(const char *identifier, const rmw_publisher_t *publisher,
                        const void *message, void *) {
  if (publisher->implementation_identifier != identifier) return RMW_RET_ERROR;
  if (failure::due(failure::Point::rmw)) return RMW_RET_ERROR;
  const auto *const info = static_cast<const CustomPublisherInfo *>(publisher->data);
  SerializedData data{
      const_cast<void *>(message),
      static_cast<const message_type_support_callbacks_t *>(info->type_support_impl_),
      {}};
  return write_to_dds(*info, publisher, data, Traced::always) ? RMW_RET_OK : RMW_RET_ERROR;
}

rmw_ret_t __rmw_publish_serialized_message(const char *identifier, const rmw_publisher_t *publisher,
                                           const rmw_serialized_message_t *message, void *) {
  if (publisher->implementation_identifier != identifier) return RMW_RET_ERROR;
  if (failure::due(failure::Point::rmw)) return RMW_RET_ERROR;
  const auto *const info = static_cast<const CustomPublisherInfo *>(publisher->data);
  SerializedData data{const_cast<rmw_serialized_message_t *>(message),
                      nullptr,
                      {message->buffer, message->buffer + message->buffer_length}};
  return write_to_dds(*info, publisher, data, Traced::on_jazzy) ? RMW_RET_OK : RMW_RET_ERROR;
}

// The memory goes back to the middleware.
rmw_ret_t __rmw_publish_loaned_message(const char *identifier, const rmw_publisher_t *publisher,
                                       void *message, void *) {
  if (publisher->implementation_identifier != identifier) return RMW_RET_ERROR;
  if (failure::due(failure::Point::rmw)) return RMW_RET_ERROR;
  const auto *const info = static_cast<const CustomPublisherInfo *>(publisher->data);
  SerializedData data{
      message, static_cast<const message_type_support_callbacks_t *>(info->type_support_impl_), {}};
  const bool written = write_to_dds(*info, publisher, data, Traced::on_jazzy);
  ::operator delete(message);
  return written ? RMW_RET_OK : RMW_RET_ERROR;
}

rmw_ret_t __rmw_borrow_loaned_message(const char *, const rmw_publisher_t *publisher,
                                      const rosidl_message_type_support_t *, void **message) {
  if (!publisher->can_loan_messages) return RMW_RET_ERROR;
  const auto *const info = static_cast<const CustomPublisherInfo *>(publisher->data);
  const auto *const type =
      static_cast<const message_type_support_callbacks_t *>(info->type_support_impl_);
  *message = ::operator new(type->plain_size);
  return RMW_RET_OK;
}

rmw_ret_t __rmw_get_gid_for_publisher(const char *, const rmw_publisher_t *publisher,
                                      rmw_gid_t *gid) {
  *gid = static_cast<const CustomPublisherInfo *>(publisher->data)->publisher_gid;
  return RMW_RET_OK;
}

rmw_ret_t __rmw_publisher_count_matched_subscriptions(const rmw_publisher_t *publisher,
                                                      std::size_t *count) {
  const auto *const info = static_cast<const CustomPublisherInfo *>(publisher->data);
  const int own = info->stamp_reader == nullptr ? 0 : StampReader::kMatched;
  *count = static_cast<std::size_t>(info->listener_->matched - own);
  return RMW_RET_OK;
}

}  // namespace rmw_fastrtps_shared_cpp
