#include <dds/dds.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../rmw_common/names.hpp"
#include "entities.hpp"
#include "rmw/rmw.h"
#include "serdata.hpp"
#include "standin/failure.hpp"
#include "standin/gid_truth.hpp"
#include "standin/raw_truth.hpp"
#include "tracetools/tracetools.h"

using ground_truth::Layer;
using rmw_cyclonedds_cpp::WrittenSample;

namespace {

constexpr char kIdentifier[] = "rmw_cyclonedds_cpp";

constexpr char kLoopbackOnly[] =
    "<General><Interfaces><NetworkInterface name=\"lo\"/></Interfaces>"
    "<AllowMulticast>false</AllowMulticast></General>"
    "<Discovery><ParticipantIndex>auto</ParticipantIndex>"
    "<MaxAutoParticipantIndex>31</MaxAutoParticipantIndex>"
    "<Peers><Peer address=\"127.0.0.1\"/></Peers></Discovery>";

struct Context {
  dds_entity_t domain;
  dds_entity_t participant;
};

struct Qos {
  explicit Qos(const rmw_qos_profile_t &profile) {
    dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, static_cast<std::int32_t>(profile.depth));
    dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_INFINITY);
    dds_qset_durability(qos, DDS_DURABILITY_VOLATILE);
  }
  ~Qos() { dds_delete_qos(qos); }
  dds_qos_t *qos = dds_create_qos();
};

const Context &context_of(const rmw_node_t *node) {
  return *static_cast<const Context *>(node->context->impl);
}

struct Topic {
  dds_entity_t entity;
  ddsi_sertype *sertype;
};

Topic create_topic(const rmw_node_t *node, const message_type_support_callbacks_t &type,
                   const char *topic) {
  ddsi_sertype *sertype = rmw_cyclonedds_cpp::make_sertype(type);
  const dds_entity_t entity =
      dds_create_topic_sertype(context_of(node).participant, rmw_common::dds_topic(topic).c_str(),
                               &sertype, nullptr, nullptr, nullptr);
  return {entity, sertype};
}

rmw_gid_t gid_of(dds_entity_t entity) {
  rmw_gid_t gid{};
  gid.implementation_identifier = kIdentifier;
  dds_guid_t guid;
  dds_get_guid(entity, &guid);
  std::memcpy(gid.data, guid.v, sizeof guid.v);
  return gid;
}

void on_data_available(dds_entity_t, void *argument) {
  auto *const subscription = static_cast<CddsSubscription *>(argument);
  const std::lock_guard lock(subscription->mutex);
  if (subscription->on_new_message != nullptr) {
    subscription->on_new_message(subscription->user_data, 1);
  }
}

std::int64_t received_now() {
#ifdef STANDIN_HUMBLE
  return 0;
#else
  const auto time = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
#endif
}

// As the real one, it gives an instance handle for the publisher's gid.
void describe(const dds_sample_info_t &sample_info, rmw_message_info_t &info) {
  info.source_timestamp = sample_info.source_timestamp;
  info.received_timestamp = received_now();
  info.publisher_gid = {kIdentifier, {}};
  std::memcpy(info.publisher_gid.data, &sample_info.publication_handle,
              sizeof sample_info.publication_handle);
  info.from_intra_process = false;
}

CddsPublisher *data_of(const rmw_publisher_t *publisher) {
  return static_cast<CddsPublisher *>(publisher->data);
}
CddsSubscription *data_of(const rmw_subscription_t *subscription) {
  return static_cast<CddsSubscription *>(subscription->data);
}

}  // namespace

const char *rmw_get_implementation_identifier() { return kIdentifier; }

rmw_ret_t rmw_init(const rmw_init_options_t *options, rmw_context_t *context) {
  context->implementation_identifier = kIdentifier;
  const auto domain_id = static_cast<dds_domainid_t>(options->domain_id);
  dds_entity_t domain = 0;
  if (std::getenv("CYCLONEDDS_URI") == nullptr) {
    domain = dds_create_domain(domain_id, kLoopbackOnly);
    if (domain < 0) return RMW_RET_ERROR;
  }
  const dds_entity_t participant = dds_create_participant(domain_id, nullptr, nullptr);
  if (participant < 0) return RMW_RET_ERROR;
  context->impl = new Context{domain, participant};
  return RMW_RET_OK;
}

rmw_ret_t rmw_shutdown(rmw_context_t *context) {
  auto *const data = static_cast<Context *>(context->impl);
  dds_delete(data->participant);
  if (data->domain > 0) dds_delete(data->domain);
  delete data;
  return RMW_RET_OK;
}

rmw_node_t *rmw_create_node(rmw_context_t *context, const char *name, const char *name_space) {
  return new rmw_node_t{kIdentifier, nullptr, strdup(name), strdup(name_space), context};
}

