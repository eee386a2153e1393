// Message type support: identifier, data and a function that finds another typesupport's handle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

struct rosidl_message_type_support_t {
  const char *typesupport_identifier;
  const void *data;
  const rosidl_message_type_support_t *(*func)(const rosidl_message_type_support_t *handle,
                                               const char *identifier);
#ifdef STANDIN_JAZZY
  const void *get_type_hash_func = nullptr;
  const void *get_type_description_func = nullptr;
  const void *get_type_description_sources_func = nullptr;
#endif
};

// The data of rosidl_typesupport_cpp: the names of what is behind it.
struct type_support_map_t {
  std::size_t size;
  const char *package_name;
  const char *const *typesupport_identifier;
  const char *const *symbol_name;
  void **data;
};

// The data of rosidl_typesupport_fastrtps_cpp. The real one serializes into a fastcdr::Cdr.
struct message_type_support_callbacks_t {
  const char *message_namespace_;
  const char *message_name_;
  void (*cdr_serialize)(const void *message, std::vector<std::uint8_t> &bytes);
  bool (*cdr_deserialize)(const std::uint8_t *bytes, std::size_t size, void *message);
  std::size_t plain_size;  // of messages that can be loaned; zero for others
  // For the ground truth: rosidl::header_stamp of a message in this form.
  std::int64_t (*header_stamp)(const std::uint8_t *bytes, std::size_t size);
};

inline constexpr const char *kTypesupportIdentifier = "rosidl_typesupport_cpp";
inline constexpr const char *kFastrtpsTypesupportIdentifier = "rosidl_typesupport_fastrtps_cpp";
