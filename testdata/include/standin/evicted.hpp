// Strings whose page is not in the process's page table, as when memory was short. Nothing in here
// exists in ROS 2.
#pragma once

#include <cstddef>

namespace evicted {

// Has the strings that initialization events show evicted from now on.
void enable() noexcept;

// A copy of a string that nobody has touched yet, or the string itself unless they are enabled.
class String {
 public:
  explicit String(const char *text);
  ~String();
  String(const String &) = delete;
  String &operator=(const String &) = delete;

  const char *get() const noexcept { return text_; }

 private:
  const char *text_;
  std::size_t mapped_ = 0;
};

}  // namespace evicted