rmw_ret_t rmw_destroy_node(rmw_node_t *node) {
  std::free(const_cast<char *>(node->name));
  std::free(const_cast<char *>(node->namespace_));
  delete node;
  return RMW_RET_OK;
}

rmw_publisher_t *rmw_create_publisher(const rmw_node_t *node,
                                      const rosidl_message_type_support_t *type_support,
                                      const char *topic, const rmw_qos_profile_t *qos,
                                      const rmw_publisher_options_t *) {
  const message_type_support_callbacks_t *const type = rmw_common::find_callbacks(type_support);
  if (type == nullptr) return nullptr;
  const Topic dds_topic = create_topic(node, *type, topic);
  const dds_entity_t writer =
      dds_create_writer(context_of(node).participant, dds_topic.entity, Qos(*qos).qos, nullptr);
  dds_delete(dds_topic.entity);  // as the real one: the writer keeps what it needs
  if (writer < 0) return nullptr;
  auto *const data =
      new CddsPublisher{writer, 0, gid_of(writer), dds_topic.sertype, type->plain_size};
  dds_get_instance_handle(writer, &data->pubiid);
  auto *const publisher = new rmw_publisher_t{};
  publisher->implementation_identifier = kIdentifier;
  publisher->data = data;
  publisher->topic_name = strdup(topic);
  publisher->can_loan_messages = type->plain_size != 0;
  const ground_truth::Bracket times =
      ground_truth::bracket([&] { ros_trace_rmw_publisher_init(publisher, data->gid.data); });
  ground_truth::rmw_entity_created("rmw_publisher_init", publisher,
                                   ground_truth::gid_of(data->gid.data), times);
  return publisher;
}

rmw_ret_t rmw_destroy_publisher(rmw_node_t *, rmw_publisher_t *publisher) {
  dds_delete(data_of(publisher)->enth);
  delete data_of(publisher);
  std::free(const_cast<char *>(publisher->topic_name));
  delete publisher;
  return RMW_RET_OK;
}

rmw_ret_t rmw_publish(const rmw_publisher_t *publisher, const void *message, void *) {
  if (publisher->implementation_identifier != kIdentifier) return RMW_RET_ERROR;
  if (failure::due(failure::Point::rmw)) return RMW_RET_ERROR;
  const dds_entity_t writer = data_of(publisher)->enth;
  dds_return_t result = DDS_RETCODE_OK;
#ifdef STANDIN_HUMBLE
  const ground_truth::Bracket rmw_times =
      ground_truth::bracket([&] { ros_trace_rmw_publish(message); });
  const WrittenSample written;
  const ground_truth::Bracket times =
      ground_truth::bracket([&] { result = dds_write(writer, message); });
  ground_truth::publish_stamp(written.source_timestamp());
#else
  const dds_time_t stamp = dds_time();
  const ground_truth::Bracket rmw_times =
      ground_truth::bracket([&] { ros_trace_rmw_publish(publisher, message, stamp); });
  ground_truth::publish_stamp(stamp);
  const ground_truth::Bracket times =
      ground_truth::bracket([&] { result = dds_write_ts(writer, message, stamp); });
#endif
  ground_truth::publish_layer(Layer::rmw, rmw_times, message);
  if (result != DDS_RETCODE_OK) return RMW_RET_ERROR;
  ground_truth::publish_layer(Layer::stamp, times, message);
  return RMW_RET_OK;
}

namespace {

// As Humble: dds_writecdr takes the stamp. As Jazzy: the rmw takes it and dds_forwardcdr keeps it.
rmw_ret_t write_serdata([[maybe_unused]] const rmw_publisher_t *publisher, const void *message,
                        ddsi_serdata *serdata) {
  if (serdata == nullptr) return RMW_RET_ERROR;
  const dds_entity_t writer = data_of(publisher)->enth;
  dds_return_t result = DDS_RETCODE_OK;
#ifdef STANDIN_HUMBLE
  ddsi_serdata_ref(serdata);
  const ground_truth::Bracket times =
      ground_truth::bracket([&] { result = dds_writecdr(writer, serdata); });
  ground_truth::publish_stamp(serdata->timestamp.v);
  ddsi_serdata_unref(serdata);
#else
  const dds_time_t stamp = dds_time();
  const ground_truth::Bracket rmw_times =
      ground_truth::bracket([&] { ros_trace_rmw_publish(publisher, message, stamp); });
  ground_truth::publish_layer(Layer::rmw, rmw_times, message);
  ground_truth::publish_stamp(stamp);
  serdata->timestamp.v = stamp;
  serdata->statusinfo = 0;
  const ground_truth::Bracket times =
      ground_truth::bracket([&] { result = dds_forwardcdr(writer, serdata); });
#endif
  if (result != DDS_RETCODE_OK) return RMW_RET_ERROR;
  ground_truth::publish_layer(Layer::stamp, times, message);
  return RMW_RET_OK;
}

}  // namespace

