// Type support of message types in the stand-in: a message type specializes MessageTraits.
#pragma once

#include <cstring>
#include <string_view>

#include "rosidl/header_stamp.hpp"
#include "rosidl/type_support.h"

namespace rosidl {

// Needs: kPackage, kNamespace, kName, write(const M &, std::vector<std::uint8_t> &) and
// read(const std::uint8_t *, std::size_t, M &). kIsPlain: messages can be loaned.
template <typename MessageT>
struct MessageTraits;

// A sequential reader that refuses to go past the end.
class Reader {
 public:
  Reader(const std::uint8_t *bytes, std::size_t size) : next_(bytes), left_(size) {}

  bool read(void *value, std::size_t size) {
    if (size > left_) return false;
    std::memcpy(value, next_, size);
    next_ += size;
    left_ -= size;
    return true;
  }

  // A length and that many bytes, into anything with resize() and data().
  template <typename Container>
  bool read_sequence(Container &sequence) {
    std::uint32_t size = 0;
    if (!read(&size, sizeof size) || size > left_) return false;
    sequence.resize(size);
    return read(sequence.data(), size);
  }

 private:
  const std::uint8_t *next_;
  std::size_t left_;
};

inline void write(std::vector<std::uint8_t> &bytes, const void *value, std::size_t size) {
  const auto *const begin = static_cast<const std::uint8_t *>(value);
  bytes.insert(bytes.end(), begin, begin + size);
}

template <typename Container>
void write_sequence(std::vector<std::uint8_t> &bytes, const Container &sequence) {
  const auto size = static_cast<std::uint32_t>(sequence.size());
  write(bytes, &size, sizeof size);
  write(bytes, sequence.data(), sequence.size());
}

namespace detail {

inline const rosidl_message_type_support_t *find_by_map(const rosidl_message_type_support_t *handle,
                                                        const char *identifier) {
  if (std::string_view(handle->typesupport_identifier) == identifier) return handle;
  const auto *const map = static_cast<const type_support_map_t *>(handle->data);
  for (std::size_t i = 0; i < map->size; ++i) {
    if (std::string_view(map->typesupport_identifier[i]) == identifier) {
      return static_cast<const rosidl_message_type_support_t *>(map->data[i]);
    }
  }
  return nullptr;
}

template <typename MessageT>
struct TypeSupport {
  using Traits = MessageTraits<MessageT>;

  static void serialize(const void *message, std::vector<std::uint8_t> &bytes) {
    Traits::write(*static_cast<const MessageT *>(message), bytes);
  }
  static bool deserialize(const std::uint8_t *bytes, std::size_t size, void *message) {
    return Traits::read(bytes, size, *static_cast<MessageT *>(message));
  }

  static std::int64_t header_stamp(const std::uint8_t *bytes, std::size_t size) {
    MessageT message;
    return Traits::read(bytes, size, message) ? rosidl::header_stamp(message) : 0;
  }

  static constexpr std::size_t plain_size() {
    if constexpr (requires { Traits::kIsPlain; }) return sizeof(MessageT);
    return 0;
  }

  static inline const message_type_support_callbacks_t callbacks{
      Traits::kNamespace, Traits::kName, serialize, deserialize, plain_size(), header_stamp};
  static inline rosidl_message_type_support_t fastrtps{kFastrtpsTypesupportIdentifier, &callbacks,
                                                       find_by_map};
  static inline const char *const identifiers[] = {kFastrtpsTypesupportIdentifier};
  static inline const char *const symbols[] = {Traits::kSymbol};
  static inline void *handles[] = {&fastrtps};
  static inline const type_support_map_t map{1, Traits::kPackage, identifiers, symbols, handles};
  static inline const rosidl_message_type_support_t handle{kTypesupportIdentifier, &map,
                                                           find_by_map};
};

}  // namespace detail
}  // namespace rosidl

template <typename MessageT>
const rosidl_message_type_support_t &message_type_support() {
  return rosidl::detail::TypeSupport<MessageT>::handle;
}

// Defines the names in MessageTraits.
#define ROSIDL_MESSAGE_NAMES(package, name)                                         \
  static constexpr const char *kPackage = #package;                                 \
  static constexpr const char *kNamespace = #package "::msg";                       \
  static constexpr const char *kName = #name;                                       \
  static constexpr const char *kSymbol =                                            \
      "rosidl_typesupport_fastrtps_cpp__get_message_type_support_handle__" #package \
      "__msg__" #name
