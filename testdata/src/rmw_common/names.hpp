// How ROS names appear in DDS.
#pragma once

#include <string>

#include "rosidl/type_support.h"

namespace rmw_common {

// "/chatter" -> "rt/chatter"
inline std::string dds_topic(const char *topic) { return std::string("rt") + topic; }

// "std_msgs::msg", "String" -> "std_msgs::msg::dds_::String_"
inline std::string dds_type(const message_type_support_callbacks_t &type) {
  return std::string(type.message_namespace_) + "::dds_::" + type.message_name_ + "_";
}

// The callbacks behind a type support handle, or null.
inline const message_type_support_callbacks_t *find_callbacks(
    const rosidl_message_type_support_t *type_support) {
  const rosidl_message_type_support_t *const found =
      type_support->func(type_support, kFastrtpsTypesupportIdentifier);
  return found == nullptr ? nullptr
                          : static_cast<const message_type_support_callbacks_t *>(found->data);
}

}  // namespace rmw_common
