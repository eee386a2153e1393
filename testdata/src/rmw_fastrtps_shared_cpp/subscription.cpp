#include <cstring>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/topic/Topic.hpp>

#include "../rmw_common/names.hpp"
#include "rmw_fastrtps_shared_cpp.hpp"
#include "standin/gid_truth.hpp"
#include "standin/raw_truth.hpp"
#include "tracetools/tracetools.h"
#include "type_support.hpp"

namespace rmw_fastrtps_shared_cpp {

void SubscriptionListener::on_data_available(dds::DataReader *) {
  const std::lock_guard lock(mutex_);
  if (callback_ != nullptr) callback_(user_data_, 1);
}

void SubscriptionListener::set_on_new_message(rmw_event_callback_t callback,
                                              const void *user_data) {
  const std::lock_guard lock(mutex_);
  callback_ = callback;
  user_data_ = user_data;
}

rmw_subscription_t *create_subscription(const char *identifier, const rmw_node_t *node,
                                        const rosidl_message_type_support_t *type_support,
                                        const char *topic, const rmw_qos_profile_t *qos) {
  const message_type_support_callbacks_t *const type = rmw_common::find_callbacks(type_support);
  if (type == nullptr) return nullptr;
  const ParticipantInfo &participant = participant_of(node);
  dds::Topic *const dds_topic = find_or_create_topic(participant, *type, topic);
  dds::DataReaderQos reader_qos;
  apply_qos(*qos, reader_qos);

  auto *const info = new CustomSubscriberInfo;
  info->listener_ = new SubscriptionListener;
  info->type_support_impl_ = type;
  info->type_support_ = participant.participant->find_type(rmw_common::dds_type(*type));
  info->data_reader_ =
      participant.subscriber->create_datareader(dds_topic, reader_qos, info->listener_);
  if (info->data_reader_ == nullptr) return nullptr;
  info->subscription_gid_ = make_gid(identifier, info->data_reader_->guid());
  auto *const subscription = new rmw_subscription_t{};
  subscription->implementation_identifier = identifier;
  subscription->data = info;
  subscription->topic_name = strdup(topic);
  subscription->can_loan_messages = type->plain_size != 0;
  const ground_truth::Bracket times = ground_truth::bracket(
      [&] { ros_trace_rmw_subscription_init(subscription, info->subscription_gid_.data); });
  ground_truth::rmw_entity_created("rmw_subscription_init", subscription,
                                   ground_truth::gid_of(info->subscription_gid_.data), times);
  return subscription;
}

rmw_ret_t __rmw_destroy_subscription(const char *, const rmw_node_t *node,
                                     rmw_subscription_t *subscription) {
  auto *const info = static_cast<CustomSubscriberInfo *>(subscription->data);
  participant_of(node).subscriber->delete_datareader(info->data_reader_);
  delete info->listener_;
  delete info;
  std::free(const_cast<char *>(subscription->topic_name));
  delete subscription;
  return RMW_RET_OK;
}

// False if there is nothing. Fills in the info and what the ground truth wants to know.
static bool take_sample(const char *identifier, const rmw_subscription_t *subscription,
                        SerializedData &sample, rmw_message_info_t &info,
                        ground_truth::Take &take) {
  const auto *const data = static_cast<const CustomSubscriberInfo *>(subscription->data);
  take.rmw_subscription = subscription;
  take.message = sample.message;
  dds::SampleInfo sample_info;
  do {
    if (data->data_reader_->take_next_sample(&sample, &sample_info) != kOk) return false;
  } while (!sample_info.valid_data);
  info.source_timestamp = sample_info.source_timestamp.to_ns();
  info.received_timestamp = sample_info.reception_timestamp.to_ns();
  info.publisher_gid = make_gid(identifier, sample_info.sample_identity.writer_guid());
  info.from_intra_process = false;
  take.source_timestamp = info.source_timestamp;
  take.publisher_gid = ground_truth::gid_of(info.publisher_gid.data);
  take.info_gid = take.publisher_gid;
  return true;
}

rmw_ret_t _take(const char *identifier, const rmw_subscription_t *subscription, void *message,
                bool *taken, rmw_message_info_t *info, void *) {
  const auto *const data = static_cast<const CustomSubscriberInfo *>(subscription->data);
  SerializedData sample{
      message, static_cast<const message_type_support_callbacks_t *>(data->type_support_impl_), {}};
  ground_truth::Take take;
  *taken = take_sample(identifier, subscription, sample, *info, take);
  take.bracket = ground_truth::bracket(
      [&] { ros_trace_rmw_take(subscription, message, take.source_timestamp, *taken); });
  if (*taken) ground_truth::took(take);
  return RMW_RET_OK;
}

rmw_ret_t _take_serialized_message(const char *identifier, const rmw_subscription_t *subscription,
                                   rmw_serialized_message_t *message, bool *taken,
                                   rmw_message_info_t *info, void *) {
  SerializedData sample{message, nullptr, {}};
  ground_truth::Take take;
  *taken = take_sample(identifier, subscription, sample, *info, take);
  if (*taken) {
    message->buffer =
        static_cast<std::uint8_t *>(std::realloc(message->buffer, sample.bytes.size()));
    message->buffer_length = message->buffer_capacity = sample.bytes.size();
    std::memcpy(message->buffer, sample.bytes.data(), sample.bytes.size());
  }
#ifdef STANDIN_JAZZY
  take.bracket = ground_truth::bracket(
      [&] { ros_trace_rmw_take(subscription, message, take.source_timestamp, *taken); });
  if (*taken) ground_truth::took(take);
#endif
  ground_truth::raw_take_facts(take, *taken);
  return RMW_RET_OK;
}

// Not traced. The memory is the middleware's until it is returned.
rmw_ret_t __rmw_take_loaned_message_with_info(const char *identifier,
                                              const rmw_subscription_t *subscription,
                                              void **loaned_message, bool *taken,
                                              rmw_message_info_t *info, void *) {
  if (subscription->implementation_identifier != identifier) return RMW_RET_ERROR;
  const auto *const type = static_cast<const message_type_support_callbacks_t *>(
      static_cast<const CustomSubscriberInfo *>(subscription->data)->type_support_impl_);
  SerializedData sample{::operator new(type->plain_size), type, {}};
  ground_truth::Take take;
  *taken = take_sample(identifier, subscription, sample, *info, take);
  if (*taken) {
    *loaned_message = sample.message;
  } else {
    ::operator delete(sample.message);
  }
  ground_truth::raw_take_facts(take, *taken);
  return RMW_RET_OK;
}

rmw_ret_t __rmw_return_loaned_message_from_subscription(const char *identifier,
                                                        const rmw_subscription_t *subscription,
                                                        void *loaned_message) {
  if (subscription->implementation_identifier != identifier) return RMW_RET_ERROR;
  ::operator delete(loaned_message);
  return RMW_RET_OK;
}

rmw_ret_t __rmw_take_serialized_message_with_info(const char *identifier,
                                                  const rmw_subscription_t *subscription,
                                                  rmw_serialized_message_t *message, bool *taken,
                                                  rmw_message_info_t *info, void *allocation) {
  if (subscription->implementation_identifier != identifier) return RMW_RET_ERROR;
  return _take_serialized_message(identifier, subscription, message, taken, info, allocation);
}

rmw_ret_t __rmw_take_with_info(const char *identifier, const rmw_subscription_t *subscription,
                               void *message, bool *taken, rmw_message_info_t *info,
                               void *allocation) {
  if (subscription->implementation_identifier != identifier) return RMW_RET_ERROR;
  return _take(identifier, subscription, message, taken, info, allocation);
}

rmw_ret_t __rmw_subscription_count_matched_publishers(const rmw_subscription_t *subscription,
                                                      std::size_t *count) {
  *count = static_cast<std::size_t>(
      static_cast<const CustomSubscriberInfo *>(subscription->data)->listener_->matched);
  return RMW_RET_OK;
}

}  // namespace rmw_fastrtps_shared_cpp
