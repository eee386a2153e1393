// What rmw_fastrtps_cpp forwards to.
#pragma once

#include <atomic>
#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/DataWriterListener.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/TypeSupport.hpp>
#include <mutex>
#include <vector>

#include "fast_dds.hpp"
#include "rmw/rmw.h"

namespace rmw_fastrtps_shared_cpp {

// What DataWriter::write and DataReader::take_next_sample get, instead of the message. Without a
// type, the bytes are the message, encapsulation included.
struct SerializedData {
  void *message;
  const message_type_support_callbacks_t *type;
  std::vector<std::uint8_t> bytes;
};

struct ParticipantInfo {
  dds::DomainParticipant *participant;
  dds::Publisher *publisher;
  dds::Subscriber *subscriber;
};

// The layouts of the next two are those of the distribution up to the gid.
struct CustomEventInfo {
  virtual ~CustomEventInfo() = default;
};

class PublisherListener : public dds::DataWriterListener {
 public:
  void on_publication_matched(dds::DataWriter *,
                              const dds::PublicationMatchedStatus &status) override {
    matched = status.current_count;
  }
  std::atomic<int> matched{0};
};

struct CustomPublisherInfo : CustomEventInfo {
  dds::DataWriter *data_writer_ = nullptr;
  PublisherListener *listener_ = nullptr;
#ifdef STANDIN_JAZZY
  void *event_ = nullptr;
#endif
  dds::TypeSupport type_support_;
  const void *type_support_impl_ = nullptr;
  rmw_gid_t publisher_gid{};
  class StampReader *stamp_reader = nullptr;
};

class SubscriptionListener : public dds::DataReaderListener {
 public:
  void on_data_available(dds::DataReader *) override;
  void on_subscription_matched(dds::DataReader *,
                               const dds::SubscriptionMatchedStatus &status) override {
    matched = status.current_count;
  }
  void set_on_new_message(rmw_event_callback_t callback, const void *user_data);
  std::atomic<int> matched{0};

 private:
  std::mutex mutex_;
  rmw_event_callback_t callback_ = nullptr;
  const void *user_data_ = nullptr;
};

struct CustomSubscriberInfo : CustomEventInfo {
  dds::DataReader *data_reader_ = nullptr;
  SubscriptionListener *listener_ = nullptr;
#ifdef STANDIN_JAZZY
  void *event_ = nullptr;
#endif
  dds::TypeSupport type_support_;
  const void *type_support_impl_ = nullptr;
  rmw_gid_t subscription_gid_{};
};

// The topic, created and its type registered if need be.
dds::Topic *find_or_create_topic(const ParticipantInfo &info,
                                 const message_type_support_callbacks_t &type, const char *topic);
// History depth, reliability and resource limits, for writers and readers alike.
template <typename Qos>
void apply_qos(const rmw_qos_profile_t &profile, Qos &qos) {
  qos.history().kind = dds::KEEP_LAST_HISTORY_QOS;
  qos.history().depth = static_cast<std::int32_t>(profile.depth);
  qos.resource_limits().max_samples = 0;
  qos.resource_limits().max_instances = 1;
  qos.resource_limits().max_samples_per_instance = 0;
  qos.reliability().kind = dds::RELIABLE_RELIABILITY_QOS;
  qos.durability().kind = dds::VOLATILE_DURABILITY_QOS;
  qos.endpoint().history_memory_policy = rtps::PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
  qos.data_sharing().off();
}
rmw_gid_t make_gid(const char *identifier, const rtps::GUID_t &guid);
inline const ParticipantInfo &participant_of(const rmw_node_t *node) {
  return *static_cast<const ParticipantInfo *>(node->context->impl);
}

rmw_ret_t __rmw_init(const char *identifier, const rmw_init_options_t *options,
                     rmw_context_t *context);
rmw_ret_t __rmw_shutdown(const char *identifier, rmw_context_t *context);
rmw_node_t *__rmw_create_node(const char *identifier, rmw_context_t *context, const char *name,
                              const char *name_space);
rmw_ret_t __rmw_destroy_node(const char *identifier, rmw_node_t *node);

rmw_publisher_t *create_publisher(const char *identifier, const rmw_node_t *node,
                                  const rosidl_message_type_support_t *type_support,
                                  const char *topic, const rmw_qos_profile_t *qos);
rmw_ret_t __rmw_destroy_publisher(const char *identifier, const rmw_node_t *node,
                                  rmw_publisher_t *publisher);
rmw_ret_t __rmw_publish(const char *identifier, const rmw_publisher_t *publisher,
                        const void *message, void *allocation);
rmw_ret_t __rmw_publish_serialized_message(const char *identifier, const rmw_publisher_t *publisher,
                                           const rmw_serialized_message_t *message,
                                           void *allocation);
rmw_ret_t __rmw_publish_loaned_message(const char *identifier, const rmw_publisher_t *publisher,
                                       void *message, void *allocation);
rmw_ret_t __rmw_borrow_loaned_message(const char *identifier, const rmw_publisher_t *publisher,
                                      const rosidl_message_type_support_t *type_support,
                                      void **message);
rmw_ret_t __rmw_get_gid_for_publisher(const char *identifier, const rmw_publisher_t *publisher,
                                      rmw_gid_t *gid);
rmw_ret_t __rmw_publisher_count_matched_subscriptions(const rmw_publisher_t *publisher,
                                                      std::size_t *count);

rmw_subscription_t *create_subscription(const char *identifier, const rmw_node_t *node,
                                        const rosidl_message_type_support_t *type_support,
                                        const char *topic, const rmw_qos_profile_t *qos);
rmw_ret_t __rmw_destroy_subscription(const char *identifier, const rmw_node_t *node,
                                     rmw_subscription_t *subscription);
rmw_ret_t _take(const char *identifier, const rmw_subscription_t *subscription, void *message,
                bool *taken, rmw_message_info_t *info, void *allocation);
rmw_ret_t __rmw_take_with_info(const char *identifier, const rmw_subscription_t *subscription,
                               void *message, bool *taken, rmw_message_info_t *info,
                               void *allocation);
rmw_ret_t _take_serialized_message(const char *identifier, const rmw_subscription_t *subscription,
                                   rmw_serialized_message_t *message, bool *taken,
                                   rmw_message_info_t *info, void *allocation);
rmw_ret_t __rmw_take_serialized_message_with_info(const char *identifier,
                                                  const rmw_subscription_t *subscription,
                                                  rmw_serialized_message_t *message, bool *taken,
                                                  rmw_message_info_t *info, void *allocation);
rmw_ret_t __rmw_take_loaned_message_with_info(const char *identifier,
                                              const rmw_subscription_t *subscription,
                                              void **loaned_message, bool *taken,
                                              rmw_message_info_t *info, void *allocation);
rmw_ret_t __rmw_return_loaned_message_from_subscription(const char *identifier,
                                                        const rmw_subscription_t *subscription,
                                                        void *loaned_message);
rmw_ret_t __rmw_subscription_count_matched_publishers(const rmw_subscription_t *subscription,
                                                      std::size_t *count);

}  // namespace rmw_fastrtps_shared_cpp