rmw_ret_t rmw_publish_serialized_message(const rmw_publisher_t *publisher,
                                         const rmw_serialized_message_t *message, void *) {
  if (publisher->implementation_identifier != kIdentifier) return RMW_RET_ERROR;
  if (failure::due(failure::Point::rmw)) return RMW_RET_ERROR;
  return write_serdata(publisher, message,
                       rmw_cyclonedds_cpp::serdata_from_bytes(
                           data_of(publisher)->sertype, message->buffer, message->buffer_length));
}

// The memory goes back to the middleware.
rmw_ret_t rmw_publish_loaned_message(const rmw_publisher_t *publisher, void *message, void *) {
  if (publisher->implementation_identifier != kIdentifier) return RMW_RET_ERROR;
  if (failure::due(failure::Point::rmw)) return RMW_RET_ERROR;
  const rmw_ret_t result =
      write_serdata(publisher, message,
                    rmw_cyclonedds_cpp::serdata_from_message(data_of(publisher)->sertype, message));
  ::operator delete(message);
  return result;
}

rmw_ret_t rmw_borrow_loaned_message(const rmw_publisher_t *publisher,
                                    const rosidl_message_type_support_t *, void **message) {
  if (!publisher->can_loan_messages) return RMW_RET_ERROR;
  *message = ::operator new(data_of(publisher)->plain_size);
  return RMW_RET_OK;
}

rmw_ret_t rmw_get_gid_for_publisher(const rmw_publisher_t *publisher, rmw_gid_t *gid) {
  *gid = {kIdentifier, {}};
  std::memcpy(gid->data, &data_of(publisher)->pubiid, sizeof data_of(publisher)->pubiid);
  return RMW_RET_OK;
}

rmw_ret_t rmw_publisher_count_matched_subscriptions(const rmw_publisher_t *publisher,
                                                    std::size_t *count) {
  dds_publication_matched_status_t status;
  if (dds_get_publication_matched_status(data_of(publisher)->enth, &status) < 0) {
    return RMW_RET_ERROR;
  }
  *count = status.current_count;
  return RMW_RET_OK;
}

rmw_subscription_t *rmw_create_subscription(const rmw_node_t *node,
                                            const rosidl_message_type_support_t *type_support,
                                            const char *topic, const rmw_qos_profile_t *qos,
                                            const rmw_subscription_options_t *) {
  const message_type_support_callbacks_t *const type = rmw_common::find_callbacks(type_support);
  if (type == nullptr) return nullptr;
  const dds_entity_t dds_topic = create_topic(node, *type, topic).entity;
  auto *const data = new CddsSubscription{};
  data->plain_size = type->plain_size;
  dds_listener_t *const listener = dds_create_listener(data);
  dds_lset_data_available(listener, on_data_available);
  data->enth = dds_create_reader(context_of(node).participant, dds_topic, Qos(*qos).qos, listener);
  dds_delete_listener(listener);
  dds_delete(dds_topic);
  if (data->enth < 0) return nullptr;
  data->gid = gid_of(data->enth);
  data->read_condition = dds_create_readcondition(data->enth, DDS_ANY_STATE);
  auto *const subscription = new rmw_subscription_t{};
  subscription->implementation_identifier = kIdentifier;
  subscription->data = data;
  subscription->topic_name = strdup(topic);
  subscription->can_loan_messages = type->plain_size != 0;
  const ground_truth::Bracket times =
      ground_truth::bracket([&] { ros_trace_rmw_subscription_init(subscription, data->gid.data); });
  ground_truth::rmw_entity_created("rmw_subscription_init", subscription,
                                   ground_truth::gid_of(data->gid.data), times);
  return subscription;
}

rmw_ret_t rmw_destroy_subscription(rmw_node_t *, rmw_subscription_t *subscription) {
  dds_delete(data_of(subscription)->enth);
  delete data_of(subscription);
  std::free(const_cast<char *>(subscription->topic_name));
  delete subscription;
  return RMW_RET_OK;
}

// What the ground truth wants to know about a take.
static void note(const rmw_subscription_t *subscription, const dds_sample_info_t &sample_info,
                 const rmw_message_info_t &info, ground_truth::Take &take) {
  take.source_timestamp = sample_info.source_timestamp;
  take.info_gid = ground_truth::gid_of(info.publisher_gid.data);
  if (!ground_truth::enabled()) return;
  CddsSubscription *const data = data_of(subscription);
  take.publisher_gid = data->writer_gids.find(data->enth, sample_info.publication_handle);
}

