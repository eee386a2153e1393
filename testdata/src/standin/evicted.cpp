#include "standin/evicted.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace evicted {
namespace {
std::atomic<bool> enabled = false;
}

void enable() noexcept { enabled = true; }

String::String(const char *text) : text_(text) {
  if (!enabled) return;
  const std::size_t size = std::strlen(text) + 1;
  const int file = memfd_create("evicted", MFD_CLOEXEC);
  const bool written = file >= 0 && write(file, text, size) == static_cast<ssize_t>(size);
  // The file has the page; the mapping gets it when it is touched for the first time.
  void *const mapping = written ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
  const int error = errno;
  if (file >= 0) close(file);
  if (mapping == MAP_FAILED) throw std::system_error(error, std::generic_category(), "evict");
  text_ = static_cast<const char *>(mapping);
  mapped_ = size;
}

String::~String() {
  if (mapped_ != 0) munmap(const_cast<char *>(text_), mapped_);
}

}  // namespace evicted
