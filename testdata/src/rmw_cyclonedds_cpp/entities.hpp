// What is behind rmw_publisher_t::data and rmw_subscription_t::data. The layouts are those of the
// distribution up to the gid.
#pragma once

#include <dds/dds.h>
#include <dds/ddsi/ddsi_sertype.h>

#include <mutex>

#include "rmw/rmw.h"
#include "writer_gids.hpp"

struct CddsPublisher {
  dds_entity_t enth;
  dds_instance_handle_t pubiid;
  rmw_gid_t gid;
  ddsi_sertype *sertype;
  std::size_t plain_size;  // of messages that can be loaned; zero for others
};

struct CddsSubscription {
  dds_entity_t enth;
  rmw_gid_t gid;
  dds_entity_t read_condition;
  std::size_t plain_size;  // as in CddsPublisher
  std::mutex mutex;
  rmw_event_callback_t on_new_message;
  const void *user_data;
  rmw_cyclonedds_cpp::WriterGids writer_gids;
};
