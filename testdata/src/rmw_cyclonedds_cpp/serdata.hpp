// ROS messages as Cyclone DDS samples: a sertype of our own, because the sample given to dds_write
// is the ROS message itself.
#pragma once

#include <dds/ddsi/ddsi_serdata.h>
#include <dds/ddsi/ddsi_sertype.h>

#include "rosidl/type_support.h"

namespace rmw_cyclonedds_cpp {

ddsi_sertype *make_sertype(const message_type_support_callbacks_t &type);
// From a serialized message, encapsulation included.
ddsi_serdata *serdata_from_bytes(const ddsi_sertype *sertype, const void *bytes, std::size_t size);
// Null on failure.
ddsi_serdata *serdata_from_message(const ddsi_sertype *sertype, const void *message);

// While one exists, it keeps the sample that this thread writes, to read the source timestamp that
// dds_write gave it.
class WrittenSample {
 public:
  WrittenSample();
  ~WrittenSample();
  WrittenSample(const WrittenSample &) = delete;
  WrittenSample &operator=(const WrittenSample &) = delete;

  std::int64_t source_timestamp() const;

 private:
  friend void remember(ddsi_serdata *sample);
  ddsi_serdata *sample_ = nullptr;
};

}  // namespace rmw_cyclonedds_cpp
