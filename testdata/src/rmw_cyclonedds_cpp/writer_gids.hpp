// The truth about who wrote a sample: Cyclone DDS names the writer by an instance handle, which
// says nothing to other processes.
#pragma once

#include <dds/dds.h>

#include <map>
#include <mutex>

#include "standin/ground_truth.hpp"

namespace rmw_cyclonedds_cpp {

class WriterGids {
 public:
  // Zero bytes if the writer was never known to the reader.
  ground_truth::Gid find(dds_entity_t reader, dds_instance_handle_t writer);

 private:
  std::mutex mutex_;
  std::map<dds_instance_handle_t, ground_truth::Gid> known_;
};

}  // namespace rmw_cyclonedds_cpp
