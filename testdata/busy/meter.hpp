#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <ctime>
#include <system_error>

// Counts callbacks of one thread and shows the count, with the processor time that the thread has
// taken so far, in a file of three words that others map: what a scheduler's statistics tell of a
// thread is as old as its last tick.
class Meter {
 public:
  explicit Meter(const char *path) {
    const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0 || ftruncate(file, sizeof(Words)) != 0) fail(path);
    void *const mapped = mmap(nullptr, sizeof(Words), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) fail(path);
    close(file);
    words_ = static_cast<Words *>(mapped);
  }

  // How many there have been.
  std::uint64_t count() {
    if (++count_ % kInterval == 0) show();
    return count_;
  }

  void show() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    // Readers that find two counts which differ read again.
    words_->begun = count_;
    words_->processor_time = static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
                             static_cast<std::uint64_t>(time.tv_nsec);
    words_->ended = count_;
  }

 private:
  // So rarely that reading the clock costs a callback a nanosecond.
  static constexpr std::uint64_t kInterval = 256;

  struct Words {
    std::atomic<std::uint64_t> begun, processor_time, ended;
  };

  [[noreturn]] static void fail(const char *path) {
    throw std::system_error(errno, std::generic_category(), path);
  }

  Words *words_ = nullptr;
  std::uint64_t count_ = 0;
};
