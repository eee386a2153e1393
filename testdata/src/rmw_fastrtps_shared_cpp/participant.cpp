#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/topic/Topic.hpp>

#include "../rmw_common/names.hpp"
#include "rmw_fastrtps_shared_cpp.hpp"
#include "type_support.hpp"

namespace rmw_fastrtps_shared_cpp {
namespace {

constexpr char kLoopback[] = "127.0.0.1";
// How many participants of a domain find each other without multicast.
constexpr std::uint32_t kParticipantsPerDomain = 32;

dds::DomainParticipantQos loopback_only() {
  const auto transport = std::make_shared<eprosima::fastdds::rtps::UDPv4TransportDescriptor>();
  transport->interfaceWhiteList.emplace_back(kLoopback);
  transport->maxInitialPeersRange = kParticipantsPerDomain;
  dds::DomainParticipantQos qos;
  qos.name("/");
  qos.transport().use_builtin_transports = false;
  qos.transport().user_transports.push_back(transport);
  rtps::Locator_t peer;
  peer.kind = LOCATOR_KIND_UDPv4;
  rtps::IPLocator::setIPv4(peer, kLoopback);
  qos.wire_protocol().builtin.initialPeersList.push_back(peer);
  // Tests are short: announce often.
  auto &discovery = qos.wire_protocol().builtin.discovery_config;
  discovery.initial_announcements = {20, {0, 100'000'000}};
  discovery.leaseDuration_announcementperiod = {0, 500'000'000};
  return qos;
}

}  // namespace

rmw_ret_t __rmw_init(const char *identifier, const rmw_init_options_t *options,
                     rmw_context_t *context) {
  context->implementation_identifier = identifier;
  dds::DomainParticipant *const participant =
      dds::DomainParticipantFactory::get_instance()->create_participant(
          static_cast<std::uint32_t>(options->domain_id), loopback_only());
  if (participant == nullptr) return RMW_RET_ERROR;
  dds::PublisherQos publisher_qos;
  context->impl = new ParticipantInfo{participant, participant->create_publisher(publisher_qos),
                                      participant->create_subscriber(dds::SUBSCRIBER_QOS_DEFAULT)};
  return RMW_RET_OK;
}

rmw_ret_t __rmw_shutdown(const char *, rmw_context_t *context) {
  auto *const info = static_cast<ParticipantInfo *>(context->impl);
  info->participant->delete_contained_entities();
  dds::DomainParticipantFactory::get_instance()->delete_participant(info->participant);
  delete info;
  return RMW_RET_OK;
}

rmw_node_t *__rmw_create_node(const char *identifier, rmw_context_t *context, const char *name,
                              const char *name_space) {
  return new rmw_node_t{identifier, nullptr, strdup(name), strdup(name_space), context};
}

rmw_ret_t __rmw_destroy_node(const char *, rmw_node_t *node) {
  std::free(const_cast<char *>(node->name));
  std::free(const_cast<char *>(node->namespace_));
  delete node;
  return RMW_RET_OK;
}

dds::Topic *find_or_create_topic(const ParticipantInfo &info,
                                 const message_type_support_callbacks_t &type, const char *topic) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  dds::TypeSupport type_support(new MessageType(type));
  type_support.register_type(info.participant);
  const std::string name = rmw_common::dds_topic(topic);
  if (auto *const found = info.participant->lookup_topicdescription(name)) {
    return dynamic_cast<dds::Topic *>(found);
  }
  return info.participant->create_topic(name, type_support.get_type_name(), dds::TOPIC_QOS_DEFAULT);
}

rmw_gid_t make_gid(const char *identifier, const rtps::GUID_t &guid) {
  rmw_gid_t gid{};
  gid.implementation_identifier = identifier;
  std::memcpy(gid.data, guid.guidPrefix.value, sizeof guid.guidPrefix.value);
  std::memcpy(gid.data + sizeof guid.guidPrefix.value, guid.entityId.value,
              sizeof guid.entityId.value);
  return gid;
}

}  // namespace rmw_fastrtps_shared_cpp