// Fills in the message, the info and what the ground truth wants to know; false if there is
// nothing.
static bool take_sample(const rmw_subscription_t *subscription, void *message,
                        rmw_message_info_t &info, ground_truth::Take &take) {
  dds_sample_info_t sample_info{};
  bool taken = false;
  while (!taken && dds_take(data_of(subscription)->enth, &message, &sample_info, 1, 1) == 1) {
    taken = sample_info.valid_data;
  }
  take.rmw_subscription = subscription;
  take.message = message;
  if (!taken) return false;
  describe(sample_info, info);
  note(subscription, sample_info, info, take);
  return true;
}

rmw_ret_t rmw_take_with_info(const rmw_subscription_t *subscription, void *message, bool *taken,
                             rmw_message_info_t *info, void *) {
  if (subscription->implementation_identifier != kIdentifier) return RMW_RET_ERROR;
  ground_truth::Take take;
  *taken = take_sample(subscription, message, *info, take);
  take.bracket = ground_truth::bracket(
      [&] { ros_trace_rmw_take(subscription, message, take.source_timestamp, *taken); });
  if (*taken) ground_truth::took(take);
  return RMW_RET_OK;
}

rmw_ret_t rmw_take_serialized_message_with_info(const rmw_subscription_t *subscription,
                                                rmw_serialized_message_t *message, bool *taken,
                                                rmw_message_info_t *info, void *) {
  if (subscription->implementation_identifier != kIdentifier) return RMW_RET_ERROR;
  ground_truth::Take take;
  take.rmw_subscription = subscription;
  take.message = message;
  ddsi_serdata *serdata = nullptr;
  dds_sample_info_t sample_info{};
  *taken = false;
  while (!*taken &&
         dds_takecdr(data_of(subscription)->enth, &serdata, 1, &sample_info, DDS_ANY_STATE) == 1) {
    if (sample_info.valid_data) {
      describe(sample_info, *info);
      note(subscription, sample_info, *info, take);
      const std::size_t size = ddsi_serdata_size(serdata);
      message->buffer = static_cast<std::uint8_t *>(std::realloc(message->buffer, size));
      message->buffer_length = message->buffer_capacity = size;
      ddsi_serdata_to_ser(serdata, 0, size, message->buffer);
      *taken = true;
    }
    ddsi_serdata_unref(serdata);
  }
#ifdef STANDIN_JAZZY
  take.bracket = ground_truth::bracket(
      [&] { ros_trace_rmw_take(subscription, message, take.source_timestamp, *taken); });
  if (*taken) ground_truth::took(take);
#endif
  ground_truth::raw_take_facts(take, *taken);
  return RMW_RET_OK;
}

// Traced, other than with Fast DDS. The memory is the middleware's until it is returned.
rmw_ret_t rmw_take_loaned_message_with_info(const rmw_subscription_t *subscription,
                                            void **loaned_message, bool *taken,
                                            rmw_message_info_t *info, void *) {
  if (subscription->implementation_identifier != kIdentifier) return RMW_RET_ERROR;
  void *const message = ::operator new(data_of(subscription)->plain_size);
  ground_truth::Take take;
  *taken = take_sample(subscription, message, *info, take);
  if (*taken) {
    *loaned_message = message;
  } else {
    ::operator delete(message);
  }
  take.bracket = ground_truth::bracket(
      [&] { ros_trace_rmw_take(subscription, message, take.source_timestamp, *taken); });
  if (*taken) ground_truth::took(take);
  ground_truth::raw_take_facts(take, *taken);
  return RMW_RET_OK;
}

rmw_ret_t rmw_return_loaned_message_from_subscription(const rmw_subscription_t *subscription,
                                                      void *loaned_message) {
  if (subscription->implementation_identifier != kIdentifier) return RMW_RET_ERROR;
  ::operator delete(loaned_message);
  return RMW_RET_OK;
}

rmw_ret_t rmw_subscription_count_matched_publishers(const rmw_subscription_t *subscription,
                                                    std::size_t *count) {
  dds_subscription_matched_status_t status;
  if (dds_get_subscription_matched_status(data_of(subscription)->enth, &status) < 0) {
    return RMW_RET_ERROR;
  }
  *count = status.current_count;
  return RMW_RET_OK;
}

rmw_ret_t rmw_subscription_set_on_new_message_callback(rmw_subscription_t *subscription,
                                                       rmw_event_callback_t callback,
                                                       const void *user_data) {
  CddsSubscription *const data = data_of(subscription);
  const std::lock_guard lock(data->mutex);
  data->on_new_message = callback;
  data->user_data = user_data;
  return RMW_RET_OK;
}

bool standin_has_message(const rmw_subscription_t *subscription) {
  return dds_triggered(data_of(subscription)->read_condition) > 0;
}
